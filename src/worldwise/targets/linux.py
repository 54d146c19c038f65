# SPDX-License-Identifier: BSD-2-Clause
"""Plain Linux: a portable implementation as one static program per curve, on an emulated Armv7-A or Armv8-A machine.

There is no firmware and no secure world. The kernel is Debian's, the user space is the first process and the program.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from worldwise.lab.image import ImageStore, Recipe
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.curve_table import MEASURABLE
from worldwise.libraries.own_library import own_libraries
from worldwise.libraries.portable import NO_CURVE, Portable, find
from worldwise.machine.elf_files.program_addresses import symbol_address
from worldwise.machine.machine import READY_SYMBOL, Machine
from worldwise.plan.case import Case
from worldwise.plan.catalogue import parameters_of_program
from worldwise.plan.parameters import MAX_BOARD_SIZE, MAX_PLAIN_SIZE
from worldwise.targets.architecture import ARCHITECTURES, BOOT_FILES, Architecture
from worldwise.targets.families import images_of
from worldwise.targets.guest import guest_trees
from worldwise.targets.inputs import boot_words, settings
from worldwise.targets.portable_images import adapter_trees, curve_plan, source_packages, trees

# The footprint of a portable implementation; a family's own programs for plain Linux have none.
_FOOTPRINT = "footprint.json"
# Folder of guest/ with the headers of curves that have one of their own.
_CURVES = "curves"


def _header(curve: str) -> str:
    """The header of a curve that is not in guest/adapters/ops_curve.h; empty for others."""
    return f"{curve}.h" if curve in MEASURABLE and MEASURABLE[curve].own_number else ""


def _header_flags(curve: str) -> tuple[str, ...]:
    """The flags by which it stands before each source."""
    header = _header(curve)
    return ("-include", f"/build/guest/{_CURVES}/{header}") if header else ()


def _plan(
    implementation: Portable, optimisation: str, curve: str, options: str, target: "PlainTarget"
) -> dict[str, Any]:
    """The plan of what recipes/plain-programs.py compiles and links."""
    architecture = target.architecture
    part = curve_plan(implementation, curve, PLAIN_TARGETS[target.name])
    source = implementation.manifest.source
    return {
        **part,
        "defines": [*part["defines"], *implementation.defines(options)],
        "name": implementation.name,
        "own": implementation.folder is not None and source is None,
        "debian": source.debian if source and source.debian else "",
        "archives": list(implementation.manifest.build.archives),
        "frame_sha256": implementation.manifest.needs.frame_sha256,
        "hedged": implementation.manifest.needs.hedged,
        "warnings": implementation.manifest.build.warnings,
        "optimisation": optimisation,
        "curve": curve,
        "operations": list(implementation.manifest.operations[curve]),
        "message_bytes": MAX_PLAIN_SIZE if curve == NO_CURVE else MAX_BOARD_SIZE,
        "prefix": architecture.prefix,
        "triplet": architecture.triplet,
        "architecture_flags": [*architecture.flags, *_header_flags(curve)],
        "instructions": architecture.instructions,
        "counter": list(architecture.counter),
    }


@dataclass(frozen=True)
class PlainTarget:
    """Linux alone on one emulated machine."""

    name: str
    architecture: Architecture

    def programs(
        self, implementation: Portable, optimisation: str, curve: str, options: str, source: Path | None
    ) -> Recipe:
        """The program of one curve; `source` has the library's sources if they come as a crate.

        `options` are build options in a case's notation.
        """
        wanted = implementation.manifest.source
        return Recipe(
            name="-".join(filter(None, (f"programs-{self.name}", implementation.name, optimisation, curve, options))),
            script="plain-programs.sh",
            helpers=("plain.sh", "unpacked.sh", "guest.sh", "plain-programs.py", "library.py", "objects.py"),
            outputs=("linux-bench", _FOOTPRINT),
            needs=source_packages(implementation),
            packages=wanted.packages if wanted else (),
            trees={
                **guest_trees("bench", "linux", "operations", "mbedtls-clock"),
                **guest_trees(*filter(None, [_header(curve)]), room=_CURVES),
                **adapter_trees(implementation),
                **trees(implementation, source),
            },
            settings={
                "LIBRARIES": " ".join(wanted.packages) if wanted else "",
                "PARAMETERS": " ".join(parameters_of_program((self.name,))),
                "PLAN": json.dumps(_plan(implementation, optimisation, curve, options, self)),
            },
            architecture=self.architecture.debian,
        )

    def recipes(self, case: Case) -> Sequence[Recipe]:
        """The images that the case needs: kernel, user space, program."""
        return self.architecture.kernel(), self.architecture.initramfs(), self._program_recipe(case)

    def _program_recipe(self, case: Case) -> Recipe:
        special = images_of(case).plain_programs
        if special:
            return special(case, self.architecture)
        implementation = find(case.implementation)
        source = crate_folder(implementation, Crates())
        return self.programs(implementation, case.optimisation, case.curve or NO_CURVE, case.options, source)

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """The machine, and the program of the case's library, curve and build options."""
        with own_libraries.told(case.implementation):
            kernel, initramfs, program = used = [images.get(recipe) for recipe in self.recipes(case)]
        parts = {
            "Image": (kernel, "Image"),
            "initramfs.cpio": (initramfs, "initramfs.cpio"),
            "program": (program, "linux-bench"),
            **{name: (kernel, name) for name in self.architecture.files},
        }
        return Machine(
            name=f"{self.name}-{case.core}",
            files={name: part.file(file) for name, (part, file) in parts.items()},
            digests={name: part.files[file] for name, (part, file) in parts.items()},
            arguments=self.architecture.arguments(case.core, boot_words(case)),
            images={part.name: part.digest for part in used},
            # The lowest bit marks Thumb code.
            ready=symbol_address(initramfs.file("init"), READY_SYMBOL) & ~1,
            symbols={"init": initramfs.file("init"), "program": program.file("linux-bench")},
            preload=(),
            footprint=program.sizes(_FOOTPRINT) if _FOOTPRINT in program.files else None,
            least_skip=self.architecture.least_skip,
            brought=("program",),
            boot_files=BOOT_FILES,
        )

    def speaking(self, machine: Machine, images: ImageStore) -> Machine:
        """The same kernel at the same addresses, with a program that says what is where, and none that is measured."""
        initramfs = images.get(self.architecture.with_symbols())
        there = {name: path for name, path in machine.files.items() if name not in machine.brought}
        files = there | {"initramfs.cpio": initramfs.file("initramfs.cpio")}
        digests = {name: machine.digests[name] for name in there}
        return replace(
            machine,
            name=f"{machine.name}-symbols",
            files=files,
            digests=digests | {"initramfs.cpio": initramfs.files["initramfs.cpio"]},
            brought=(),
        )

    def program(self, case: Case) -> Sequence[str]:
        """The program's command line: operation, warm-up, samples and parameters."""
        own = ("/bin/fetch", case.operation, str(case.warmup), str(case.samples), *case.arguments)
        return (*own, *settings(case))


PLAIN: Mapping[str, PlainTarget] = {
    name: PlainTarget(name, architecture) for name, architecture in ARCHITECTURES.items()
}
