# SPDX-License-Identifier: BSD-2-Clause
"""Sources that come as crates: fetched by cargo in the root that has it, verified by digest, unpacked in the cache."""

from collections.abc import Callable
from pathlib import Path

from worldwise.lab.image import Fetch, ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries.portable import Portable

# For whatever cargo fetches.
REGISTRY_WAY_OUT = (
    "check the network, the proxy settings (https_proxy), the certificate authorities (SSL_CERT_FILE) "
    "and what config.toml in cargo's directory says of registries"
)


def crate_recipe(name: str, version: str, sha256: str) -> Recipe:
    """The unpacked content of a crate; `sha256` is that of its .crate file."""
    return Recipe(
        name=f"crate-{name}",
        script="crate.sh",
        outputs=("source/Cargo.toml",),
        settings={"CRATE": name, "VERSION": version, "SHA256": sha256},
        fetch=Fetch(
            script="crate-fetch.sh",
            what=f"the crate {name} {version}",
            hint=REGISTRY_WAY_OUT,
        ),
        helpers=("cargo.sh",),
    )


class Crates:
    """Crates in the user's cache, fetched when they are first asked for.

    Args:
        notify: called with a line of text when something is fetched.
        lab: the root that has cargo; by default the one that the repository describes.
    """

    def __init__(self, notify: Callable[[str], None] = lambda _: None, lab: Lab | None = None) -> None:
        self._lab = lab
        self._notify = notify
        self._store: ImageStore | None = None

    def folder(self, name: str, version: str, sha256: str) -> Path:
        """Where a crate's files are. Raises WorldwiseError if it cannot be had or is not what was pinned."""
        if self._store is None:
            lab = self._lab or open_lab(name="render")
            lab.ensure()
            self._store = ImageStore(lab, self._notify)
        return self._store.get(crate_recipe(name, version, sha256)).file("source")


def crate_folder(implementation: Portable, crates: Crates) -> Path | None:
    """Where a library's sources are that come as a crate; None for all others. Raises WorldwiseError."""
    source = implementation.manifest.source
    if source and source.crate:
        return crates.folder(source.crate, source.version or "", source.sha256 or "")
    return None
