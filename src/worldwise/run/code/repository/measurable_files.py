# SPDX-License-Identifier: BSD-2-Clause
"""What a folder has that could be measured, as the text of a worldwise.toml. It looks, and starts nothing."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.literals import toml_line
from worldwise.libraries.user_code.build_systems import MAKE, build_file
from worldwise.libraries.user_code.harness import recognised
from worldwise.libraries.user_code.kinds import case_name
from worldwise.machine.elf_files.questions import ask
from worldwise.run.code.order import LINUX_AT, first_code

_MOST_DEPTH, _MOST_SEEN, _MOST_PROGRAMS = 4, 5000, 5
_MOST_ELF = 64 * 2**20
# Where QEMU's machines have their code, by its first address.
_MACHINE_AT = ((0x0800_0000, "olimex-stm32-h405"), (0, "mps2-an386"))
# What builds outside: worldwise measures what it left.
_BUILDS = {
    "Cargo.toml": "cargo build --release --target aarch64-unknown-linux-gnu",
    "west.yml": "west build -b mps2/an385",
}
_TRIPLE = "aarch64-unknown-linux-gnu"
# What Cargo calls the programs of benches/NAME.rs: by a hash of what they were built of.
_CARGO_NAME, _CARGO_FILE = re.compile("(.+)-[0-9a-f]{16}"), "release/deps/{}-"
# And what builds in the sandbox, by `build`.
_INSIDE = {
    "CMakeLists.txt": "cmake -S . -B out && cmake --build out",
    "meson.build": "meson setup out --cross-file worldwise && ninja -C out",
}


@dataclass(frozen=True)
class Measurable:
    """One thing that could be measured: its name, its lines, and why it is thought to be one."""

    name: str
    lines: Sequence[str]
    why: str


def look(folder: Path) -> tuple[list[Measurable], list[str]]:
    """What a folder has, and how else it may be built, each way in a sentence."""
    found = [*_application(folder)]
    named = {one.name for one in found}
    elves = list(_elves(folder))
    if any(_is_cargos(path, "release") for path in elves):
        # Cargo leaves both; without optimisation nobody measures.
        elves = [path for path in elves if not _is_cargos(path, "debug")]
    for path in elves:
        one = _program(folder, path, named)
        if one:
            named.add(one.name)
            found.append(one)
        if len(found) > _MOST_PROGRAMS:
            break
    outside = list(_cargo_benches(folder, found))
    outside += [f"{name}: build it first, with {how}" for name, how in _BUILDS.items() if (folder / name).is_file()]
    outside += [
        f"{name}: build = {json.dumps(how)} in a measure, whose file is then in out"
        for name, how in _INSIDE.items()
        if (folder / name).is_file()
    ]
    if not found:
        outside += _makefiles(folder)
    return found, outside


def _makefiles(folder: Path) -> Iterator[str]:
    """How a folder is built that has a Makefile, or folders with one: nobody knows what that leaves."""
    below = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    places = [one for one in (folder, *below) if build_file(one) == MAKE and not files.name_problem(one.name)]
    for place in places[:_MOST_PROGRAMS]:
        name = "" if place == folder else place.name
        how = f"make -C {shlex.quote(name)}" if name else "make"
        yield (
            f"{name}{'/' if name else ''}{MAKE}: build = {json.dumps(how)} in a measure, and the file that it leaves: "
            "program of Linux (CC is for AArch64), or firmware with machine (CC is for Cortex-M)"
        )


def text_of(found: Sequence[Measurable], outside: Sequence[str]) -> str:
    """The text of a worldwise.toml."""
    lines = [
        "# What this repository measures: `worldwise run .`; docs/use/in-your-repository.md explains every key.",
        "format = 1",
        "# With a baseline every run is compared: `worldwise run . --save-baseline main` makes it, commit it.",
        '# baseline = "main"',
    ]
    for sentence in outside:
        lines += ["", f"# {sentence}."]
    for one in found:
        lines += ["", f"# {one.why}", f"[measure.{one.name}]", *one.lines]
        limited = "main" if "program" in one.lines[0] else "REGION"
        if "benchmarks" in one.lines[1]:
            limited = '"NAME OF A BENCHMARK"'
        lines += [
            f"# [measure.{one.name}.limit.{limited}]",
            "# instructions = 1_000_000  # what the worst call may take; exit status 3 above it",
            '# change = "0%"             # what the median may grow above the baseline',
        ]
    if not found:
        lines += [
            "",
            "# Nothing was found that could be measured. A program that `make` builds:",
            "# [measure.bench]",
            '# build = "make bench"      # in a sandbox, without a network; CC and CROSS_COMPILE are set',
            '# program = "bench"',
            '# regions = ["crypto_sign"] # functions; without, the whole program',
        ]
    return "\n".join(lines) + "\n"


def _cargo_benches(folder: Path, found: Sequence[Measurable]) -> Iterator[str]:
    """What is said of a crate's benchmarks that are not built yet."""
    if not (folder / "Cargo.toml").is_file() or not (folder / "benches").is_dir():
        return
    names = [path.stem for path in sorted((folder / "benches").glob("*.rs")) if not files.name_problem(path.name)]
    names = [name for name in names if not any(_CARGO_FILE.format(name) in line for one in found for line in one.lines)]
    if names:
        line = toml_line("program", f"target/{_TRIPLE}/release/deps/{names[0]}-HASH")
        yield (
            f"benches: {', '.join(names[:_MOST_PROGRAMS])}: `cargo bench --no-run --target {_TRIPLE}` builds them and "
            f'says their files; then in a measure: {line} and benchmarks = ["*"]'
        )


