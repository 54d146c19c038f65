# SPDX-License-Identifier: BSD-2-Clause
"""The programs of the validation: recipes of libraries that have published hardware figures, as they were measured."""

from dataclasses import dataclass

from worldwise.base import paths
from worldwise.lab.image import Recipe
from worldwise.lab.roots import MAIN
from worldwise.libraries.crates import Crates

NEW = "validation"
OLD = "validation-old"
# The crate that has s2n-bignum in it, the SHA-256 of its .crate file, and the folder in it.
CRATE = ("aws-lc-sys", "0.47.0", "8bfbe32ac36b3c428696ce315464181bc4029d689fd58e3f2a4e58c252242f52")
S2N = "aws-lc/third_party/s2n-bignum/s2n-bignum-imported"
HARNESS = paths.GUEST / "validation"


@dataclass(frozen=True)
class Program:
    """A static program for AArch64 that calls one library.

    Attributes:
        name: its name.
        root: the root with its compilers.
        library: the source package, and the file of guest/validation that calls it.
        gcc, clang: the versions of its compilers; no clang for assembly.
        figures: file of the source with the figures.
    """

    name: str
    root: str
    library: str
    gcc: str
    clang: str = ""
    figures: str = ""

    def recipe(self, crates: Crates) -> Recipe:
        """How it is built. Raises WorldwiseError if a crate that it needs cannot be fetched."""
        return Recipe(
            name=f"validation-{self.name}",
            script="validation-program.sh",
            outputs=("program",),
            trees={"validation": HARNESS, "bench": paths.GUEST / "bench"},
            needs={"library": self._library(crates)},
            settings={"GCC": f"aarch64-linux-gnu-gcc-{self.gcc}", "CELLS": f"{self.library}.c"},
        )

    def _library(self, crates: Crates) -> Recipe:
        compiler = {"GCC": f"aarch64-linux-gnu-gcc-{self.gcc}"}
        if not self.clang:
            return Recipe(
                name=f"validation-library-{self.name}",
                script="validation-s2n.sh",
                outputs=("library.a",),
                trees={"s2n": crates.folder(*CRATE) / S2N},
                settings=compiler,
            )
        return Recipe(
            name=f"validation-library-{self.name}",
            script="validation-library.sh",
            outputs=("library.a",),
            sources=(self.library,),
            trees={"random/randombytes.h": HARNESS / "randombytes.h"},
            settings=compiler | {"LIBRARY": self.library, "CLANG": f"clang-{self.clang}", "FIGURES": self.figures},
            helpers=("validation-selected.py",),
        )


PROGRAMS = {
    program.name: program
    for program in (
        Program("lib25519-a53", OLD, "lib25519", "12", "14", "benchmarks/a53-pi3aplus"),
        Program("lib25519-a72", NEW, "lib25519", "13", "18", "benchmarks/a72-pi4b"),
        Program("lib25519-a76", NEW, "lib25519", "14", "19", "benchmarks/a76-pi5"),
        Program("libntruprime", OLD, "libntruprime", "11", "14", "benchmarks/a72-pi4b"),
        # Assembly: the lab's own compiler links it, so that this one needs no other root.
        Program("s2n", MAIN, "s2n", "14"),
    )
}
