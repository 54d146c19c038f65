# SPDX-License-Identifier: BSD-2-Clause
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import boards
from worldwise.base import paths
from worldwise.base.choices import close_names
from worldwise.base.errors import WorldwiseError
from worldwise.base.family_stages import declared
from worldwise.base.toml.key_lines import TomlLines
from worldwise.base.units import parse_duration, parse_frequency, parse_size, size_text
from worldwise.libraries import boards as board
from worldwise.libraries.boards import core_name
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.plan.budget import check_budget, parse_budget
from worldwise.plan.case import Case, parse_case
from worldwise.plan.catalogue import SPECS, TARGETS, kind_of, parameters_of_operation, target_names
from worldwise.plan.selection import select, select_unavailable
from worldwise.plan.suite import load_suite, parse_suite
from worldwise.read.published import load_figures
from worldwise.run.campaign import Campaign

KEYCACHE = [operation.name for operation in SPECS["keycache"].operations]

GOOD = """\
# a comment = with an equals sign
format = 1
name = "good"
title = "A # that is no comment"
samples = 10
warmup = 2

[[cases]]
targets = ["optee", "linux"]
operations = [
  "keygen",      # one
  "attestdiv",
]
implementations = ["mbedtls-nist"]
optimisations = ["O2"]

[[cases]]
targets = ["optee"]
operations = ["empty-invoke"]
implementations = ["mbedtls-nist"]
optimisations = ["O2"]
samples = 5
warmup = 0

[budget]
limit = "5 ms"
clock = "2 GHz"

[published]
source = "optee-p256-a72"
"""


def refused(old: str, new: str) -> WorldwiseError:
    assert GOOD.count(old) >= 1
    with pytest.raises(WorldwiseError) as caught:
        parse_suite(GOOD.replace(old, new, 1), "good.toml")
    return caught.value


def test_cross_product_in_order() -> None:
    suite = parse_suite(GOOD, "good.toml")
    assert [case.id for case in suite.cases] == [
        "optee/mbedtls-nist-O2/keygen",
        "optee/mbedtls-nist-O2/attestdiv",
        "linux/mbedtls-nist-O2/keygen",
        "linux/mbedtls-nist-O2/attestdiv",
        "optee/mbedtls-nist-O2/empty-invoke",
    ]
    assert suite.cases[0] == Case("optee", "mbedtls-nist", "O2", "keygen", 10, 2)
    assert (suite.cases[-1].samples, suite.cases[-1].warmup, suite.cases[-1].calls) == (5, 0, 6)
    assert suite.budget is not None
    assert suite.budget.instructions == 10_000_000
    assert (suite.published, suite.text) == ("optee-p256-a72", GOOD)


@pytest.mark.parametrize(
    ("old", "new", "where", "says", "hint"),
    [
        ("samples = 10", "sample = 10", "good.toml:5: sample:", "Allowed: format, name, title", "'samples'"),
        ("warmup = 2\n", "", "good.toml:1:", "'warmup' is missing", ""),
        ("format = 1", "format = 2", "good.toml:2: format:", "Allowed: 1", ""),
        ("format = 1", "format = true", "good.toml:2: format:", "Allowed: 1", ""),
        ('"good"', '"Good Name"', "good.toml:3: name:", "Allowed: a-z", ""),
        ("samples = 10", "samples = 0", "good.toml:5: samples:", "from 1 to", ""),
        ("samples = 10", 'samples = "10"', "good.toml:5: samples:", "is a string", ""),
        ("samples = 10", "samples = true", "good.toml:5: samples:", "is true or false", ""),
        ("samples = 10", "samples = 1e2", "good.toml:5: samples:", "is a number", ""),
        ("warmup = 2", "warmup = -1", "good.toml:6: warmup:", "from 0 to", ""),
        ('"attestdiv"', '"atestdiv"', "good.toml:12: cases[1].operations:", "Allowed: keygen", "'attestdiv'"),
        (
            '"attestdiv"',
            '"ta-load"',
            "good.toml:12: cases[1].operations:",
            "not exist on target 'linux'",
            "block",
        ),
        ('"attestdiv"', '"keygen"', "good.toml:12: cases[1].operations:", "appears twice", ""),
        ('"linux"', '"Linux"', "good.toml:9: cases[1].targets:", "Allowed: optee, linux", "'linux'"),
        ('["optee"]', '"optee"', "good.toml:18: cases[2].targets:", "must be a list", ""),
        ('["optee"]', "[]", "good.toml:18: cases[2].targets:", "is empty", ""),
        ('["optee"]', "[1]", "good.toml:18: cases[2].targets:", "must be a string", ""),
        ("samples = 5", "samples = -5", "good.toml:22: cases[2].samples:", "out of range", ""),
        ('["O2"]', '["o2"]', "good.toml:15: cases[1].optimisations:", "Allowed: Os, O2", "'O2'"),
        ('["empty-invoke"]', '["keygen"]', "good.toml:17: cases[2]:", "block on line 8", ""),
        ('"5 ms"', '"5 m"', "good.toml:26: budget.limit:", "Allowed: s, ms, us, ns", "'ms'"),
        ('"5 ms"', "5", "good.toml:26: budget.limit:", "must be a string", ""),
        ('"2 GHz"', '"fast"', "good.toml:27: budget.clock:", "not a clock", ""),
        ('"2 GHz"', '"2 GHz"\nplace = "tee"', "good.toml:28: budget.place:", "Allowed: api, ta, invoke, client", ""),
        ('"2 GHz"', '"2 GHz"\nmeasures = ["load"]', "good.toml:25: budget:", "judges nothing", ""),
        (
            '"optee-p256-a72"',
            '"optee-p256"',
            "good.toml:30: published.source:",
            "Allowed:",
            "'optee-p256-a72'",
        ),
        ("[published]", "[publish]", "good.toml:29: publish:", "no such key", "'published'"),
        ('title = "A', 'title = A "', "good.toml:4:", "not valid TOML", ""),
        ('name = "good"', 'name = "good"\nname = "twice"', "good.toml:", "not valid TOML", ""),
    ],
)
def test_refusals_name_line_key_and_way_out(old: str, new: str, where: str, says: str, hint: str) -> None:
    error = refused(old, new)
    assert error.message.startswith(where)
    assert says in error.message
    assert hint in error.hint


