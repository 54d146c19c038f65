# SPDX-License-Identifier: BSD-2-Clause
"""What the engine does with each core, as one digest: the cycles that it gives to code by chance.

The blind test's predictions cannot be made again. If the engine's sources change, but a core's cycles for this code do
not, its predictions are taken to be those of today. `python tests/engine_behaviour.py` writes
measured/validation/engine.json anew; `python tests/engine_behaviour.py COMMIT` prints the same of a commit's engine,
for published/hardware/blind.toml.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import a32_llvm
import instruction_words
from worldwise.base import paths
from worldwise.lab.image import tree_digest
from worldwise.libraries.boards import load_core, table_of
from worldwise.validation.blind_test.results import ENGINE, kept_blind
from worldwise.validation.record import engine_digest

TESTS = Path(__file__).parent
BLOCKS, PLACES, INSTRUCTIONS = 4000, 300, 10
# Flashes with wait states, of which each Cortex-M is tried with both.
FLASHES = ("", "nucleo-f446re", "nucleo-f103rb")
_LOADS = {"load", "loads", "exclusive", "table"}
_STORES = {"store", "stores"}
# Loads that write back, of which chance has too few: ldr r0,[r1],#4; ldr r2,[r3],#4; ldr r2,[r1],#4.
_CHAINED = ("f8510b04", "f8532b04", "f8512b04")
# The kinds of cores that the blind test's engine knew.
_KINDS_THEN = ("in-order", "out-of-order", "mcu")


class Chance:
    """Numbers that are the same everywhere: SplitMix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, end: int) -> int:
        """A number from 0 to below `end`."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return (z ^ z >> 31) % end


def _t32_words() -> list[tuple[str, str]]:
    """Encodings of T32 with `l`, `s` or nothing, as they access memory: as many of each class, where there are."""
    words: dict[tuple[str, bool], list[str]] = {}
    narrow = True
    for line in (TESTS / "data" / "t32-classes.txt").read_text(encoding="ascii").splitlines():
        first, *rest = line.split()
        if first == "#":
            narrow = "wide:" not in rest
        elif narrow:
            words.setdefault((rest[1], True), []).extend(
                f"{code:04x}" for code in range(int(first, 16), int(rest[0], 16) + 1)
            )
        else:
            words.setdefault((first, False), []).extend(rest)
    return [
        (code, "l" if kind in _LOADS else "s" if kind in _STORES else "")
        for (kind, _), codes in sorted(words.items())
        for code in codes[:: max(1, len(codes) // 300)]
    ] + [(code, "l") for code in _CHAINED for _ in range(60)]


def _a64_words() -> list[tuple[str, str]]:
    return [(one.word, _access(one.name)) for one in instruction_words.read(TESTS / "data" / "a64-words.txt")]


def _a32_words() -> list[tuple[str, str]]:
    return [(word, _access(text)) for word, text in a32_llvm.committed("a32").items()]


def _access(text: str) -> str:
    return "l" if text.startswith(("ld", "vld", "pop")) else "s" if text.startswith(("st", "vst", "push")) else ""


def _lines(words: Sequence[tuple[str, str]], first_pc: int) -> Iterator[str]:
    """Blocks that are executed by turns, from the same places again and again, with accesses near and far."""
    chance = Chance(40)
    bases = [0x20000000, 0x20001000, 0x08010000]
    blocks = []
    memory = [word for word in words if word[1]]
    for place in range(PLACES):
        # Every other block is of loads and stores alone: their rules are between neighbours.
        some = memory if place % 2 else words
        pc = first_pc + 64 * place + (chance.below(2) * 2 if first_pc % 4 else 0)
        blocks.append((pc, [some[chance.below(len(some))] for _ in range(1 + chance.below(INSTRUCTIONS))]))
    last = 0
    for _ in range(BLOCKS):
        pc, code = blocks[last]
        end = pc + sum(len(word) // 2 for word, _ in code)
        accesses = [
            f"{index}:{bases[chance.below(3)] + chance.below(512) * 4 + (not chance.below(20)):x}:4:{kind}"
            for index, (_, kind) in enumerate(code)
            if kind and chance.below(30)
        ]
        # A loop, the next place, or any.
        way = chance.below(4)
        last = last if way < 2 else (last + 1) % PLACES if way == 2 else chance.below(PLACES)
        following = blocks[last][0] if chance.below(3) else end
        yield " ".join([f"run {pc:x} {following:x} {','.join(word for word, _ in code)}", *accesses])


def t32_lines() -> Iterator[str]:
    """The blocks of T32."""
    return _lines(_t32_words(), 0x08000002)


def answers(program: Path, table: str, lines: Sequence[str], directory: Path) -> str:
    """What the program says of lines, with a table."""
    (directory / "table").write_text(table, encoding="ascii")
    done = subprocess.run(
        [program, directory / "table"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    return done.stdout


def behaviours(program: Path, cores: Sequence[str], plugin: Path) -> dict[str, str]:
    """The digests of cores, by a compiled tests/model_driver.c; with the part of `plugin` that feeds the models."""
    found = {}
    t32 = list(t32_lines())
    sets = {"Armv7-A": ["set a32", *_lines(_a32_words(), 0x10000)], "A64": ["set a64", *_lines(_a64_words(), 0x10000)]}
    with tempfile.TemporaryDirectory() as folder:
        for core in cores:
            architecture = load_core(core).architecture
            micro = "M" in architecture
            kinds = (
                [t32] if micro else [sets[architecture], ["set t32", *t32]] if architecture in sets else [sets["A64"]]
            )
            told = [
                answers(program, table_of(core, flash or None), lines, Path(folder))
                for lines in kinds
                for flash in (FLASHES if micro else ("",))
            ]
            found[core] = hashlib.sha256("".join([tree_digest(plugin / "cycles"), *told]).encode()).hexdigest()
    return found


def compiled(sources: Path, directory: Path) -> Path:
    """tests/model_driver.c with the engine of a folder."""
    program = directory / "driver"
    files = [TESTS / "model_driver.c", *sorted(sources.glob("*.c"))]
    subprocess.run(["cc", "-std=c11", "-O1", f"-I{sources}", "-o", program, *files], check=True)
    return program


def _plugin_of(commit: str, directory: Path) -> Path:
    git = ["git", "-C", str(paths.REPOSITORY), "archive", commit, "plugin/model", "plugin/cycles"]
    archive = subprocess.run(git, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", directory], input=archive, check=True)
    return directory / "plugin"


def _kind(core: str) -> str:
    model = load_core(core).model
    return model.kind if model else ""


def main(arguments: Sequence[str]) -> None:
    """Writes the digests of today's engine, or prints those of a commit's."""
    cores = sorted({core for test in kept_blind().tests for core in test.cores})
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        if arguments:
            plugin = _plugin_of(arguments[0], directory)
            program = compiled(plugin / "model", directory)
            for core in (one for one in cores if _kind(one) in _KINDS_THEN):
                # A core whose table that engine cannot read says nothing.
                with suppress(subprocess.CalledProcessError):
                    sys.stdout.write(f'{core} = "{behaviours(program, [core], plugin)[core]}"\n')
            return
        program = compiled(paths.PLUGIN / "model", directory)
        found = {"engine": engine_digest(), "cores": behaviours(program, cores, paths.PLUGIN)}
    ENGINE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
