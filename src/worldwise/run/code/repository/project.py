# SPDX-License-Identifier: BSD-2-Clause
"""What a repository's worldwise.toml asks for: each of its measures is built, started, and becomes cases.

The file is a stranger's. Its builds run in the sandbox of every build, on a copy of the folder; what it names besides
must lie in the folder, without a link that leads out.
"""

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.choices import did_you_mean
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.key_lines import TomlLines
from worldwise.base.toml.toml_model import read_text
from worldwise.lab.image import ImageStore
from worldwise.lab.sandbox.identity import require_confinement
from worldwise.libraries.own_code import FIRMWARE_ELF
from worldwise.libraries.own_library.folder_copy import copy_folder
from worldwise.libraries.user_code import build_systems
from worldwise.machine.elf_files.questions import ask
from worldwise.machine.emulator import Emulator
from worldwise.plan.suite_list import PROJECT_FILE
from worldwise.plan.user_code.project import Limit, Measure, Project, load_project
from worldwise.run.code.application import Application, application
from worldwise.run.code.firmware import WantedFirmware, prepare_firmware
from worldwise.run.code.heap import least_data_size, most_heap, starts_of
from worldwise.run.code.order import DEFAULT_LIVES, Wanted
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.repository.benchmarks import count_benchmarks
from worldwise.targets import own_code as machines
from worldwise.targets.own_code import TA_ELF

# Folders beside the file that worldwise itself writes: they are no sources.
_OURS = ("runs", "baselines")
_MOST_FILE = 256 * 2**20
_SAYS = "worldwise: "
# What a reader of a worldwise.toml needs of messages that name an option of `run`.
KEYS = "a measure's keys are the options of `run`; of those that come again, in the plural: `regions`, `other_tas`"
_BUILD_IT = "build it beforehand, and name its file, without `build`"


@dataclass(frozen=True)
class Made:
    """One measure that was prepared.

    Attributes:
        name: its name in the file, and in cases.
        measure: what the file says of it.
        ready: it, counted.
        words: how it came to be, for a reader of the figures.
        benchmark: the name of the benchmark that it is, in its harness; empty for what is none.
        first_only: later calls of a start are more iterations than one.
    """

    name: str
    measure: Measure
    ready: Ready
    words: str
    benchmark: str = ""
    first_only: bool = False

    @property
    def shown(self) -> str:
        """How a table of the file's measures has it."""
        return f"{self.name}/{files.quoted(self.benchmark)}" if self.benchmark else self.name

    @property
    def limits(self) -> list[tuple[str, str, Limit]]:
        """The limits: the key that has one in the file, and its region. A benchmark's are of all its regions."""
        if not self.benchmark:
            return [(region, region, limit) for region, limit in self.measure.limit.items()]
        limit = self.measure.limit.get(self.benchmark)
        return [(self.benchmark, region, limit) for region in self.ready.code.manifest.regions if limit]

    @property
    def flash(self) -> int | None:
        """The bytes of firmware that a flash memory must have; None for what has none."""
        if not self.measure.firmware:
            return None
        (size,) = ask(self.ready.code.folder / FIRMWARE_ELF, ("loaded_bytes",), what=self.name)
        return int(size)

    @property
    def heap(self) -> int | None:
        """The most bytes of heap at a time, in any start; of a TA the least TA_DATA_SIZE, by what was executed. None
        where nobody knows where the heap is, and of a TA of 32 bits.
        """
        if not self.measure.ta:
            return most_heap(self.ready.counted.trace.passes)
        ((_, _, _, heap, _),) = ask(self.ready.code.folder / TA_ELF, ("ta_memory",), what=self.name)
        starts = starts_of(self.ready.counted.trace.passes)
        return least_data_size(starts) if heap and starts else None


