# SPDX-License-Identifier: BSD-2-Clause
"""Paths: the repository's folders, in a checkout or in an installed wheel, and the user's cache."""

import errno
import os
from pathlib import Path

import platformdirs

from worldwise.base.errors import HostError, WorldwiseError

_PACKAGE = Path(__file__).resolve().parents[1]
# A wheel carries the repository's folders within the package (release/hooks.py); in a checkout they are beside src/.
_CARRIED = _PACKAGE / "repository"
INSTALLED = _CARRIED.is_dir()
REPOSITORY = _CARRIED if INSTALLED else _PACKAGE.parents[1]
# A wheel's revision of the repository, written when the wheel is built.
REVISION = REPOSITORY / "revision"
BOARDS = REPOSITORY / "boards"
CORES = REPOSITORY / "cores"
GUEST = REPOSITORY / "guest"
KEYCACHE = REPOSITORY / "keycache"
LAB = REPOSITORY / "lab"
MEASURED = REPOSITORY / "measured"
PATCHES = REPOSITORY / "patches"
PLUGIN = REPOSITORY / "plugin"
PORTABLE = GUEST / "adapters"
PUBLISHED = REPOSITORY / "published"
SUITES = REPOSITORY / "suites"
RECIPES = _PACKAGE / "recipes"
REQUIREMENTS = REPOSITORY / "requirements"

SHARED_VARIABLE = "WORLDWISE_SHARED"


def whole_path() -> None:
    """Leave in PATH its absolute folders alone, so that no program is started from the current folder.

    An empty entry means that folder too; lab/host.sh does the same before Python starts.
    """
    given = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, given)) or os.defpath.strip(os.pathsep)


def require_checkout(what: str) -> None:
    """Raise WorldwiseError in an installed wheel, whose files nothing changes; `what` would change them."""
    if INSTALLED:
        raise WorldwiseError(
            f"{what} changes the repository, and this worldwise is installed from a wheel",
            "do it in a clone of the repository, with its own ./worldwise",
        )


def cache_place() -> Path:
    """Where the cache is or would be: WORLDWISE_CACHE, else `worldwise` in the user's cache directory."""
    chosen = os.environ.get("WORLDWISE_CACHE")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("worldwise"))


def is_url(place: str) -> bool:
    """Whether a place is a URL, such as `s3://bucket/prefix`, and no folder."""
    return "://" in place


def shared_place() -> str | None:
    """What this machine shares with others, as WORLDWISE_SHARED names it: a folder or a URL; None if it names none."""
    chosen = os.environ.get(SHARED_VARIABLE)
    if not chosen:
        return None
    for local in ("file://", "local://"):
        chosen = chosen.removeprefix(local)
    return chosen.rstrip("/") if is_url(chosen) else str(Path(chosen).expanduser().absolute())


def cache_directory() -> Path:
    """The cache, see `cache_place`; created if missing. Raises HostError."""
    path = cache_place()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cache_error(path, path, error.strerror or str(error)) from None
    return path.resolve()


def cache_error(cache: Path, place: Path, why: str) -> HostError:
    """The error for a place in the cache that cannot be written."""
    inside = "" if place == cache else f": {place}"
    return HostError(
        f"the cache {cache} cannot be written{inside} ({why})",
        "WORLDWISE_CACHE=DIRECTORY names another one; `report`, `list` and `compare` need no cache",
    )


def require_writable(cache: Path) -> None:
    """Raise HostError if the cache or one of its folders cannot be written."""
    for place in (cache, *sorted(cache.iterdir())):
        # Only the start script makes Python environments.
        if place.is_dir() and not place.name.startswith("venv-") and not os.access(place, os.W_OK | os.X_OK):
            read_only = os.statvfs(place).f_flag & os.ST_RDONLY
            raise cache_error(cache, place, os.strerror(errno.EROFS if read_only else errno.EACCES))
