# SPDX-License-Identifier: BSD-2-Clause
"""Schemes in pqm4's layout: each is built with a program of ours around it, started as firmware, and checked."""

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import Image, ImageStore
from worldwise.lab.sandbox.identity import require_confinement
from worldwise.libraries.own_code import case_name
from worldwise.libraries.user_code.pqm4 import FUNCTIONS, Scheme, common_code, common_files, scheme_files
from worldwise.machine.emulator import Emulator
from worldwise.records.trace_records import Pass
from worldwise.run.code.firmware import WantedFirmware, prepare_firmware
from worldwise.run.code.prepare import Ready
from worldwise.run.code.region_counts import calls_of
from worldwise.targets.pqm4 import FIRMWARE, SIZES, firmware, has_thumb2, place_of

_MOST_SOURCE, _MOST_SIZES = 64 * 2**20, 2**12
# What a compiler or linker says of an error, the most telling first.
_SIGNS = ("undefined reference", "will not fit", "overflowed", "error:", "Error:")
_ASSEMBLY = re.compile(r"\.[sS]: does not compile$")
_SAYS, _DONE, _FAILED, _VECTOR = "worldwise: ", "done", "failed: ", "vector "
_HEAP = re.compile("heap ([0-9]{1,9})")


@dataclass(frozen=True)
class MeasuredScheme:
    """A scheme that was built and counted.

    Attributes:
        scheme: which.
        ready: it, counted.
        vectors: the lines that say what came out: digests, which every implementation of the scheme must give.
        sizes: the bytes of text, data and bss of the scheme's own objects, by `size`.
        heap: the most bytes that its malloc had taken from the machine at a time, in all calls.
    """

    scheme: Scheme
    ready: Ready
    vectors: tuple[str, ...]
    sizes: tuple[int, int, int]
    heap: int

    def _region(self, function: str) -> str:
        """What the region of one of NIST's functions is called."""
        return next(name for name, one in self.ready.code.manifest.regions.items() if one.function == function)

    def case(self, function: str) -> str:
        """The name of the case that is the calls of one of NIST's functions."""
        region = self._region(function)
        return next(case.id for case in self.ready.cases if case.operation == region)

    def calls(self, function: str) -> Sequence[Pass]:
        """The calls of one of NIST's functions, in the order of time."""
        code = self.ready.code.manifest
        return calls_of(self.ready.counted.trace, code.addresses, code.regions[self._region(function)])[0]

    def instructions(self, function: str) -> list[int]:
        """What each call of a function took."""
        return [one.instructions for one in self.calls(function)]

    def stack(self, function: str) -> int | None:
        """The bytes of stack of the deepest call of a function; None if it is unknown: the code moves its stack."""
        known = [one.stack for one in self.calls(function)]
        return None if None in known else max(one for one in known if one is not None)


@dataclass(frozen=True)
class Refused:
    """A scheme that has no figures, and why: it does not build, or what it gives is wrong."""

    scheme: Scheme
    why: str


def measure_schemes(
    schemes: Sequence[Scheme],
    machine: str,
    runs: int,
    images: ImageStore,
    emulator: Emulator,
    notify: Callable[[str], None],
    fresh: bool = False,
) -> tuple[list[MeasuredScheme], list[Refused]]:
    """Build and count each scheme. What one cannot do keeps no other from it. Raises WorldwiseError for the machine."""
    place_of(machine)
    require_confinement("the code of a scheme")
    found: list[MeasuredScheme] = []
    refused: list[Refused] = []
    for scheme in schemes:
        notify(f"{scheme.title}: building and counting")
        try:
            try:
                image = _built(scheme, machine, runs, images)
            except OSError as error:
                raise WorldwiseError(f"{scheme.folder}: cannot be read: {error.strerror}.") from None
            found.append(_counted(scheme, machine, image, images, emulator, notify, fresh))
        except WorldwiseError as error:
            refused.append(Refused(scheme, _why(error, has_thumb2(machine))))
            notify(f"{scheme.title}: {refused[-1].why}")
    wrong = disagreeing(found)
    refused += [Refused(one.scheme, wrong[one.scheme.title]) for one in found if one.scheme.title in wrong]
    return [one for one in found if one.scheme.title not in wrong], refused


