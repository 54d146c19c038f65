# SPDX-License-Identifier: BSD-2-Clause
"""Linux hosts: the programs of plain Linux, or the client of a TA, with a counter that the host itself has.

The same program runs on the emulated machine too, whose processor has perf's counters as a real one has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from worldwise.lab.image import ImageStore, Recipe
from worldwise.libraries.portable import HARDCLOCK, Portable
from worldwise.machine.machine import LOADER, PROGRAM, TA_SUFFIX, Machine
from worldwise.plan.case import Case
from worldwise.plan.catalogue import APPS, parameters_of_program
from worldwise.plan.spec import OPTEE
from worldwise.targets.architecture import ARCHITECTURES, Architecture
from worldwise.targets.families import case_app, images_of
from worldwise.targets.guest import guest_trees
from worldwise.targets.inputs import with_timers, without_settings
from worldwise.targets.linux import PLAIN, PlainTarget
from worldwise.targets.optee import OPTEE_TARGETS, programs_of

# Apps whose clients do no more than call their TA, and what waits for tee-supplicant meanwhile.
_CLIENTS, _OF_SUPPLICANT = ("attestation", "calls", "hello"), ("ta-load", "storage-create")
# A kernel and a firmware of QEMU's.
_EMULATED = ("load", "ticks")


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
            trees={**plain.trees, **guest_trees("board-linux")},
        )

    def program(self, case: Case) -> Sequence[str]:
        """The program's command line on the emulated machine, where closing perf's counters waits for Linux's timer."""
        return with_timers(super().program(case))

    def probe(self) -> Recipe:
        """The program that says which counter a host has."""
        return _probe(f"silicon-probe-{self.architecture.debian}", self.architecture)

    @property
    def counts_when_emulated(self) -> bool:
        """Whether QEMU's core counts what its programs execute; a Cortex-A9's counters cannot leave Linux out."""
        return self.name != "linux-armv7"

    def on_host(self, case: Case) -> Sequence[str]:
        """The program's arguments on a host, where its records go to standard output."""
        return ("-", *without_settings(self.program(case))[1:])


@dataclass(frozen=True)
class SiliconTee:
    """A host with an OP-TEE of its own: the client of an app, and its TA without a counter.

    The client brings the libraries that it was linked with.
    """

    # QEMU's count has the secure world in it, which perf's may not have.
    counts_when_emulated: bool = False

    def client(self, case: Case) -> Recipe:
        """The client of a case's app."""
        app = case_app(case)
        return Recipe(
            name=f"silicon-{app}",
            script="silicon-app.sh",
            helpers=("guest.sh",),
            outputs=("client", *_RUNS_WITH),
            packages=("libc6", "libteec2", "optee-client-dev"),
            trees={
                **guest_trees("bench", "linux", "board-linux"),
                **guest_trees("common", app, room="apps"),
                **guest_trees("attest.h", room="optee-libraries"),
            },
            settings={"APP": app, "PARAMETERS": " ".join(parameters_of_program((OPTEE,), app))},
        )

    def programs(self, case: Case) -> Recipe:
        """The programs of a case's app, of which the TA has no counter."""
        built = programs_of(case)
        return replace(
            built,
            name=f"{built.name}-uncounted",
            trees={**built.trees, **guest_trees(_UNCOUNTED, room="board-linux")},
            # The TA dev kit's make reads it; the other programs do not.
            settings={**built.settings, "CFLAGS": f"-include /build/guest/board-linux/{_UNCOUNTED}"},
        )

    def probe(self) -> Recipe:
        """The program that says which counter a host has."""
        plain = _probe("silicon-probe-tee", ARCHITECTURES["linux-armv8"], "-DCOUNTER_WITH_KERNEL")
        return replace(plain, settings={**plain.settings, "MORE": "board-linux/tee.c"})

    def machine(self, case: Case, images: ImageStore) -> Machine:
        """What the host is brought: the client, its libraries, and the TA, which is not yet signed for it."""
        client, programs = used = images.get(self.client(case)), images.get(self.programs(case))
        ta = f"{APPS[case_app(case)].uuid}{TA_SUFFIX}"
        parts = {PROGRAM: (client, "client"), **{name: (client, name) for name in _RUNS_WITH}, ta: (programs, ta)}
        return Machine(
            name=f"optee-host-{case_app(case)}-{case.variant}",
            files={name: part.file(file) for name, (part, file) in parts.items()},
            digests={name: part.files[file] for name, (part, file) in parts.items()},
            arguments=(),
            images={part.name: part.digest for part in used},
            ready=None,
            symbols={PROGRAM: client.file("client")},
            preload=(),
        )

    def program(self, case: Case) -> Sequence[str]:
        """The client's command line on the emulated machine, with timers: see SiliconTarget."""
        return with_timers(OPTEE_TARGETS[OPTEE].program(case))

    def on_host(self, case: Case) -> Sequence[str]:
        """The client's arguments on a host, where its records go to standard output."""
        return ("-", *without_settings(self.program(case))[1:])


# What the client runs with: its loader, under a name of ours, and libraries.
_RUNS_WITH = (LOADER, "libc.so.6", "libteec.so.2")
_UNCOUNTED = "uncounted.h"


def _probe(name: str, architecture: Architecture, *flags: str) -> Recipe:
    return Recipe(
        name=name,
        script="silicon-probe.sh",
        outputs=("probe",),
        trees=guest_trees("bench", "board-linux"),
        settings={"PREFIX": architecture.prefix, "FLAGS": " ".join((*architecture.flags, *flags))},
    )


def silicon(name: str) -> SiliconTarget | SiliconTee:
    """A target's programs for a host."""
    return SiliconTee() if name == OPTEE else SiliconTarget(name, PLAIN[name].architecture)


def not_on_a_host(case: Case) -> str:
    """Why a case of plain Linux or of a TEE cannot be measured on a host; empty if it can."""
    if case.target == OPTEE:
        return _not_with_a_tee(case)
    if "core" in dict(case.parameters):
        return "they name a core of QEMU's, and the host has its own"
    if case.operation == HARDCLOCK or images_of(case).plain_programs:
        return f"the program for {case.operation} counts on QEMU alone"
    return ""


def _not_with_a_tee(case: Case) -> str:
    if case.operation in _OF_SUPPLICANT:
        return "most of their work is in another process, tee-supplicant"
    if case_app(case) not in _CLIENTS or not case.measures or {key for key, _ in case.parameters} & {*_EMULATED}:
        return "they need the emulated machine's programs, kernel or firmware"
    return ""
