# SPDX-License-Identifier: BSD-2-Clause
"""Linux hosts: the programs of plain Linux with a counter that the host itself has.

The same program runs on the emulated machine too, whose processor has perf's counters as a real one has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from worldwise.lab.image import Recipe
from worldwise.libraries.portable import HARDCLOCK, Portable
from worldwise.plan.case import Case
from worldwise.targets.families import images_of
from worldwise.targets.guest import guest_trees
from worldwise.targets.linux import PLAIN, PlainTarget


@dataclass(frozen=True)
class SiliconTarget(PlainTarget):
    """Linux on a host: the programs of a plain Linux target with the host's counter."""

    def programs(
        self, implementation: Portable, optimisation: str, curve: str, options: str, source: Path | None
    ) -> Recipe:
        """The program of one curve; see PlainTarget."""
        plain = super().programs(implementation, optimisation, curve, options, source)
        return replace(
            plain,
            name=plain.name.replace("programs-", "silicon-", 1),
            script="silicon-programs.sh",
            helpers=("silicon-programs.py", "plain-programs.py", *plain.helpers),
            trees={**plain.trees, **guest_trees("silicon")},
        )

    def probe(self) -> Recipe:
        """The program that says which counter a host has."""
        return Recipe(
            name=f"silicon-probe-{self.architecture.debian}",
            script="silicon-probe.sh",
            outputs=("probe",),
            trees=guest_trees("bench", "silicon"),
            settings={"PREFIX": self.architecture.prefix, "FLAGS": " ".join(self.architecture.flags)},
        )

    @property
    def counts_when_emulated(self) -> bool:
        """Whether QEMU's core counts what its programs execute; a Cortex-A9's counters cannot leave Linux out."""
        return self.name != "linux-armv7"

    def on_host(self, case: Case) -> Sequence[str]:
        """The program's arguments on a host, where its records go to standard output."""
        return ("-", *self.program(case)[1:])


def silicon(name: str) -> SiliconTarget:
    """A plain Linux target's programs for a host."""
    return SiliconTarget(name, PLAIN[name].architecture)


def not_on_a_host(case: Case) -> str:
    """Why a case of plain Linux cannot be measured on a host; empty if it can."""
    if "core" in dict(case.parameters):
        return "they name a core of QEMU's, and the host has its own"
    if case.operation == HARDCLOCK or images_of(case).plain_programs:
        return f"the program for {case.operation} counts on QEMU alone"
    return ""
