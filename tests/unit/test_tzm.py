# SPDX-License-Identifier: BSD-2-Clause
"""TrustZone-M: cases, machines and tables, from figures that nothing measured."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from readings import reading, row
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.families.pqc.libraries import libraries
from worldwise.families.pqc.spec import too_large
from worldwise.families.tzm.tables import TABLES, tzm_answer, tzm_sections
from worldwise.libraries.boards import boards, load_board
from worldwise.plan.case import parse_case
from worldwise.plan.parameters import ACCESSES, WAYS
from worldwise.plan.suite import load_suite
from worldwise.read.models import Row
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.trustzone import TrustZoneTarget

SECURE = ("tz-m33", "tz-m55")


def figure(case: str, median: float) -> Row:
    return row(case, "hash", "mcu", median, board=case.partition("/")[0], unit="instructions")


def test_the_program_has_every_way_of_the_suite_by_its_name() -> None:
    text = (paths.GUEST / "tzm" / "gateway.c").read_text()
    there = [name.replace("_", "-") for name in re.findall(r"struct way way_(\w+)\s", text)]
    assert there == [*WAYS, *ACCESSES]
    cases = load_suite("tz-m").cases
    for board in SECURE:
        given = [dict(case.parameters) for case in cases if case.target == board]
        assert {each["way"] for each in given if "way" in each} == set(WAYS)
        assert {each["access"] for each in given if "access" in each} == set(ACCESSES)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mps2-an386/gateway-O2/gateway,way=empty", "a board with one program has no second security state"),
        ("tz-m33/bearssl-O2/gateway,way=empty", "bearssl is a library: it is 'gateway' that measures this"),
        ("tz-m33/gateway-O2/sign,curve=secp256r1,size=32B", "gateway has no secp256r1"),
        ("tz-m33/gateway-O2/gateway", "'gateway' needs a way between the states, such as way=empty"),
        ("tz-m33/gateway-O2/gateway,way=callback-lazy,float=soft", "float=soft uses none"),
        ("tz-m33/gateway-O2/refused,access=some", "'some' is not known"),
    ],
)
def test_cases_that_there_are_not(text: str, says: str) -> None:
    with pytest.raises(WorldwiseError, match=re.escape(says)):
        parse_case(text)


def test_the_machine_has_two_programs() -> None:
    target = EMULATED["tz-m33"]
    assert isinstance(target, TrustZoneTarget)
    assert not isinstance(EMULATED["mps2-an505"], TrustZoneTarget)
    arguments = " ".join(target.qemu_arguments())
    assert "-M mps2-an505 " in arguments
    assert arguments.endswith("-kernel /machine/secure.elf -device loader,file=/machine/program.elf")
    for text, programs in (
        ("gateway-O2/gateway,way=empty", ("empty-hard.elf", "secure-hard.elf")),
        ("gateway-O2/gateway,way=irq-s-in-s,float=soft", ("irq-s-in-s-soft.elf", "secure-soft.elf")),
        ("gateway-O2/refused,access=read", ("read-hard.elf", "secure-hard.elf")),
        ("bearssl-O2/sign,curve=secp256r1,size=32B", ("secp256r1.elf", "secp256r1-secure.elf")),
        ("bearssl-O2/sha256,size=32B", ("none.elf", "none-secure.elf")),
        ("wolfssl-pqc-O2/encaps,scheme=ml-kem-768", ("ml-kem-768.elf", "ml-kem-768-secure.elf")),
    ):
        named = target.program_files(parse_case(f"tz-m33/{text}"))
        assert tuple(named) == ("program", "secure")
        assert tuple(named.values()) == programs


def test_the_two_programs_of_a_board_share_no_memory() -> None:
    """If this fails, a linker script gives one state's memory to the other."""
    for name in SECURE:
        board = boards()[name]
        assert board.secure
        areas = []
        for script, flash, ram in (
            (board.script, board.flash, board.ram),
            (board.secure.script, board.secure.flash, board.secure.ram),
        ):
            text = (paths.BOARDS / script).read_text()
            for region, size in (("FLASH", flash), ("RAM", ram), ("VENEERS", 2**16)):
                for origin in re.findall(rf"{region} \(\w+\)\s*: ORIGIN = (0x[0-9A-F]+)", text):
                    # The alias that a state uses differs in one bit.
                    areas.append((int(origin, 16) & ~0x10000000, size))
        assert len(areas) == 5
        areas.sort()
        assert all(start + size <= after for (start, size), (after, _) in pairwise(areas))