def test_cases_may_not_be_empty_or_a_table() -> None:
    head = GOOD[: GOOD.index("[[cases]]")]
    for cases in ("cases = []\n", "[cases]\n", "cases = 3\n"):
        with pytest.raises(WorldwiseError, match=r"bad\.toml:8: cases:"):
            parse_suite(head + cases, "bad.toml")


def test_lines_are_found_in_odd_but_valid_toml() -> None:
    text = (
        'a."b c".d = """\n[not.a.table]\nx = 1 """\n'  # 1-3
        "[[t.u]]\n"  # 4
        "k = [[1, 2], # ]\n  [3]]\n"  # 5-6
        "[t.u.sub]\n"  # 7
        "z = { p = 'a}', q = [\n{ r = 1 } ] }\n"  # 8-9
        "[[t.u]]\n"  # 10
        "m = '''it''s''''\n"  # 11: ends in a quote of its own
        "when = 2026-01-02 03:04:05\n"  # 12
        '"quo\\"ted" = 1 # end'  # 13
    )
    lines = TomlLines(text)
    expected: dict[tuple[str | int, ...], int] = {
        ("a", "b c", "d"): 1,
        ("t", "u", 0): 4,
        ("t", "u", 0, "k", 0, 1): 5,
        ("t", "u", 0, "k", 1, 0): 6,
        ("t", "u", 0, "sub", "z", "p"): 8,
        ("t", "u", 0, "sub", "z", "q", 0, "r"): 9,
        ("t", "u", 1): 10,
        ("t", "u", 1, "m"): 11,
        ("t", "u", 1, "when"): 12,
        ("t", "u", 1, 'quo"ted'): 13,
        ("t", "u", 1, "absent"): 10,
        ("absent",): 1,
    }
    assert {path: lines.line(path) for path in expected} == expected


def test_suites_of_the_repository() -> None:
    names = {path.stem for path in paths.SUITES.glob("*.toml")}
    assert {"attestation", "quick"} <= names
    for name in names:
        assert load_suite(name).name == name
    attestation = load_suite("attestation")
    assert len(attestation.cases) == 57
    assert {case.samples for case in attestation.cases} == {20, 100}
    assert {case.variant for case in load_suite("quick").cases} == {"mbedtls-nist-O2"}


def test_the_suite_of_boards_fills_the_published_table() -> None:
    mcu = load_suite("mcu")
    ids = {case.id for case in mcu.cases}
    for figure in load_figures("riot-ecc-mcu"):
        target = {"cortex-m4": "nucleo-f446re", "cortex-m3": "nucleo-f103rb"}[figure.core]
        size = size_text(figure.message_bytes or 0)
        for level in ("Os", "O2"):
            curves = [("wolfssl-small", "ed25519"), *(("micro-ecc", f"secp{n}") for n in ("160r1", "256r1", "256k1"))]
            for implementation, curve in curves:
                assert f"{target}/{implementation}-{level}/{figure.operation},curve={curve},size={size}" in ids
    assert mcu.published == "riot-ecc-mcu"
    # What no library for boards has is said for each operation of both boards, and measured in Linux.
    lacking = {
        (one.target, one.operation) for one in mcu.unavailable if one.reason == "only openssl has secp112r1, in Linux"
    }
    assert lacking == {
        (target, operation)
        for target in ("nucleo-f446re", "nucleo-f103rb")
        for operation in ("keygen", "sign", "verify", "ecdh")
    }
    of_linux = {(one.target, one.operation, one.curve) for one in load_suite("boards").cases if not one.board}
    assert of_linux == {
        (target, operation, "secp112r1")
        for target in ("linux-armv7", "linux-armv8")
        for operation in ("sign", "verify")
    }