@dataclass(frozen=True)
class Opened:
    """A folder with its worldwise.toml, and where in that each key stands."""

    folder: Path
    project: Project
    text: str

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / PROJECT_FILE

    def where(self, *keys: str) -> str:
        """`worldwise.toml:12`: where a key stands, or the table around it."""
        return f"{self.path}:{TomlLines(self.text).line(keys)}"


def open_project(folder: Path) -> Opened:
    """The folder's worldwise.toml. Raises WorldwiseError naming file, line and key."""
    project = load_project(folder)
    return Opened(folder, project, read_text(folder / PROJECT_FILE, "project", folder))


def prepare_project(
    opened: Opened,
    images: ImageStore,
    emulator: Emulator,
    notify: Callable[[str], None],
    fresh: bool = False,
) -> list[Made]:
    """Build and count each measure, in the file's order. Raises WorldwiseError naming file, line and measure."""
    found: list[Made] = []
    for name, measure in opened.project.measure.items():
        with named_errors(opened, name), _brought(opened, name, measure, images) as place:
            if measure.benchmarks:
                made = _benchmarks(name, measure, place, images, emulator, fresh)
            else:
                ready, words = _prepared(name, measure, place, images, emulator, notify, fresh)
                made = [Made(name, measure, ready, words)]
        if measure.benchmarks:
            _require_limited(opened, name, [one.benchmark for one in made], "benchmark", "benchmarks")
        else:
            _require_limited(opened, name, made[0].ready.code.manifest.regions, "region", "regions")
        for one in made:
            if twin := next((other for other in found if other.ready.code.name == one.ready.code.name), None):
                raise WorldwiseError(
                    f"{opened.where('measure', name)}: measure.{name}: {one.shown} and {twin.shown} are both called "
                    f"own/{one.ready.code.name} in cases.",
                    "give one of the two measures another name",
                )
            found.append(one)
    return found


def _require_limited(opened: Opened, name: str, there: Collection[str], what: str, key: str) -> None:
    """Raise WorldwiseError for a limit of what was not measured: it would always be kept."""
    for limited in opened.project.measure[name].limit:
        if limited not in there:
            raise WorldwiseError(
                f"{opened.where('measure', name, 'limit', limited)}: measure.{name}.limit.{files.quoted(limited)}: "
                f"no such {what} was measured. There are {', '.join(map(files.quoted, sorted(there)[:12]))}.",
                did_you_mean(limited, there) or f"name it in {key}, and see that it is called",
            )


def _benchmarks(
    name: str, measure: Measure, place: Path, images: ImageStore, emulator: Emulator, fresh: bool
) -> list[Made]:
    """Each benchmark of a measure. Raises WorldwiseError, with its name, for one that cannot be counted."""
    counted = count_benchmarks(_wanted(name, measure, place, None), measure.benchmarks, images, emulator, fresh, name)
    for benchmark, error in counted.refused.items():
        raise WorldwiseError(f"{files.quoted(benchmark)}: {error.message}", error.hint, error.details)
    harness = counted.harness
    words = f"benchmarks of {harness.name}, one iteration each: {harness.more}"
    return [
        Made(name, measure, one.ready, "" if number else words, one.name, harness.first_only)
        for number, one in enumerate(counted.found)
    ]


@contextmanager
def named_errors(opened: Opened, name: str) -> Iterator[None]:
    """Errors inside begin with the file, the line and the measure."""
    try:
        yield
    except WorldwiseError as error:
        where = opened.where("measure", name)
        hint = "; ".join(part for part in (error.hint, KEYS) if part)
        raise WorldwiseError(f"{where}: measure.{name}: {error.message}", hint, error.details) from error