def test_a_scheme_must_fit_the_secure_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a library is refused, or not, for the memory of a program that it is not in."""
    library = libraries()["wolfssl-pqc"]
    board = boards()["tz-m55"]
    assert board.secure
    assert not too_large(library, "ml-dsa-87", "sign", "tz-m55")
    small = board.model_copy(update={"secure": board.secure.model_copy(update={"ram": 65_536})})
    monkeypatch.setattr("worldwise.libraries.boards.boards", lambda: {"tz-m55": small})
    assert "and there are 65,536" in too_large(library, "ml-dsa-87", "sign", "tz-m55")


def test_a_board_names_a_script_for_its_secure_program(tmp_path: Path) -> None:
    for script in ("an505-nonsecure.ld", "sections.ld"):
        (tmp_path / script).write_text("")
    text = (paths.BOARDS / "tz-m33.toml").read_text()
    (tmp_path / "some.toml").write_text(text)
    with pytest.raises(WorldwiseError, match=r"some\.toml: secure\.script: there is no .*an505-secure\.ld"):
        load_board(tmp_path / "some.toml")
    (tmp_path / "some.toml").write_text(text.replace('ram = "1MiB"\nscript', 'ram = "1"\nscript'))
    with pytest.raises(WorldwiseError, match="must be a size such as"):
        load_board(tmp_path / "some.toml")


def test_tables() -> None:
    rows = [
        figure("tz-m33/gateway-O2/gateway,way=empty", 36),
        figure("tz-m33/gateway-Os/gateway,way=plain", 8),
        figure("tz-m33/gateway-O2/gateway,way=empty,float=soft", 12),
        figure("tz-m55/gateway-O2/gateway,way=empty", 20),
        figure("tz-m55/gateway-O2/gateway,way=plain", 3),
        figure("tz-m33/gateway-O2/refused,access=veneer", 60),
        figure("tz-m33/bearssl-O2/sha256,size=32B", 2100),
        figure("mps2-an505/bearssl-O2/sha256,size=32B", 2000),
        figure("tz-m55/bearssl-O2/sha256,size=32B", 2050),
        figure("tz-m33/wolfssl-pqc-O2/encaps,scheme=ml-kem-768", 5000),
        figure("mps2-an505/wolfssl-pqc-O2/encaps,scheme=ml-kem-512", 3000),
        figure("mps2-an505/wolfssl-pqc-O2/encaps,scheme=ml-kem-768", 4000),
    ]
    ways, refused, behind = tzm_sections(reading(rows))
    assert ways.table
    assert ways.table.headers[3:] == ["tz-m33, hard\ninstr", "tz-m33, soft\ninstr", "tz-m55, hard\ninstr"]
    assert [line[0] for line in ways.table.rows] == ["plain", "plain", "empty"]
    assert [line[3:] for line in ways.table.rows] == [
        ["-", "-", "3"],
        ["8", "-", "-"],
        ["36", "12", "20"],
    ]
    assert refused.table
    assert refused.table.rows == [
        [
            "veneer",
            "a jump into a gate, behind its first instruction",
            "the core: secure fault, invalid entry",
            "-O2",
            "60",
        ]
    ]
    # There is no direct call on the M55's machine to compare with.
    assert behind.table
    assert behind.table.rows == [
        ["tz-m33", "sha256 32B", "-", "bearssl-O2", "2,000", "2,100", "100", "1.05"],
        ["tz-m33", "encaps", "ml-kem-768", "wolfssl-pqc-O2", "4,000", "5,000", "1,000", "1.25"],
    ]
    (answer,) = tzm_answer(reading(rows))
    assert answer.table
    assert [header.partition("\n")[0] for header in answer.table.headers[3:]] == ["tz-m33", "tz-m55"]
    assert [(line[0], line[2]) for line in answer.table.rows] == [
        ("empty", "hard"),
        ("plain", "hard"),
        ("empty", "soft"),
    ]


def test_a_run_without_it_has_no_tables() -> None:
    other = reading([figure("mps2-an505/bearssl-O2/sha256,size=32B", 2000)])
    assert tzm_sections(other) == []
    assert TABLES.answers(other) == []
