# SPDX-License-Identifier: BSD-2-Clause
"""The roots that lab/ describes: the lab, on which counts stand, and those for what no count depends on."""

from dataclasses import dataclass
from pathlib import Path

from worldwise.base import paths

# Part of the lab's digest: raise it when the same packages would make another root (excluded paths, variant).
RECIPE = 1


@dataclass(frozen=True)
class Root:
    """A root that lab/ describes.

    Attributes:
        name: by which the command line and `open_lab` know it.
        purpose: what it is for, in a few words.
        wish: the file that says what it is to have.
        lock: the file that says what it has.
        programs: programs that must be there once it is made.
    """

    name: str
    purpose: str
    wish: Path
    lock: Path
    programs: tuple[str, ...]


MAIN = "main"

ROOTS = {
    root.name: root
    for root in (
        Root(
            MAIN,
            "the lab: compilers, QEMU, and what stands on the measured machines",
            paths.LAB / "packages.toml",
            paths.LAB / "lock.json",
            ("aarch64-linux-gnu-gcc", "qemu-system-aarch64"),
        ),
        Root(
            "render",
            "builds and runs the flame graph renderer",
            paths.LAB / "render.toml",
            paths.LAB / "render.lock.json",
            ("cargo", "gcc"),
        ),
        Root(
            "browser",
            "the browser of the tests",
            paths.LAB / "browser.toml",
            paths.LAB / "browser.lock.json",
            ("chromedriver", "chromium", "socat"),
        ),
        Root(
            "keycache",
            "builds, tests and fuzzes the secure key cache",
            paths.LAB / "keycache.toml",
            paths.LAB / "keycache.lock.json",
            ("aarch64-linux-gnu-gcc", "clang", "dpkg-buildpackage"),
        ),
    )
}
