# SPDX-License-Identifier: BSD-2-Clause
"""What worldwise needs of a host's network: proxies, certificate authorities, and mirrors that answer."""

import itertools
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from worldwise.lab.debian.lock import load_lock
from worldwise.lab.debian.mirrors import APT_HELPER, MIRROR_VARIABLE, Fetch, download, mirrors, no_mirror
from worldwise.lab.host.doctor_checks import Point, guarded
from worldwise.lab.sandbox.network import PROXIES

# Variables that name a file of certificate authorities to OpenSSL and Python, curl, requests, pip, git and cargo.
BUNDLES = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO")
DEFAULT_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
# More mirrors than this are not tried.
_MOST_MIRRORS = 3
# Seconds for one mirror's whole answer, and for the answer to begin.
PATIENCE, _ANSWER = 20, 8
# Bytes of a Release file; Debian's have 200 KB.
_MOST_RELEASE = 2**24


def network_points(network: bool) -> Iterator[Point]:
    """The points of the network; mirrors are tried only with `network`."""
    yield from guarded("proxies", _proxies)
    yield from guarded("certificates", _certificates)
    if network:
        yield from guarded("mirrors", _mirrors)
    else:
        chosen = os.environ.get(MIRROR_VARIABLE, "").split()
        named = f"{MIRROR_VARIABLE} names {', '.join(map(without_password, chosen))}; " if chosen else ""
        yield Point("mirrors", "note", f"{named}not tried: --network does that")


def without_password(address: str) -> str:
    """An address with its user and password hidden; text that is no address is not repeated."""
    if address.startswith(("file:", "copy:")):
        return address
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return "(no address)"
    if not host:
        return "(no address)"
    host = f"[{host}]" if ":" in host else host
    hidden = "***@" if "@" in parts.netloc else ""
    shown = urlunsplit((parts.scheme, f"{hidden}{host}{port}", parts.path, "", ""))
    return shown if "://" in address else shown.removeprefix("//")


def _proxies() -> Iterator[Point]:
    found = {name: os.environ[name] for name in (*PROXIES, *map(str.upper, PROXIES)) if os.environ.get(name)}
    shown = {name: value if name.lower() == "no_proxy" else without_password(value) for name, value in found.items()}
    text = ", ".join(f"{name}={value}" for name, value in shown.items()) or "none"
    wrong = [name for name, value in shown.items() if value == "(no address)"]
    for name in PROXIES:
        both = [found[each] for each in (name, name.upper()) if each in found]
        if len(set(both)) > 1:
            wrong.append(f"{name} and {name.upper()}, which differ")
    if wrong:
        todo = f"correct {', '.join(wrong)}: write a proxy as http://HOST:PORT, the same in small and capital letters"
        yield Point("proxies", "wrong", text, todo)
    else:
        yield Point("proxies", "fine", text)


def _certificates() -> Iterator[Point]:
    named: dict[str, list[str]] = {}
    for name in BUNDLES:
        if value := os.environ.get(name):
            named.setdefault(value, []).append(name)
    for value, names in named.items():
        yield _bundle(Path(value), ", ".join(names))
    if named:
        return
    if DEFAULT_BUNDLE.is_file():
        yield _bundle(DEFAULT_BUNDLE, "the system's")
    else:
        found = f"there is no {DEFAULT_BUNDLE}: mirrors and registries with https cannot be checked"
        yield Point("certificates", "note", found, "install ca-certificates if one of them is needed")


def _bundle(path: Path, called: str) -> Point:
    """Whether a file of certificate authorities can be read and is not empty."""
    name = f"{called}, {path}"
    todo = f"let {called} name a file of certificates in PEM, or unset it"
    try:
        with path.open("rb"):
            pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cafile=path)
    except ssl.SSLError as error:
        return Point("certificates", "wrong", f"{name}: no certificate can be read ({error.reason})", todo)
    except OSError as error:
        return Point("certificates", "wrong", f"{name}: {error.strerror}", todo)
    count = context.cert_store_stats()["x509_ca"]
    if not count:
        return Point("certificates", "wrong", f"{name}: has no certificate of an authority", todo)
    return Point("certificates", "fine", f"{name}: {count} {'authority' if count == 1 else 'authorities'}")


def _mirrors() -> Iterator[Point]:
    suite = load_lock().suite
    if not APT_HELPER.exists():
        yield Point("mirrors", "wrong", "not tried: apt is not on this machine", "install: apt")
        return
    found = list(itertools.islice(mirrors(suite), _MOST_MIRRORS))
    if not found:
        error = no_mirror()
        yield Point("mirrors", "wrong", error.message, error.hint)
    problems = {mirror: _mirror_problem(mirror, suite) for mirror in found}
    # apt takes each package from the first mirror that has it, so one that answers is enough.
    enough = any(not problem for problem in problems.values())
    for mirror, problem in problems.items():
        shown = without_password(mirror)
        if not problem:
            yield Point("mirrors", "fine", f"{shown} answers")
        else:
            todo = f"check the network and the proxies, or choose another mirror with {MIRROR_VARIABLE}"
            yield Point("mirrors", "note" if enough else "wrong", f"{shown}: {problem}", "" if enough else todo)


def _mirror_problem(mirror: str, suite: str) -> str:
    """Why apt, which fetches the packages, gets no Release file of a suite from a mirror; empty if it gets one."""
    address = f"{mirror}/dists/{suite}/Release"
    options = [f"Acquire::{kind}::Timeout={_ANSWER}" for kind in ("http", "https")]
    options.append("Acquire::Retries=0")
    with tempfile.TemporaryDirectory(prefix="worldwise-doctor-") as name:
        try:
            result = download([Fetch(address, Path(name, "Release"), _MOST_RELEASE)], options, PATIENCE)
        except subprocess.TimeoutExpired:
            return f"no answer within {PATIENCE} s"
        if Path(name, "Release").exists():
            return ""
    last = result.stderr.strip().splitlines()[-1:] or ["no answer"]
    return last[0].removeprefix("E: ").replace(mirror, without_password(mirror))
