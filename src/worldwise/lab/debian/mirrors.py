# SPDX-License-Identifier: BSD-2-Clause
"""Mirrors of the Debian archive: which are tried, and how apt is called."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from worldwise.base.errors import WorldwiseError

MIRROR_VARIABLE = "WORLDWISE_DEBIAN_MIRROR"

OTHER_MIRROR = f"set {MIRROR_VARIABLE} to a mirror or an archive of old packages that still has it"


# What runs now; several threads call apt at a time.
_RUNNING: "set[subprocess.Popen[str]]" = set()
# Bytes a second of the slowest line that is waited for, and seconds that are waited anyway.
SLOWEST, LEAST_PATIENCE = 20_000, 120.0
# Unit of the shell's limit of a file's size, in bytes.
_BLOCK = 512

# What mmdebstrap runs when it has written its sources: they are told, and it ends.
MIRROR_HOOK = 'cat "$1"/etc/apt/sources.list >&2; exit 1'

APT_HELPER = Path("/usr/lib/apt/apt-helper")


def call_apt(command: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run apt, or a program that calls it, and wait. Raises subprocess.TimeoutExpired after `timeout` seconds."""
    with subprocess.Popen(
        command,
        # Messages are read below, so they must be the untranslated ones.
        env=os.environ | {"LC_ALL": "C.UTF-8", "LANGUAGE": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # apt fetches in processes of its own, which outlive one that was ended alone.
        start_new_session=True,
        # mmdebstrap takes an option for the file of that name, and a hook for the program, if one lies where it starts.
        cwd="/",
    ) as process:
        _RUNNING.add(process)
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        finally:
            _end(process)
            _RUNNING.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _end(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def end_downloads() -> None:
    """End what `call_apt` runs, from another thread: Ctrl-C reaches the tool alone."""
    for process in list(_RUNNING):
        _end(process)


def apt_options() -> list[str]:
    options = ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2"]
    # apt has its own idea of where certificate authorities are; a host that says otherwise means apt too.
    authorities = os.environ.get("SSL_CERT_FILE", "")
    if authorities and Path(authorities).is_file():
        options += ["-o", f"Acquire::https::CaInfo={authorities}"]
    return options


@dataclass(frozen=True)
class Fetch:
    """One file to fetch: its address, the path it gets, and the bytes that it has, or has at most."""

    address: str
    path: Path
    most: int


def download(
    files: Sequence[Fetch], options: Sequence[str] = (), timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Have apt fetch addresses to paths; one that it cannot fetch is absent afterwards, and standard error says why.

    A server decides what it sends. The kernel lets no file become larger than the largest that is fetched; what comes
    slower than any line is given up, and what had come by then stays.

    Args:
        files: what to fetch.
        options: settings of apt beside `apt_options`, such as `Acquire::Retries=0`.
        timeout: seconds it may take, if not as many as the files' sizes take on the slowest line.

    Raises subprocess.TimeoutExpired.
    """
    if timeout is None:
        timeout = LEAST_PATIENCE + sum(one.most for one in files) / SLOWEST
    blocks = -(-max(one.most for one in files) // _BLOCK)
    command = ["/bin/sh", "-c", 'ulimit -f "$1"; shift; exec "$@"', "sh", str(blocks)]
    command += [str(APT_HELPER), *apt_options(), *(word for option in options for word in ("-o", option))]
    command.append("download-file")
    for one in files:
        # file: would leave a link to the mirror, which may vanish; copy: leaves a copy. The empty word: no digest.
        command += [re.sub(r"^file:(//)?", "copy:", one.address), str(one.path.absolute()), ""]
    return call_apt(command, timeout)


def _is_mirror(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https", "file", "copy")


def parse_index_targets(text: str, codename: str) -> list[str]:
    """Addresses of Debian's main archive among `apt-get indextargets` lines
    `address|release|component|origin|label`, without security and updates, first come first.

    `codename` is the host's own if the host is Debian, else empty: apt knows an origin only after an
    update, so without one the host's own suite is taken by its name.
    """
    found: list[str] = []
    for line in text.splitlines():
        address, release, component, origin, label = (line.split("|") + [""] * 5)[:5]
        known = origin == "Debian" and label == "Debian"
        guessed = not origin and codename != "" and release == codename
        outside = release.endswith(("-security", "-updates", "-backports"))
        if component == "main" and (known or guessed) and not outside and _is_mirror(address):
            found.append(address)
    return list(dict.fromkeys(found))


def _host_codename() -> str:
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return ""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if values.get("ID", "").strip('"') != "debian":
        return ""
    return values.get("VERSION_CODENAME", "").strip('"')


def _host_mirrors() -> list[str]:
    columns = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(LABEL)"
    result = call_apt(["apt-get", "indextargets", "--format", columns, "Created-By: Packages"])
    return parse_index_targets(result.stdout, _host_codename())


def mmdebstrap_mirror(suite: str) -> list[str]:
    """What mmdebstrap would take by itself: it writes its sources, then runs the hook, which ends it."""
    mode = "root" if os.geteuid() == 0 else "unshare"
    command = ["mmdebstrap", f"--mode={mode}", "--variant=custom", "--format=tar"]
    command += [f"--setup-hook={MIRROR_HOOK}", suite, "-"]
    result = call_apt(command)
    found = re.findall(rf"^deb (?:\[[^\]]*\] )?(\S+) {re.escape(suite)} ", result.stderr, re.MULTILINE)
    return [address for address in found if _is_mirror(address)]


def mirrors(suite: str) -> Iterator[str]:
    """Mirrors to try in order: WORLDWISE_DEBIAN_MIRROR if set, else the host's, then mmdebstrap's."""
    chosen = os.environ.get(MIRROR_VARIABLE, "").split()
    seen: set[str] = set()
    sources: list[Callable[[], list[str]]] = [_host_mirrors, lambda: mmdebstrap_mirror(suite)]
    if chosen:
        sources = [lambda: chosen]
    for source in sources:
        for address in source():
            address = address.rstrip("/")
            if address not in seen:
                seen.add(address)
                yield address


def no_mirror() -> WorldwiseError:
    """The error for a machine that knows no mirror."""
    return WorldwiseError(
        "no Debian mirror is known on this machine",
        f"set {MIRROR_VARIABLE} to the address of one (the part before `dists/` and `pool/`)",
    )
