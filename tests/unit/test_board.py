# SPDX-License-Identifier: BSD-2-Clause
from pathlib import Path
from typing import get_args

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import INSTRUCTIONS
from worldwise.libraries.boards import Core, boards, load_board, load_core, table_of
from worldwise.libraries.cores import ARCHITECTURES, FEATURES, features_of
from worldwise.libraries.portable import Feature
from worldwise.targets.board import on_board

GOOD = """\
# SPDX-License-Identifier: BSD-2-Clause
title = "A board"
core = "cortex-m3"
clock = "72 MHz"
flash = "128KiB"
ram = "20KiB"
flash_wait_states = 2
script = "some.ld"

[emulated]
machine = "mps2-an385"
clock = "25 MHz"
leaves_out = ["time"]
"""


def written(directory: Path, text: str) -> Path:
    (directory / "some.ld").touch()
    path = directory / "some-board.toml"
    path.write_text(text)
    return path


def test_a_board(tmp_path: Path) -> None:
    board = load_board(written(tmp_path, GOOD))
    assert (board.title, board.core, board.clock, board.clock_mhz) == ("A board", "cortex-m3", 72_000_000, 72.0)
    assert (board.flash, board.ram, board.flash_wait_states) == (128 * 1024, 20 * 1024, 2)
    assert (board.emulated.machine, board.emulated.clock) == ("mps2-an385", 25_000_000)
    assert board.emulated.leaves_out == ("time",)
    assert load_board(written(tmp_path, GOOD.replace("72 MHz", "4.5 MHz"))).clock == 4_500_000


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("72 MHz", "72MHz", r":4: clock: must be a clock such as '72 MHz'"),
        ("72 MHz", "0 MHz", ":4: clock: must be a whole number of Hz"),
        ("72 MHz", "1001 MHz", ":4: clock: must be a whole number of Hz"),
        ("20KiB", "20 KiB", ":6: ram: must be a size such as '128KiB'"),
        ("20KiB", "20", ":6: ram: must be a size"),
        ('"128KiB"', "128", ":5: flash: must be a size"),
        ("states = 2", "states = 16", ":7: flash_wait_states: "),
        ("script", "scrip", "scrip"),
        ("machine = ", "machin = ", "machin"),
        ('"cortex-m3"', '"cortex-m9"', "core: core 'cortex-m9': there is no"),
        ('"some.ld"', '"other.ld"', "script: there is no"),
        ('title = "A board"', "title = A", ":2: not valid TOML"),
        ('title = "A board"', 'title = ""', ":2: title: "),
    ],
)
def test_wrong_boards_are_refused_with_their_line(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(WorldwiseError, match=says) as caught:
        load_board(path)
    assert caught.value.message.startswith(str(path))


def test_a_missing_file_and_an_unknown_core(tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match=r"absent\.toml: cannot be read"):
        load_board(tmp_path / "absent.toml")
    with pytest.raises(WorldwiseError, match="core 'cortex-m9'") as caught:
        load_core("cortex-m9")
    assert "cortex-m0" in caught.value.hint


def test_boards_of_the_repository() -> None:
    known = boards()
    assert {"nucleo-f446re", "nucleo-f103rb"} <= known.keys()
    for name, board in known.items():
        core = load_core(board.core)
        assert f"-mcpu={board.core}" in core.flags, name
        assert "-mthumb" in core.flags
        assert board.emulated.leaves_out, f"{name} does not say what its emulation leaves out"
        assert (paths.BOARDS / f"{name}.toml").read_text().startswith("# SPDX-License-Identifier: BSD-2-Clause\n")
    assert (known["nucleo-f446re"].clock_mhz, known["nucleo-f103rb"].clock_mhz) == (180, 72)
    assert known["nucleo-f103rb"].flash_wait_states == 2


def test_every_core_of_the_repository_loads() -> None:
    names = {path.stem for path in paths.CORES.glob("*.toml")}
    assert {f"cortex-m{number}" for number in (0, 3, 4, 7, 33)} <= names
    for name in names:
        core = load_core(name)
        assert core.title.replace(" ", "-").replace("+", "plus").lower() == name
        assert f"-mcpu={name}" in core.flags


def test_an_unknown_architecture_of_the_m_profile_is_refused() -> None:
    """If this fails, a core whose features nobody knows gets a library that it cannot execute."""
    core = {"title": "Cortex-M9", "flags": ["-mcpu=cortex-m9"]}
    with pytest.raises(ValueError, match=r"'Armv9-M' is not known. Allowed of the M profile: Armv6-M, Armv7-M, "):
        Core.model_validate(core | {"architecture": "Armv9-M"})
    assert "dsp" not in (features_of("Armv8-M Mainline", ["-mcpu=cortex-m33+nodsp"]) or ())
    assert load_core("cortex-a72").features is None
    words = Path(paths.REPOSITORY / "docs/add/add-board.md").read_text(encoding="utf-8")
    assert not [name for name in (*ARCHITECTURES, *FEATURES) if f"`{name}`" not in words]
    assert set(FEATURES) == set(get_args(Feature))


# What the published benchmark of elliptic curves names besides the two boards that it has figures of.
BENCHMARK = ("nucleo-l073rz", "nucleo-f401re", "nucleo-f411re", "nucleo-l476rg", "lora-e5-dev", "nucleo-l152re")


@pytest.mark.parametrize("name", BENCHMARK)
def test_a_board_is_one_file(name: str) -> None:
    """If this fails, a board needs more than its file: nothing of the tool may name it."""
    board = boards()[name]
    assert not [path for path in (paths.REPOSITORY / "src").rglob("*.py") if name in path.read_text(encoding="utf-8")]
    # Each waits at its clock, behind a flash that its file describes, so that its cycles can be predicted.
    assert board.flash_wait_states and board.memory and board.fittable
    assert f"memory wait {board.flash_wait_states}\n" in table_of(board.core, name)
    plan = on_board(name, board, load_core(board.core), INSTRUCTIONS, serial=False, heap=None)
    assert (plan["board"], plan["flash"], plan["ram"]) == (name, board.flash, board.ram)


def test_a_chip_without_a_part_of_its_core_has_flags_of_its_own() -> None:
    """If this fails, programs for a chip without a floating-point unit use it, and stop there."""

    def flags(name: str) -> list[str]:
        board = boards()[name]
        found: list[str] = on_board(name, board, load_core(board.core), INSTRUCTIONS, serial=False, heap=None)["flags"]
        return found

    assert flags("nucleo-l476rg") == list(load_core("cortex-m4").flags)
    assert "-mfloat-abi=hard" in flags("nucleo-l476rg")
    assert flags("lora-e5-dev") == ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft"]
