# SPDX-License-Identifier: BSD-2-Clause
"""Sources from crates: cargo fetches them in the root that has cargo; they are verified and unpacked in the cache."""

from collections.abc import Callable
from pathlib import Path

from worldwise.base import paths
from worldwise.lab.debian.second_sources import BUNDLE
from worldwise.lab.image import Crate, Fetch, ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries.portable import Portable, portables

# The hint if cargo cannot fetch something.
REGISTRY_WAY_OUT = (
    "check the network, the proxy settings (https_proxy), the certificate authorities (SSL_CERT_FILE) "
    f"and what config.toml in cargo's directory says of registries; {BUNDLE}"
)

# The folders of crates that this process has checked, by cache and recipe: a suite asks for one for each of its cases,
# and looking at a library's thousands of files takes a second.
_CHECKED: dict[tuple[Path, str, str, str], Path] = {}


def crate_recipe(name: str, version: str, sha256: str) -> Recipe:
    """The recipe of a crate's unpacked content; `sha256` is that of its .crate file."""
    return Recipe(
        name=f"crate-{name}",
        script="crate.sh",
        outputs=("source/Cargo.toml",),
        settings={"CRATE": name, "VERSION": version, "SHA256": sha256},
        fetch=Fetch(
            script="crate-fetch.sh",
            what=f"the crate {name} {version}",
            hint=REGISTRY_WAY_OUT,
            crate=Crate(name, version, sha256),
        ),
        helpers=("cargo.sh",),
    )


class Crates:
    """Crates in the user's cache, each fetched at first use.

    Args:
        notify: called with a line of text when a crate is fetched.
        lab: the root with cargo; by default the one that the repository describes.
    """

    def __init__(self, notify: Callable[[str], None] = lambda _: None, lab: Lab | None = None) -> None:
        self._lab = lab
        self._notify = notify
        self._store: ImageStore | None = None

    def folder(self, name: str, version: str, sha256: str) -> Path:
        """The folder of a crate's files. Raises WorldwiseError if it cannot be fetched or is not the pinned one."""
        cache = self._lab.cache if self._lab else paths.cache_directory()
        key = (cache, name, version, sha256)
        if key not in _CHECKED or not _CHECKED[key].is_dir():
            _CHECKED[key] = self._images().get(crate_recipe(name, version, sha256)).file("source")
        return _CHECKED[key]

    def file(self, crate: Crate) -> Path:
        """A crate's own file, for an archive of it. Raises WorldwiseError if it cannot be fetched."""
        return self._images().crate_file(crate_recipe(crate.name, crate.version, crate.sha256))

    def _images(self) -> ImageStore:
        if self._store is None:
            lab = self._lab or open_lab(name="render")
            lab.ensure()
            self._store = ImageStore(lab, self._notify)
        return self._store


def pinned_crates() -> list[Crate]:
    """The crates of all libraries."""
    sources = (library.manifest.source for library in portables().values())
    return list(
        dict.fromkeys(
            Crate(source.crate, source.version or "", source.sha256 or "")
            for source in sources
            if source and source.crate
        )
    )


def crate_folder(implementation: Portable, crates: Crates) -> Path | None:
    """The folder of a library's sources if they come as a crate, else None. Raises WorldwiseError."""
    source = implementation.manifest.source
    if source and source.crate:
        return crates.folder(source.crate, source.version or "", source.sha256 or "")
    return None
