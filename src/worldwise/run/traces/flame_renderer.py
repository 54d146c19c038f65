# SPDX-License-Identifier: BSD-2-Clause
"""inferno, which draws flame graphs: built from its crate when somebody first asks, in a root of its own."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import Fetch, ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries.crates import REGISTRY_WAY_OUT

# Any change of these gives the renderer another address. The digest is that of the .crate file; the lock file inside
# it pins everything that is compiled with it.
INFERNO_VERSION = "0.12.8"
INFERNO_SHA256 = "0c460d4fa06223667240720ab69a8045133755ae6dfbe100cf481b95e3a014f1"
WAY_OUT = "folded stacks do not need it: `--format folded`"


def renderer_recipe() -> Recipe:
    """inferno, built from its crate in the root `render`."""
    return Recipe(
        name="inferno",
        script="inferno.sh",
        outputs=("inferno-flamegraph", "inferno-diff-folded"),
        settings={"VERSION": INFERNO_VERSION, "SHA256": INFERNO_SHA256},
        fetch=Fetch(
            script="inferno-fetch.sh",
            what=f"the flame graph renderer (crate inferno {INFERNO_VERSION}, or a crate that it needs)",
            hint=REGISTRY_WAY_OUT,
        ),
        helpers=("cargo.sh",),
    )


class Inferno:
    """The renderer in the user's cache, built on first use: a worldwise.report.drawing.flame_graph.Renderer.

    Args:
        notify: called with a line of text when something is built.
        lab: the root that builds and runs it; by default the one that the repository describes.
    """

    version = INFERNO_VERSION

    def __init__(self, notify: Callable[[str], None] = lambda _: None, lab: Lab | None = None) -> None:
        self._lab = lab or open_lab(name="render")
        self._store = ImageStore(self._lab, notify)

    def run(self, program: str, arguments: Sequence[str], files: Mapping[str, str]) -> str:
        """The output of one of inferno's programs, run in a directory with the given files (name -> text).

        Raises WorldwiseError if the renderer cannot be built or fails; the hint names `--format folded`.
        """
        try:
            self._lab.ensure()
            image = self._store.get(renderer_recipe())
            with tempfile.TemporaryDirectory(prefix="worldwise-flame-") as name:
                for file, text in files.items():
                    Path(name, file).write_text(text, encoding="utf-8")
                result = self._lab.run(
                    [f"/renderer/{program}", "--quiet", *arguments],
                    binds=[(image.directory, "/renderer", "ro"), (name, "/work", "rw")],
                    chdir="/work",
                    timeout=300,
                )
        except WorldwiseError as error:
            hint = f"{error.hint}; {WAY_OUT}" if error.hint else WAY_OUT
            raise WorldwiseError(error.message, hint, error.details) from None
        return result.stdout