def test_the_suite_of_cores_has_every_core() -> None:
    cores = {board.boards()[case.board].core for case in load_suite("cores").cases}
    # A core without a board is only predicted: no machine of the emulator has it.
    others = {board.boards()[case.board].core for case in load_suite("boards").cases if case.board}
    assert cores | others == {board.core for board in board.boards().values()}
    assert cores < {path.stem for path in paths.CORES.glob("*.toml")}


def test_names_and_paths(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    assert load_suite("good", tmp_path) == load_suite(tmp_path / "good.toml")
    assert load_suite(str(tmp_path / "good.toml")).name == "good"
    with pytest.raises(WorldwiseError, match=r"suite 'god'.*Allowed: good\.") as caught:
        load_suite("god", tmp_path)
    assert "'good'" in caught.value.hint
    with pytest.raises(WorldwiseError, match="no such file"):
        load_suite("./absent.toml", tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(WorldwiseError, match="UTF-8"):
        load_suite("latin", tmp_path)
    with pytest.raises(WorldwiseError, match="cannot be read"):
        load_suite(tmp_path)


def test_select(all_cases: tuple[Case, ...]) -> None:
    assert select(all_cases) == list(all_cases)
    chosen = select(all_cases, ["mbedtls-nist-*"], ["keygen"], ["linux"])
    assert [case.id for case in chosen] == ["linux/mbedtls-nist-Os/keygen", "linux/mbedtls-nist-O2/keygen"]
    with pytest.raises(WorldwiseError, match=r"variant 'mbedtls-O3'.*Allowed: libtomcrypt-Os, ") as caught:
        select(all_cases, ["mbedtls-Os", "mbedtls-O3"])
    assert "did you mean 'mbedtls-O" in caught.value.hint
    with pytest.raises(WorldwiseError, match="operation 'sign'"):
        select(all_cases, operations=["sign"])
    with pytest.raises(WorldwiseError, match="target 'tee'"):
        select(all_cases, targets=["tee"])
    with pytest.raises(WorldwiseError, match="operation ta-load, target linux at once"):
        select(all_cases, operations=["ta-load"], targets=["linux"])


def test_quantities() -> None:
    assert parse_duration("5ms") == parse_duration(" 5 ms ") == Fraction(1, 200)
    assert parse_duration("800us") == parse_duration("0.8 ms") == parse_duration("800 \u00b5s")
    assert parse_frequency("2GHz") == parse_frequency("2000 mhz") == 2_000_000_000
    assert parse_frequency("180MHz") == 180_000_000
    for bad in ("", "5", "ms", "-5ms", "5 MS", "0 ms", "1e3ms", "5ms5"):
        with pytest.raises(WorldwiseError):
            parse_duration(bad)
    for bad in ("2", "2 G", "0 GHz", "2,5GHz"):
        with pytest.raises(WorldwiseError):
            parse_frequency(bad)


@pytest.mark.parametrize("text", ["5 m", "5ms", "five", "5 m@2GHz", "2GHz"])
def test_the_way_out_of_a_wrong_budget_is_one(text: str) -> None:
    """If this fails, what a message proposes is refused in its turn."""
    with pytest.raises(WorldwiseError) as caught:
        parse_budget(text)
    proposed = re.findall(r"'([^']*@[^']*)'", caught.value.hint)
    assert proposed
    for each in proposed:
        parse_budget(each)
    assert ("did you mean 'ms'?" in caught.value.hint) == ("5 m" in text)


def test_names_that_are_close() -> None:
    """If this fails, nobody learns that a72 and Cortex-A72 are meant."""
    known = ["cortex-a7", "cortex-a72", "cortex-m4", "neoverse-n1", "mbedtls-nist-O2"]
    for typed, meant in (
        *(("a72", "cortex-a72"), ("Cortex-A72", "cortex-a72"), ("M4", "cortex-m4"), ("N1", "neoverse-n1")),
        *(("a73", "cortex-a7"), ("cortexa72", "cortex-a72"), ("nist-o2", "mbedtls-nist-O2")),
    ):
        assert close_names(typed, known)[0] == meant, typed
    assert close_names("", known) == [] and close_names("zz", known) == []
    for typed in ("A72", "cortex-A72", " a72 ", "CORTEX-a72"):
        assert core_name(typed) == "cortex-a72"
    assert [core_name(typed) for typed in ("M4", "n1", "m0plus", "x9")] == [
        *("cortex-m4", "neoverse-n1", "cortex-m0plus", "x9"),
    ]


def test_budget(all_cases: tuple[Case, ...]) -> None:
    budget = parse_budget("5ms@2GHz")
    assert (budget.instructions, budget.limit_text, budget.clock_text) == (10_000_000, "5 ms", "2 GHz")
    assert (budget.measures, budget.place) == (("sign",), "client")
    # Exact arithmetic: 0.1 us at 30 MHz is 3 instructions, not 2.
    assert parse_budget("0.1us@30MHz").instructions == 3
    for bad in ("5ms", "@2GHz", "5ms@", "5ms@2ms"):
        with pytest.raises(WorldwiseError, match="budget '"):
            parse_budget(bad)
    with pytest.raises(WorldwiseError, match="Allowed: keygen, sign"):
        parse_budget("5ms@2GHz", measures=["signs"])
    with pytest.raises(WorldwiseError, match="Allowed: api, ta, invoke, client, linux"):
        parse_budget("5ms@2GHz", place="tee")
    check_budget(budget, all_cases)
    with pytest.raises(WorldwiseError, match="judges nothing"):
        check_budget(budget, select(all_cases, operations=["keygen"]))


# --- parameters ---

HASHING = """\
format = 1
name = "hashing"
title = "t"
samples = 3
warmup = 1

[[cases]]
targets = ["optee"]
operations = ["sha256"]
implementations = ["mbedtls"]
optimisations = ["O2"]
sizes = ["0", "1024KiB"]
chunks = ["64KiB"]
loads = ["none", "busy"]

[[cases]]
targets = ["linux"]
operations = ["sha256"]
implementations = ["mbedtls"]
optimisations = ["O2"]
sizes = ["4MiB"]
faults = ["fresh"]
"""


def test_parameters_are_a_cross_product_in_a_fixed_order() -> None:
    suite = parse_suite(HASHING, "hashing.toml")
    assert [case.id for case in suite.cases] == [
        "optee/mbedtls-O2/sha256,size=0B,chunk=64KiB",
        "optee/mbedtls-O2/sha256,size=0B,chunk=64KiB,load=busy",
        "optee/mbedtls-O2/sha256,size=1MiB,chunk=64KiB",
        "optee/mbedtls-O2/sha256,size=1MiB,chunk=64KiB,load=busy",
        "linux/mbedtls-O2/sha256,size=4MiB,fault=fresh",
    ]
    case = suite.cases[3]
    assert case.arguments == ("size=1048576", "chunk=65536", "load=busy")
    assert (case.size, case.chunk, case.spans) == (1048576, 65536, 16)
    assert [case.spans for case in suite.cases] == [1, 1, 16, 16, 1]
    plain = Case("optee", "mbedtls", "O2", "keygen", 1, 0)
    assert (plain.id, plain.arguments, plain.size, plain.spans) == ("optee/mbedtls-O2/keygen", (), None, 1)
    assert [case.operation for case in select(suite.cases, operations=["sha256"], targets=["linux"])] == ["sha256"]


@pytest.mark.parametrize(
    ("old", "new", "where", "says"),
    [
        ("sizes =", "size =", ":12: cases[1].size:", "no such key"),
        ('"1024KiB"', '"1024"', ":12: cases[1].sizes:", "'1024' is not a size such as"),
        ('"1024KiB"', '"1 GiB"', ":12: cases[1].sizes:", "is not a size"),
        ('"1024KiB"', '"-1KiB"', ":12: cases[1].sizes:", "is not a size"),
        ('"1024KiB"', "1024", ":12: cases[1].sizes:", "must be a string"),
        ('"1024KiB"', '"0B"', ":12: cases[1].sizes:", "appears twice"),
        ('"1024KiB"', '"65MiB"', ":12: cases[1].sizes:", "65MiB is too much. Allowed: up to 64MiB"),
        ('["0", "1024KiB"]', "[]", ":12: cases[1].sizes:", "must be a list of sizes"),
        ('["0", "1024KiB"]', '"0"', ":12: cases[1].sizes:", "must be a list of sizes"),
        ('"64KiB"', '"13MiB"', ":12: cases[1].sizes:", "chunk 13MiB is out of range. Allowed: 1KiB to 12MiB"),
        ('"64KiB"', '"0"', ":12: cases[1].sizes:", "chunk 0B is out of range"),
        ('chunks = ["64KiB"]', 'sizes = ["1MiB"]', ":13:", "not valid TOML"),
        ('"busy"', '"heavy"', ":14: cases[1].loads:", "Allowed: none, busy"),
        ('sizes = ["4MiB"]\n', "", ":16: cases[2]:", "'sha256' needs a size"),
        ('"4MiB"', '"0"', ":21: cases[2].sizes:", "no page that could be fresh"),
        ('targets = ["linux"]', 'targets = ["optee"]', ":22: cases[2].faults:", "on target 'optee' has no fault"),
        ('chunks = ["64KiB"]', 'faults = ["none"]', ":13: cases[1].faults:", "on target 'optee' has no fault"),
    ],
)
def test_wrong_parameters_are_refused_with_their_line(old: str, new: str, where: str, says: str) -> None:
    assert old in HASHING
    with pytest.raises(WorldwiseError) as caught:
        parse_suite(HASHING.replace(old, new, 1), "hashing.toml")
    assert caught.value.message.startswith(f"hashing.toml{where}"), caught.value.message
    assert says in caught.value.message


def test_one_call_brings_no_more_than_it_can() -> None:
    whole = HASHING.replace('chunks = ["64KiB"]\n', "")
    parse_suite(whole.replace("1024KiB", "12MiB"), "f")
    with pytest.raises(WorldwiseError, match=r"f:12: .*13MiB is more than one call to a TA can bring, 12MiB: .*chunk"):
        parse_suite(whole.replace("1024KiB", "13MiB"), "f")


def test_parameters_of_another_operation_are_refused() -> None:
    with pytest.raises(
        WorldwiseError, match=r"good\.toml:10: cases\[1\]\.sizes: 'keygen' on target 'optee' has no size"
    ):
        parse_suite(GOOD.replace("operations = [\n", 'sizes = ["1KiB"]\noperations = [\n', 1), "good.toml")


def test_sizes() -> None:
    for text, size in (("0", 0), ("0B", 0), ("100B", 100), ("1KiB", 1024), ("64MiB", 2**26), (" 1MiB ", 2**20)):
        assert parse_size(text) == size
    for size, text in (
        (0, "0B"),
        (1, "1B"),
        (1536, "1536B"),
        (65536, "64KiB"),
        (2**20, "1MiB"),
        (2**20 + 1, "1048577B"),
    ):
        assert size_text(size) == text
        assert parse_size(text) == size
    for bad in ("", "1", "1kB", "1.5KiB", "KiB", "-1B", "1 MiB x"):
        with pytest.raises(WorldwiseError, match="is not a size"):
            parse_size(bad)


def test_a_case_from_its_id(all_cases: tuple[Case, ...]) -> None:
    for case in (*all_cases, *parse_suite(HASHING, "f").cases):
        assert parse_case(case.id, case.samples, case.warmup) == case
    case = parse_case("optee/mbedtls-O2/sha256,chunk=65536B,size=1024KiB,load=none")
    assert case.id == "optee/mbedtls-O2/sha256,size=1MiB,chunk=64KiB"
    assert (case.samples, case.warmup) == (1, 0)


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("sign", "a case is TARGET/VARIANT/OPERATION", "such as optee/"),
        ("optee/mbedtls-O2", "a case is TARGET/VARIANT/OPERATION", "such as optee/"),
        ("opte/mbedtls-O2/keygen", "target 'opte' is not known", "'optee'"),
        ("optee/mbedtls-nits-O2/keygen", "variant 'mbedtls-nits-O2'", "'mbedtls-nist-O2'"),
        ("optee/mbedtls/keygen", "variant 'mbedtls'", ""),
        ("optee/mbedtls-O2/keygn", "operation 'keygn' is not one of target 'optee'", "'keygen'"),
        ("linux/mbedtls-O2/ta-load", "operation 'ta-load' is not one of target 'linux'", ""),
        ("optee/mbedtls-O2/keygen,size=1MiB", "parameter 'size' is not known. Allowed: load", ""),
        ("optee/mbedtls-O2/sha256,siz=1MiB", "parameter 'siz'", "'size'"),
        ("optee/mbedtls-O2/sha256", "'sha256' needs a size", ""),
        ("optee/mbedtls-O2/sha256,size", "must be there once, as size=VALUE", ""),
        ("optee/mbedtls-O2/sha256,size=1MiB,size=2MiB", "must be there once", ""),
        ("optee/mbedtls-O2/sha256,size=1", "size: '1' is not a size", ""),
        ("optee/mbedtls-O2/sha256,size=20MiB", "more than one call to a TA can bring", ""),
        ("optee/mbedtls-O2/keygen,load=bussy", "load 'bussy' is not known. Allowed: none, busy", "'busy'"),
    ],
)
def test_wrong_ids_say_what_was_meant(text: str, says: str, hint: str) -> None:
    with pytest.raises(WorldwiseError) as caught:
        parse_case(text)
    assert caught.value.message.startswith(f"case '{text}': ")
    assert says in caught.value.message
    assert hint in caught.value.hint