def disagreeing(found: Sequence[MeasuredScheme]) -> Mapping[str, str]:
    """The titles of schemes whose implementations do not give the same, each with the words for it."""
    by_scheme: dict[tuple[str, str], list[MeasuredScheme]] = {}
    for one in found:
        by_scheme.setdefault((one.scheme.kind, one.scheme.name), []).append(one)
    wrong: dict[str, str] = {}
    for several in by_scheme.values():
        if len({one.vectors for one in several}) > 1:
            names = " and ".join(one.scheme.implementation for one in several)
            for one in several:
                wrong[one.scheme.title] = f"its test vectors differ: {names} do not give the same keys and outputs"
    return wrong


def _built(scheme: Scheme, machine: str, runs: int, images: ImageStore) -> Image:
    at = place_of(machine)
    compiled = common_code(scheme, has_thumb2(machine))
    settings = {"PREFIX": scheme.prefix, "KEM": str(int(scheme.kind == "crypto_kem")), "RUNS": str(runs)}
    store = images.lab.cache / "own"
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store, prefix=".making-") as temporary:
        own, shared = Path(temporary, "scheme"), Path(temporary, "common")
        _copy(scheme_files(scheme), own, scheme.tree)
        _copy(common_files(scheme, compiled), shared, scheme.tree)
        name = f"{machine}-{case_name(scheme.title)}"
        return images.get(firmware(name, own, shared, compiled, settings, at))


def _copy(sources: Mapping[str, Path], target: Path, tree: Path) -> None:
    target.mkdir()
    for name, source in sources.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        files.copy(source, target / name, _MOST_SOURCE, tree)


def _counted(
    scheme: Scheme,
    machine: str,
    image: Image,
    images: ImageStore,
    emulator: Emulator,
    notify: Callable[[str], None],
    fresh: bool,
) -> MeasuredScheme:
    wanted = WantedFirmware(image.file(FIRMWARE), machine, FUNCTIONS[scheme.kind], name=case_name(scheme.title))
    ready = prepare_firmware(wanted, images, emulator, notify, fresh)
    lines = ready.counted.output.decode("ascii", "replace").splitlines()
    for line in lines:
        if line.startswith(_FAILED):
            raise WorldwiseError(f"it does not work on {machine}: {files.quoted(line.removeprefix(_FAILED), 200)}")
    # The last two lines are the program's own; what the scheme says is a stranger's.
    heap = _HEAP.fullmatch(lines[-2]) if lines[-1:] == [_DONE] and len(lines) > 1 else None
    if not heap:
        raise WorldwiseError(f"it does not come to its end on {machine}")
    text, data, bss = map(int, files.read_bytes(image.file(SIZES), _MOST_SIZES, image.directory).split()[:3])
    vectors = tuple(line for line in lines if line.startswith(_VECTOR))
    return MeasuredScheme(scheme, ready, vectors, (text, data, bss), int(heap[1]))


def _why(error: WorldwiseError, thumb2: bool) -> str:
    """In one line: what the script said, and the compiler's first error."""
    lines = error.details.splitlines()
    says = [line.removeprefix(_SAYS) for line in lines if line.startswith(_SAYS)]
    first = next((line for sign in _SIGNS for line in lines if sign in line), "")
    words = says[-1] if says else error.message.removesuffix(".")
    if _ASSEMBLY.search(words) and not thumb2:
        words += ", as this core has the 16-bit instructions of Thumb alone"
    return files.quoted(f"{words}: {first.strip().removeprefix('/in/')}" if first else words, 300)
