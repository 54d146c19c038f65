# SPDX-License-Identifier: BSD-2-Clause
"""The libraries of post-quantum schemes, as a paper cites them."""

from worldwise.families.pqc.libraries import libraries
from worldwise.report.citation.components import Cited, Component


def _component(name: str) -> Component | None:
    library = libraries().get(name)
    if library is None:
        return None
    manifest = library.manifest
    source = f"crate {manifest.source.crate}, SHA-256 {manifest.source.sha256}"
    return Component(name, manifest.title, manifest.source.version or "", source, manifest.licence)


CITED = Cited(_component)