# --- load ---

STORED = """\
format = 1
name = "load"
title = "t"
samples = 1
warmup = 0

[[cases]]
targets = ["optee"]
operations = ["OPERATION"]
implementations = ["mbedtls"]
optimisations = ["O2"]
storages = ["ree"]
loads = ["busy"]
"""


CAMPAIGNS = tuple(name for campaign in declared("campaign", Campaign).values() for name in campaign.tries)


@pytest.mark.parametrize("operation", sorted({*CAMPAIGNS, *KEYCACHE}))
def test_a_load_is_refused_where_no_program_applies_it(operation: str) -> None:
    """If this fails, a run says load=busy of what was measured without it, or whose guest died of it."""
    with pytest.raises(WorldwiseError) as caught:
        parse_suite(STORED.replace("OPERATION", operation), "load.toml")
    assert caught.value.message == f"load.toml:13: cases[1].loads: '{operation}' on target 'optee' has no load."
    allowed = caught.value.hint.removeprefix("allowed there: ").split(", ")
    assert "ticks" in allowed and ("storages" in allowed) == ("storage" in _keys("optee", operation))
    assert "loads" not in allowed
    with pytest.raises(WorldwiseError, match="parameter 'load' is not known"):
        parse_case(f"optee/mbedtls-O2/{operation},load=busy")