def _application(folder: Path) -> Iterator[Measurable]:
    for top in (folder, *sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))):
        ta, host = top / "ta", top / "host"
        if build_file(ta) == MAKE and build_file(host):
            name = case_name(top.resolve().name)
            lines = [toml_line(key, str(one.relative_to(folder))) for key, one in (("ta", ta), ("client", host))]
            yield Measurable(
                name, [*lines, "# log_level = 0            # without the TA's messages"], "An OP-TEE application."
            )


def _is_cargos(path: Path, profile: str) -> bool:
    """Whether Cargo left a file there, in a folder of a profile."""
    return (path.parent.name == "deps" and path.parent.parent.name == profile) or path.parent.name == profile


def _elves(folder: Path) -> Iterator[Path]:
    seen = 0
    for at, folders, names in os.walk(folder):
        depth = len(Path(at).relative_to(folder).parts)
        folders[:] = [] if depth >= _MOST_DEPTH else sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            seen += 1
            if seen > _MOST_SEEN:
                return
            path = Path(at, name)
            if path.is_symlink() or not path.is_file() or re.search(r"\.(o|so|a|ko)(\.|$)", name):
                continue
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def _program(folder: Path, path: Path, named: set[str]) -> Measurable | None:
    """The program or firmware in a file; None if it is neither."""
    relative = str(path.relative_to(folder))
    try:
        content = files.read_bytes(path, _MOST_ELF, folder)
        (kind, processor, start, loader, *_), segments = ask(content, ("program",), ("segments",), what=relative)
    except (OSError, WorldwiseError):
        return None
    name = case_name(path.stem)
    while name in named:
        name += "-2"
    least = first_code(segments)
    is_linux = processor == "EM_AARCH64" or (processor == "EM_ARM" and (loader or least in LINUX_AT))
    if is_linux and kind in ("ET_EXEC", "ET_DYN"):
        if harness := recognised(content):
            of = _CARGO_NAME.fullmatch(path.name)
            return Measurable(
                case_name(of[1]) if of and case_name(of[1]) not in named else name,
                [toml_line("program", relative), toml_line("benchmarks", ["*"])],
                f"Benchmarks of {harness.name}: each becomes a case, by one iteration.",
            )
        return Measurable(
            name,
            [toml_line("program", relative), '# regions = ["crypto_sign"] # functions; without, the whole program'],
            "A program of Linux, as it lies here; with `build` worldwise builds it itself, for AArch64.",
        )
    if processor == "EM_ARM" and kind == "ET_EXEC" and start % 2:
        machine = next(machine for begin, machine in _MACHINE_AT if least >= begin)
        lines = [toml_line("firmware", relative), toml_line("machine", machine)]
        return Measurable(
            name,
            [*lines, '# regions = ["crypto_sign"] # functions; without, main'],
            "Firmware of a Cortex-M; a wrong machine lists all there are.",
        )
    return None