@contextmanager
def _brought(opened: Opened, name: str, measure: Measure, images: ImageStore) -> Iterator[Path]:
    """The folder with all that a measure names: the output of its build, or the files as they are."""
    folder = place_within(opened.folder, measure.folder)
    if not folder.is_dir():
        raise WorldwiseError(f"folder = '{measure.folder}' is no folder.")
    if not measure.commands:
        yield folder
        return
    require_confinement(f"the code in {opened.folder}")
    store = images.lab.cache / "own"
    copy, _ = copy_folder(opened.folder, f"source-{name}", store, _OURS)
    named = [*measure.named, *filter(None, (measure.ta, measure.client)), *measure.other_tas]
    called = build_systems.are_called(measure.commands)
    builders = build_systems.build_systems(images.notify, _BUILD_IT) if called else None
    recipe = machines.built(name, copy, measure.folder, measure.commands, named, bool(measure.firmware), builders)
    try:
        image = images.get(recipe)
    except WorldwiseError as error:
        raise build_error(error) from error
    with tempfile.TemporaryDirectory(prefix="ww-built-") as temporary:
        place = Path(temporary)
        for number, one in enumerate(named):
            (place / one).parent.mkdir(parents=True, exist_ok=True)
            files.copy(image.file(str(number)), place / one, _MOST_FILE, image.directory)
        yield place


def build_error(error: WorldwiseError) -> WorldwiseError:
    """What a user reads about a build that failed: the script's own word, and what the build said before."""
    lines = error.details.splitlines()
    says = [line.removeprefix(_SAYS) for line in lines if line.startswith(_SAYS)]
    if not says:
        return error
    details = "\n".join(line for line in lines if not line.startswith((_SAYS, "== ")))
    hint = "the end of its output is above"
    if native := re.search("error: unknown value .native. for .(-m[a-z]+)", details):
        # GCC knows the machine that it runs on, and this one builds for another.
        hint = f"{native[1]}=native is for the machine that builds: give make the other flags, its -I and -D too, in "
        hint += "CFLAGS='...'"
    return WorldwiseError(f"build: {says[-1]}", hint, details)


def place_within(folder: Path, name: str) -> Path:
    """A path in the folder. Raises WorldwiseError if a link in it leads out."""
    path = Path(os.path.realpath(folder / name))
    if not path.is_relative_to(os.path.realpath(folder)):
        raise WorldwiseError(f"'{files.quoted(name)}' is a link out of the folder.", "put the file itself there")
    return folder / name


def _prepared(
    name: str,
    measure: Measure,
    place: Path,
    images: ImageStore,
    emulator: Emulator,
    notify: Callable[[str], None],
    fresh: bool,
) -> tuple[Ready, str]:
    def at(path: str) -> Path:
        return place_within(place, path)

    regions = tuple(measure.regions)
    if measure.firmware:
        machine = measure.machine or ""
        firmware = WantedFirmware(
            at(measure.firmware), machine, regions, measure.until or "", measure.instructions or 0, name
        )
        words = f"on QEMU's {machine}: {machines.M_MACHINES.get(machine, '')}"
        return prepare_firmware(firmware, images, emulator, notify, fresh), words
    found = None
    if measure.ta and measure.client:
        others = [at(one) for one in measure.other_tas]
        paths = at(measure.ta), at(measure.client)
        beside = [at(one) for one in measure.beside]
        found = application(*paths, measure.log_level, images, others, measure.ta_target, beside)
    wanted = _wanted(name, measure, place, found)
    return prepare(wanted, images, emulator, notify, fresh), found.words if found else ""


def _wanted(name: str, measure: Measure, place: Path, found: Application | None) -> Wanted:
    """What a measure asks of a program, or of the application that was made of it."""

    def at(path: str) -> Path:
        return place_within(place, path)

    return Wanted(
        Path(found.name) if found else at(measure.program or ""),
        tuple(measure.arguments),
        tuple(measure.regions),
        measure.repeat or DEFAULT_LIVES,
        tuple(measure.packages),
        tuple(map(at, measure.libraries)),
        tuple(map(at, measure.files)),
        at(measure.input) if measure.input else None,
        name,
        measure.thread or "",
        found,
        measure.net is not None,
    )