def _keys(target: str, operation: str) -> set[str]:
    return {parameter.key for parameter in parameters_of_operation(target, operation)}


def test_a_load_is_accepted_where_the_program_applies_it() -> None:
    having = {operation for operation in TARGETS["optee"] if "load" in _keys("optee", operation)}
    assert having == {*TARGETS["optee"]} - {*CAMPAIGNS} - {*KEYCACHE}
    for target in ("linux", *PLAIN_TARGETS):
        assert all("load" in _keys(target, operation) for operation in TARGETS[target])
    case = parse_case("optee/mbedtls-O2/storage,load=busy,storage=ree,action=read,size=1KiB")
    assert "load=busy" in case.arguments


# --- boards ---


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    boards.use(monkeypatch)


@pytest.mark.usefixtures("known")
def test_boards_are_targets() -> None:
    assert target_names() == (
        "optee",
        "linux",
        "linux-armv7",
        "linux-armv8",
        "microbit",
        "nucleo-f103rb",
        "nucleo-f446re",
    )
    case = parse_case("nucleo-f446re/micro-ecc-Os/sign,size=32B,curve=secp160r1", 3, 1)
    assert case.id == "nucleo-f446re/micro-ecc-Os/sign,curve=secp160r1,size=32B"
    assert case.arguments == ("curve=secp160r1", "size=32")
    assert (case.board, case.curve, case.size, case.runs) == ("nucleo-f446re", "secp160r1", 32, None)
    assert case.measures == {"sign": ("mcu",)}
    dhrystone_case = parse_case("microbit/dhrystone-O2/dhrystone,runs=1000")
    assert (dhrystone_case.arguments, dhrystone_case.runs, dhrystone_case.size) == (("runs=1000",), 1000, None)
    plain = parse_case("linux/mbedtls-O2/sha256,size=1MiB")
    assert (plain.board, plain.curve) == ("", "")


