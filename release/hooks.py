# SPDX-License-Identifier: BSD-2-Clause
"""What hatchling asks for when it builds the wheel: the files, the revision, and the packages that worldwise needs.

A wheel has what git tracks, and nothing else that lies in the checkout.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# The folder of the package that has the repository's folders, and the file with its revision: see base/paths.py.
CARRIED = "worldwise/repository"
REVISION = "revision"
# The repository's folders that worldwise reads.
FOLDERS = (
    *("boards", "cores", "guest", "keycache", "lab", "measured", "patches", "plugin", "published", "requirements"),
    "suites",
)
SOURCES = "src/"


class PinnedPackages(MetadataHookInterface):
    """The wheel asks for exactly the versions that the tests run with."""

    def update(self, metadata: dict[str, Any]) -> None:
        needed = self._pins("run")
        metadata["dependencies"] = needed
        metadata["optional-dependencies"] = {"dask": [pin for pin in self._pins("dask") if pin not in needed]}

    def _pins(self, name: str) -> list[str]:
        text = Path(self.root, "requirements", f"{name}.txt").read_text(encoding="utf-8")
        own = re.findall(r"^([\w.-]+==[^\s;\\]+)", text, re.MULTILINE)
        return [*(self._pins(text.split()[1].removesuffix(".txt")) if text.startswith("-r ") else ()), *own]


class TrackedFiles(BuildHookInterface):  # type: ignore[type-arg] # hatchling names no configuration that fits
    """The files that git tracks: the package, and beside it in the wheel the folders that it reads."""

    _made: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # An editable installation is the checkout itself.
        if version == "editable":
            return
        names = self._git("ls-files", "-z", "--", f"{SOURCES}worldwise", *FOLDERS).split("\0")
        revision = self._git("describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*").strip()
        self._made = Path(tempfile.mkdtemp(prefix="worldwise-wheel-"))
        file = self._made / REVISION
        file.write_text(f"{revision}\n", encoding="utf-8")
        files = {str(Path(self.root, name)): wheel_path(name) for name in names if name}
        build_data["force_include"] |= files | {str(file): f"{CARRIED}/{REVISION}"}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        if self._made:
            shutil.rmtree(self._made)

    def _git(self, *words: str) -> str:
        """What git says of the checkout. Ends the build if this is none."""
        command = ["git", "-C", self.root, *words]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
            problem = answer.stderr.strip()
        except OSError as error:
            answer, problem = None, str(error)
        if answer is None or answer.returncode or not Path(self.root, ".git").exists():
            raise SystemExit(
                f"worldwise: a wheel names its revision and has what git tracks, and {self.root} is no checkout "
                f"that git can read: build it in a clone, with git installed. {problem}"
            )
        return answer.stdout


def wheel_path(name: str) -> str:
    """Where the wheel has a file of the repository."""
    return name.removeprefix(SOURCES) if name.startswith(SOURCES) else f"{CARRIED}/{name}"
