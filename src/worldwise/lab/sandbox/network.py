# SPDX-License-Identifier: BSD-2-Clause
"""The host's way to the network, handed into a sandbox: resolver, authorities, proxy, cargo's registry."""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from worldwise.base.errors import WorldwiseError

Bind = tuple[Path | str, str, Literal["ro", "rw"]]


# Variables for the way to the network, in small letters; programs read them in capital ones too.
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")


def network_binds(environment: dict[str, str]) -> list[Bind]:
    """Hand in the host's resolver, certificate authorities and proxy; changes `environment`."""
    binds: list[Bind] = []
    resolver = Path("/etc/resolv.conf")
    if resolver.exists():
        binds.append((resolver, "/etc/resolv.conf", "ro"))
    bundle = Path(os.environ.get("SSL_CERT_FILE") or "/etc/ssl/certs/ca-certificates.crt")
    if bundle.is_file():
        inside = "/run/host/ca-certificates.crt"
        binds.append((bundle, inside, "ro"))
        for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE"):
            environment[name] = inside
    for name in PROXIES:
        for variable in (name, name.upper()):
            if variable in os.environ:
                environment[variable] = os.environ[variable]
    return binds + _cargo_binds(environment)


def _cargo_binds(environment: dict[str, str]) -> list[Bind]:
    """Hand in how the host's cargo reaches a registry, and nothing of how it builds; changes `environment`.

    What its configuration file has on that goes into CARGO_CONFIG, as the text of such a file. Files with credentials
    stay outside; cargo's variables for them (CARGO_REGISTRIES_...) are handed in.
    """
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    config: dict[str, Any] = {}
    for path in (home / "config", home / "config.toml"):
        try:
            config = tomllib.loads(path.read_text(encoding="utf-8"))
            break
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise WorldwiseError(f"{path} cannot be read: {error}", "correct it: cargo reads it too") from None
    kept = {name: value for name, value in config.items() if name in ("source", "registries", "http", "net")}
    environment["CARGO_CONFIG"] = "".join(f"{line}\n" for line in _toml_lines(kept))
    for name, value in os.environ.items():
        if re.match(r"CARGO_(HTTP|NET|REGISTRY|REGISTRIES)_", name):
            environment[name] = value
    chosen = environment.get("CARGO_HTTP_CAINFO") or kept.get("http", {}).get("cainfo")
    if isinstance(chosen, str) and Path(chosen).is_file():
        environment["CARGO_HTTP_CAINFO"] = "/run/host/cargo-ca-certificates.crt"
        return [(Path(chosen), environment["CARGO_HTTP_CAINFO"], "ro")]
    if "SSL_CERT_FILE" in environment:
        environment["CARGO_HTTP_CAINFO"] = environment["SSL_CERT_FILE"]
    return []


def _toml_lines(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """A table of strings, numbers, booleans, arrays of these and tables, as TOML of one key per line."""
    for name, value in table.items():
        key = prefix + json.dumps(name, ensure_ascii=False)
        if isinstance(value, Mapping):
            yield from _toml_lines(value, f"{key}.")
        else:
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