@pytest.mark.usefixtures("known")
def test_a_board_suite_has_cases_and_says_what_cannot_be() -> None:
    suite = boards.board_suite()
    ids = [case.id for case in suite.cases]
    # keygen and ecdh have no size, sign and verify have both.
    assert [name for name in ids if name.startswith("nucleo-f446re/wolfssl-small-Os/")] == [
        "nucleo-f446re/wolfssl-small-Os/keygen,curve=ed25519",
        "nucleo-f446re/wolfssl-small-Os/keygen,curve=x25519",
        "nucleo-f446re/wolfssl-small-Os/sign,curve=ed25519,size=32B",
        "nucleo-f446re/wolfssl-small-Os/sign,curve=ed25519,size=1KiB",
        "nucleo-f446re/wolfssl-small-Os/verify,curve=ed25519,size=32B",
        "nucleo-f446re/wolfssl-small-Os/verify,curve=ed25519,size=1KiB",
        "nucleo-f446re/wolfssl-small-Os/ecdh,curve=x25519",
    ]
    assert [parse_case(case.id, case.samples, case.warmup) for case in suite.cases] == list(suite.cases)
    assert not [name for name in ids if "p256-cortex-m4" in name and name.startswith("nucleo-f103rb")]
    # Once for each, whatever the optimisation and the size.
    assert len(set(suite.unavailable)) == len(suite.unavailable)
    reasons = {(one.target, one.implementation, one.curve, one.operation): one.reason for one in suite.unavailable}
    assert len(reasons) == len(suite.unavailable)
    target = "nucleo-f103rb"
    assert reasons[target, "micro-ecc", "secp112r1", "sign"] == "no library here has secp112r1"
    assert reasons[target, "micro-ecc", "ed25519", "sign"] == "micro-ecc has no ed25519"
    # What nobody would look for is no gap.
    assert (target, "wolfssl-small", "x25519", "sign") not in reasons
    assert reasons[target, "p256-cortex-m4", "secp256r1", "sign"] == "p256-cortex-m4 is for Cortex-M4, M7 and M33"
    assert reasons["nucleo-f446re", "micro-ecc", "", "sha256"] == "micro-ecc has no sha256"
    asked = {(case.target, case.implementation, case.curve, case.operation) for case in suite.cases}
    assert not asked & reasons.keys()


