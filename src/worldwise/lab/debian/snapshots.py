# SPDX-License-Identifier: BSD-2-Clause
"""The archive of snapshots: it keeps every file that Debian's archive ever had, by time and by SHA-1.

Where it is, apt knows: no address stands here. A file is found below a time, as in a mirror's pool, and by its SHA-1
where the archive is laid out as Debian's own is.
"""

import os
import re
from collections.abc import Iterable
from urllib.parse import quote, urlsplit

from worldwise.base.errors import WorldwiseError
from worldwise.lab.debian.lock import ARCHIVE, Wanted
from worldwise.lab.debian.mirrors import call_apt

SNAPSHOTS_VARIABLE = "WORLDWISE_SNAPSHOTS"
# What apt writes in place of a time, and of the archive's name.
_TIME, _PATH = "@SNAPSHOTID@", "@PATH@"
_KEY = "Acquire::Snapshots::URI"
_NO = ("", "no", "none", "disable")


def template(mirrors: Iterable[str] = ()) -> str:
    """The address of the archive's pool with `@SNAPSHOTID@` for the time; empty if none is known.

    WORLDWISE_SNAPSHOTS names it, else apt's own setting does: of apt 3 and later, for Debian or for one of `mirrors`.
    Raises WorldwiseError if the variable names no address.
    """
    chosen = os.environ.get(SNAPSHOTS_VARIABLE)
    if chosen is not None:
        return _chosen(chosen.strip())
    dump = str(call_apt(["apt-config", "dump", _KEY]).stdout)
    hosts = [host for mirror in mirrors if (host := urlsplit(mirror).hostname)]
    return parse_settings(dump, hosts)


def _chosen(value: str) -> str:
    if value.lower() in _NO:
        return ""
    if urlsplit(value).scheme not in ("http", "https"):
        raise WorldwiseError(
            f"{SNAPSHOTS_VARIABLE}={value}: is no http: or https: address",
            f"name what stands before a time, with {_TIME} for the time, or `none` to do without",
        )
    value = value.rstrip("/")
    return (value if _TIME in value else f"{value}/{_TIME}").replace(_PATH, ARCHIVE)


def parse_settings(dump: str, hosts: Iterable[str] = ()) -> str:
    """The template that apt's settings (`apt-config dump`) name for Debian's archive, or one of the mirrors' hosts."""
    found: dict[str, str] = {key.lower(): value for key, value in re.findall(r'^(\S+) "(.*)";$', dump, re.MULTILINE)}
    keys = [f"{kind}{key}::Debian" for kind in ("Override::", "") for key in ("Label", "Origin")]
    for key in (*keys, *(f"Host::{host}" for host in hosts)):
        value = found.get(f"{_KEY}::{key}".lower(), "")
        if _TIME in value and urlsplit(value).scheme in ("http", "https"):
            return value.rstrip("/").replace(_PATH, ARCHIVE)
    return ""


def addresses(where: str, item: Wanted) -> list[str]:
    """Where an archive of snapshots may have a file, the best first; none if the lock says neither time nor SHA-1."""
    found = [f"{where.replace(_TIME, item.time)}/{quote(item.path, safe='/+~:%')}"] if item.time else []
    base = re.match(rf"(.+)/archive/[^/]+/{_TIME}$", where)
    return found + ([f"{base[1]}/file/{item.file.sha1}"] if base and item.file.sha1 else [])