@pytest.mark.usefixtures("known")
def test_select_by_curve() -> None:
    suite = boards.board_suite()
    chosen = select(suite.cases, ["micro-ecc-*"], ["sign"], ["nucleo-f103rb"], ["secp160r1", "secp2*"])
    assert {case.curve for case in chosen} == {"secp160r1", "secp256r1"}
    assert {case.operation for case in select(suite.cases, curves=["*"])} == {"keygen", "sign", "verify", "ecdh"}
    with pytest.raises(WorldwiseError, match=r"curve 'secp256r2' is not in any case.*Allowed: secp256r1") as caught:
        select(suite.cases, curves=["secp256r2"])
    assert "'secp256r1'" in caught.value.hint
    lacking = select_unavailable(suite.unavailable, ["micro-ecc-Os"], ["sign"], ["nucleo-f103rb"], ["secp1*"])
    assert [(one.curve, one.reason) for one in lacking] == [("secp112r1", "no library here has secp112r1")]
    assert select_unavailable(suite.unavailable) == list(suite.unavailable)
    assert select_unavailable(suite.unavailable, operations=["dhrystone"]) == []


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("old", "new", "where", "says", "hint"),
    [
        (
            '"nucleo-f446re", ',
            '"nucleo-f446", ',
            ":8: cases[1].targets:",
            "Allowed: optee, linux, linux-armv7, linux-armv8, micro",
            "f446re'",
        ),
        ('"bearssl", "micro-ecc", "p', '"mbedtls", "p', ":10: cases[1].implementations:", "Allowed: bearssl", ""),
        (
            '"nucleo-f103rb"]\noperations = ["k',
            '"linux"]\noperations = ["sha512", "k',
            ":9: cases[1].operations:",
            "'sha512'",
            "own",
        ),
        (
            '["nucleo-f446re"]\noperations = ["sha256", "sha512", "aes128", "aes256"]',
            '["nucleo-f446re", "linux"]\noperations = ["sha256"]',
            ":18: cases[2].implementations:",
            "'bearssl' does not exist on target 'linux'. Allowed there: libtomcrypt",
            "block of its own",
        ),
        ('curves = ["secp112r1", ', 'curves = ["secp112", ', ":12: cases[1].curves:", "Allowed: secp112r1", "112r1'"),
        ('"1KiB"', '"5KiB"', ":13: cases[1].sizes:", "5KiB is too much. Allowed: up to 1KiB", ""),
        ("runs = [1000]", "runs = [0]", ":27: cases[3].runs:", "from 1 to 100000", ""),
        ("runs = [1000]", "runs = [1000, 1000]", ":27: cases[3].runs:", "1000 appears twice", ""),
        ("runs = [1000]", 'runs = ["1000"]', ":27: cases[3].runs:", "must be a whole number", ""),
        ("runs = [1000]", "runs = 1000", ":27: cases[3].runs:", "must be a list of whole numbers", ""),
        ("runs = [1000]\n", "", ":22: cases[3]:", "'dhrystone' needs the number of runs, such as runs=1000", ""),
        (
            '["secp112r1", "secp160r1", "secp256r1", "ed25519", "x25519"]',
            '["secp112r1"]',
            ":7: cases[1]:",
            "gives no",
            "",
        ),
        ('"dhrystone"]\nop', '"bearssl"]\nop', ":22: cases[3]:", "gives no case: bearssl has no dhrystone.", ""),
        ("runs = [1000]", 'runs = [1000]\nloads = ["busy"]', ":28: cases[3].loads:", "has no load", ""),
        ("runs = [1000]", 'runs = [1000]\nsizes = ["1KiB"]', ":28: cases[3].sizes:", "has no size", ""),
        ('sizes = ["32B", "1KiB"]\n', "", ":7: cases[1]:", "'sign' needs a size, such as size=32B", ""),
    ],
)
def test_wrong_board_suites_are_refused_with_their_line(old: str, new: str, where: str, says: str, hint: str) -> None:
    assert old in boards.SUITE
    with pytest.raises(WorldwiseError) as caught:
        boards.board_suite(boards.SUITE.replace(old, new, 1))
    assert caught.value.message.startswith(f"boards.toml{where}"), caught.value.message
    assert says in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.usefixtures("known")
def test_a_curve_is_obligatory() -> None:
    curves = boards.SUITE.splitlines()[11]
    with pytest.raises(WorldwiseError, match=r":7: cases\[1\]: 'keygen' needs a curve, such as curve=secp256r1"):
        boards.board_suite(boards.SUITE.replace(curves, ""))


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        (
            "nucleo-f446/micro-ecc-Os/sign",
            "target 'nucleo-f446' is not known. Allowed: optee, linux, linux-armv7, linux-armv8, microbit",
            "f446re'",
        ),
        ("microbit/mbedtls-Os/sign", "variant 'mbedtls-Os' is not known. Allowed: bearssl-Os", ""),
        ("microbit/micro-ecc-Os/hash", "operation 'hash' is not one of target 'microbit'", ""),
        ("microbit/micro-ecc-Os/sign,size=32B", "'sign' needs a curve, such as curve=secp256r1", ""),
        ("microbit/micro-ecc-Os/sign,curve=secp256r1", "'sign' needs a size, such as size=32B", ""),
        ("microbit/micro-ecc-Os/keygen,curve=p257", "curve 'p257' is not known. Allowed: secp112r1", ""),
        ("microbit/micro-ecc-Os/keygen,curve=secp256r1,size=1B", "parameter 'size' is not known. Allowed: curve", ""),
        ("microbit/micro-ecc-Os/keygen,curve=ed25519", "micro-ecc has no ed25519.", ""),
        ("microbit/p256-cortex-m4-Os/keygen,curve=secp256r1", "p256-cortex-m4 is for Cortex-M4, M7 and M33.", ""),
        ("microbit/dhrystone-Os/dhrystone,runs=0", "runs: '0' is not a whole number from 1 to 100000", ""),
        ("microbit/dhrystone-Os/dhrystone,runs=1e3", "runs: '1e3' is not a whole number", ""),
        ("linux/mbedtls-Os/aes128", "operation 'aes128' is not one of target 'linux'", ""),
        ("linux/mbedtls-Os/keygen,curve=secp256r1", "parameter 'curve' is not known. Allowed: load", ""),
    ],
)
def test_wrong_ids_of_boards_say_what_was_meant(text: str, says: str, hint: str) -> None:
    with pytest.raises(WorldwiseError) as caught:
        parse_case(text)
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_a_suite_without_boards_reads_no_board(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise WorldwiseError("a board's file is wrong")

    monkeypatch.setattr("worldwise.libraries.boards.boards", broken)
    monkeypatch.setattr("worldwise.libraries.portable.portables", broken)
    assert parse_suite(GOOD, "good.toml").unavailable == ()
    assert parse_case("optee/mbedtls-O2/keygen").measures
    with pytest.raises(WorldwiseError, match="file is wrong"):
        parse_suite(GOOD.replace('"linux"', '"microbit"', 1), "good.toml")


def test_a_suite_can_include_another(tmp_path: Path) -> None:
    head = 'format = 1\nname = "x"\ntitle = "t"\nsamples = {}\nwarmup = 0\n{}[[cases]]\ntargets = ["optee"]\n'
    block = 'operations = ["{}"]\nimplementations = ["mbedtls"]\noptimisations = ["O2"]\n'
    (tmp_path / "inner.toml").write_text(head.format(7, "") + block.format("hello"), encoding="utf-8")
    outer = tmp_path / "outer.toml"
    outer.write_text(head.format(3, 'include = ["inner"]\n') + block.format("keygen"), encoding="utf-8")
    suite = load_suite("outer", tmp_path)
    assert [(case.operation, case.samples) for case in suite.cases] == [("keygen", 3), ("hello", 7)]

    for text, says in (
        (
            head.format(3, 'include = ["inner"]\n') + block.format("hello"),
            "outer.toml:6: include.*is already in this one",
        ),
        (head.format(3, 'include = ["outer"]\n') + block.format("hello"), "outer.toml:6: .*includes this one"),
        (head.format(3, 'include = ["none"]\n') + block.format("hello"), "suite 'none' is not in"),
        (head.format(3, 'include = "inner"\n') + block.format("hello"), "must be a list of names"),
    ):
        outer.write_text(text, encoding="utf-8")
        with pytest.raises(WorldwiseError, match=says):
            load_suite("outer", tmp_path)


@pytest.mark.parametrize("name", ["P-256", "p256", "prime256v1", "secp256r1"])
def test_a_case_may_name_a_curve_as_others_do(name: str) -> None:
    """If this fails, who writes P-256 is told that there is no such curve."""
    case = parse_case(f"linux-armv8/bearssl-O2/sign,curve={name},size=32B")
    assert case.id == "linux-armv8/bearssl-O2/sign,curve=secp256r1,size=32B"


# Before worldwise.plan.catalogue puts everything together, as a row in the source would be there.
_SECOND_MACHINE = """
from worldwise.plan import spec
spec.TEE_TARGETS = {**spec.TEE_TARGETS, "optee-second": spec.OPTEE}
from worldwise.plan.case import parse_case
from worldwise.plan.catalogue import TARGETS, kind_of
from worldwise.records.evidence import owed_by
assert kind_of("optee-second") == "optee"
assert TARGETS["optee-second"] == TARGETS["optee"]
for text in (
    "mbedtls-nist-O2/hello",
    "mbedtls-nist-O2/sha256,size=64B",
    "mbedtls-nist-O2/sign,curve=secp256r1,size=32B",
    "libtomcrypt-O2/aes,size=16B,key=128,mode=ctr,direction=encrypt",
    "mbedtls-nist-O2/echo,size=16B,server=call",
    "mbedtls-nist-O2/abuse,ta=hello,calls=5",
):
    first, second = (parse_case(f"{target}/{text}") for target in ("optee", "optee-second"))
    assert first.measures == second.measures and not second.board
    assert owed_by(first) == owed_by(second)
"""


def test_a_second_machine_with_op_tee_has_what_the_first_has() -> None:
    """If this fails, a family or a stage asks for the name of a target where it means the kind."""
    environment = {**os.environ, "PYTHONPATH": str(paths.REPOSITORY / "src")}
    subprocess.run([sys.executable, "-c", _SECOND_MACHINE], env=environment, check=True)


@pytest.mark.parametrize(
    ("target", "kind"),
    [("optee", "optee"), ("linux", "linux"), ("linux-armv7", "linux-armv7"), ("microbit", "board"), ("gone", "board")],
)
def test_the_kind_of_a_target(target: str, kind: str) -> None:
    assert kind_of(target) == kind
