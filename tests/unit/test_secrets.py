# SPDX-License-Identifier: BSD-2-Clause
"""Where two calls part: plugin/secrets on streams made by hand, and what is said of its lines."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import model_programs
from worldwise.base.errors import WorldwiseError
from worldwise.explain import dependence as judged
from worldwise.libraries import curves
from worldwise.libraries.curve_table import MEASURABLE
from worldwise.machine.elf_files.program_addresses import Variable
from worldwise.machine.gdbstub import GdbStub
from worldwise.machine.machine import Machine
from worldwise.plan.case import parse_case
from worldwise.records.secrets_report import Compared, Parting, Pass, read_compared
from worldwise.report.explaining import dependence as shown
from worldwise.run import input_injection
from worldwise.run.input_injection import CallInputs
from worldwise.run.varied_secrets import Varied, choices, require_variable

# main is 0x100-0x200, and calls what is at 0x300 and 0x400.
FUNCTIONS = "f 100 200\nf 300 400\nf 400 500\n"
# A call returns to 0x114.
CALL = "x 110 2\n"

Compare = Callable[[str, str], Compared]


@pytest.fixture(scope="module")
def compare(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Compare:
    """Compares a call with the reference; both as lines of tests/secrets_driver.c with functions before them."""
    directory = tmp_path_factory.mktemp("secrets")
    parts = ("map.c", "stream.c", "compare.c", "partings.c")
    program = model_programs.build("secrets_driver", directory, request, *(f"secrets/{part}" for part in parts))

    def run(reference: str, other: str) -> Compared:
        text = f"{FUNCTIONS}a\n{reference}b\n{other}"
        printed = subprocess.run([program], input=text, text=True, capture_output=True, check=True, timeout=60).stdout
        (path := directory / "printed").write_text(printed)
        return read_compared(path, 2)

    return run


def test_the_same_in_other_blocks_does_not_part(compare: Compare) -> None:
    """An emulator cuts code as it likes; an exception makes it begin a block again."""
    whole = "x 100 8\nm 102 9000\nm 106 9004\nx 120 2\n"
    cut = "x 100 2\nm 102 9000\nx 104 6\nt c\nx 104 2\nm 106 9004\nx 108 4\nx 120 2\n"
    found = compare(whole, cut)
    assert found.partings == []
    assert [one.instructions for one in found.passes] == [10, 10]
    assert [one.runs for one in found.passes] == [2, 2]


def test_an_if_parts_at_its_branch_and_joins_behind_it(compare: Compare) -> None:
    """The other call executes three instructions more, and what is behind is compared: one address differs there."""
    found = compare("x 100 4\nx 10e 3\nm 110 9000\n", "x 100 4\nx 108 3\nx 10e 3\nm 110 9008\n")
    flow, address = found.partings
    assert (flow.kind, flow.pc, flow.times, flow.alone, flow.before) == ("flow", 0x106, 1, 1, 4)
    assert (flow.reference, flow.other, flow.joined) == (0x10E, 0x108, True)
    assert (flow.reference_instructions, flow.other_instructions) == (0, 3)
    assert (address.kind, address.pc, address.low, address.high) == ("address", 0x110, 0x9000, 0x9008)
    # It may be no more than what follows from the branch.
    assert (address.times, address.alone) == (1, 0)


def test_addresses_of_a_table_part_each_time(compare: Compare) -> None:
    """In a function that is called; its callers are told."""
    loop = "x 300 4\nm 302 {}\nx 300 4\nm 302 {}\nx 114 1\n"
    found = compare(CALL + loop.format(8000, 8010), CALL + loop.format(8004, 8020))
    (one,) = found.partings
    assert (one.kind, one.pc, one.times, one.alone, one.before) == ("address", 0x302, 2, 2, 3)
    assert (one.low, one.high, one.callers) == (0x8000, 0x8020, [0x114])


def test_an_access_made_on_a_condition(compare: Compare) -> None:
    """A predicated load executes in both, and accesses memory in one."""
    found = compare("x 100 4\nm 102 9000\nm 104 9100\n", "x 100 4\nm 104 9100\n")
    (one,) = found.partings
    assert (one.kind, one.pc, one.reference, one.other) == ("made", 0x102, 0x9000, 0)


def test_a_function_called_on_a_condition_is_skipped(compare: Compare) -> None:
    """What it accesses is not compared with what the caller does; the calls join where it returns to."""
    called = "x 100 2\n" + CALL.replace("110 2", "104 2") + "x 300 5\nm 302 7000\nx 308 9\nx 108 4\nm 10a 9000\n"
    found = compare(called, "x 100 2\nx 108 4\nm 10a 9000\n")
    (one,) = found.partings
    assert (one.kind, one.pc) == ("flow", 0x102)
    # Two that call, and fourteen that are called.
    assert (one.reference_instructions, one.other_instructions) == (16, 0)


def test_a_function_that_both_call_is_no_place_to_join(compare: Compare) -> None:
    """One call executes it once more, before it comes to where the other is."""
    behind = "x 108 2\nx 300 5\nm 302 7000\nx 10c 2\n"
    found = compare("x 100 4\nx 300 5\nm 302 7000\n" + behind, "x 100 2\n" + behind)
    (one,) = found.partings
    assert (one.kind, one.pc, one.reference_instructions, one.other_instructions) == ("flow", 0x102, 7, 0)


def test_another_function_is_called(compare: Compare) -> None:
    """By a pointer: the call goes elsewhere, and both return to one place."""
    found = compare(CALL + "x 300 3\nx 114 2\nm 116 9000\n", CALL + "x 400 6\nx 114 2\nm 116 9000\n")
    (one,) = found.partings
    assert (one.kind, one.pc, one.reference, one.other) == ("flow", 0x112, 0x300, 0x400)
    assert (one.reference_instructions, one.other_instructions) == (3, 6)


def test_a_loop_of_other_length(compare: Compare) -> None:
    """It parts once: where one call leaves it and the other does not."""
    found = compare(CALL + "x 300 4\n" * 3 + "x 308 2\nx 114 2\n", CALL + "x 300 4\n" * 6 + "x 308 2\nx 114 2\n")
    (one,) = found.partings
    assert (one.kind, one.pc, one.times, one.joined) == ("flow", 0x306, 1, True)
    assert one.other_instructions - one.reference_instructions == 12


def test_a_call_that_ends_early(compare: Compare) -> None:
    """Nothing is left to join; that is not told as a defect."""
    found = compare(CALL + "x 300 2\nx 114 1\n", CALL + "x 300 2\n")
    (one,) = found.partings
    assert (one.kind, one.pc, one.other, one.joined) == ("flow", 0x302, 0, True)


def test_many_instructions_are_told_apart(compare: Compare) -> None:
    """More than the tables have room for at first."""
    many = "".join(f"x {0x1000 + 8 * i:x} 2\n" for i in range(3000))
    found = compare("x 100 4\n" + many, "x 100 4\nx 108 2\n" + many)
    (one,) = found.partings
    assert (one.pc, one.joined, one.other_instructions) == (0x106, True, 2)


CASE = parse_case("nucleo-f446re/mbedtls36-O2/aes128,size=64B")


def parting(number: int, kind: str = "address", alone: int = 1) -> Parting:
    """A parting of a call at one instruction."""
    values = {
        "type": "parting", "pass": number, "kind": kind, "pc": 0x100, "times": 2, "alone": alone, "before": 7,
        "reference": 1, "other": 2, "reference_instructions": 0, "other_instructions": 3, "low": 0x8000,
        "high": 0x8004, "joined": True, "callers": [],
    }  # fmt: skip
    return Parting.model_validate(values)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Callable[..., judged.Dependence]:
    """What is said of partings of three calls, the last with the first one's inputs; calls count from 2."""
    monkeypatch.setattr(judged, "functions", lambda _: [(0x100, 0x200, "encrypt")])
    monkeypatch.setattr(judged, "objects", lambda _: [(0x8000, 0x8100, "table")])

    def judge(*partings: Parting, drawn: bool = True) -> judged.Dependence:
        calls = [CallInputs(name, {}, b"") for name in ("one", "two", "one")]
        passes = [
            Pass.model_validate({"type": "pass", "pass": n, "instructions": 50, "runs": 1, "accesses": 1})
            for n in (2, 3, 4)
        ]
        varied = Varied(CASE, "key", calls, 2, 1, drawn, Compared(passes, partings), Path("program"), 0, 1.0)
        printed = "0x00000100\nlookup\n/build/aes.c:12 (discriminator 3)\nencrypt\n/build/aes.c:90\n"
        return judged.dependence(varied, lambda _: printed)

    return judge


def test_the_verdict(judge: Callable[..., judged.Dependence]) -> None:
    """Addresses that part after the flow are no verdict of their own; a call that repeats itself must not part."""
    assert judge().verdict == "no difference seen"
    assert judge(parting(3)).verdict == "depends on key: addresses"
    assert judge(parting(3, "flow")).verdict == "depends on key: control flow"
    assert judge(parting(3, "flow"), parting(3, alone=0)).verdict == "depends on key: control flow"
    assert judge(parting(3, "made"), parting(3, "flow")).verdict == "depends on key: control flow, addresses"
    unsteady = judge(parting(3), parting(4))
    assert (unsteady.verdict, unsteady.differing) == ("not repeatable", 1)
    # A nonce that nothing draws cannot be seen to matter.
    assert judge(drawn=False).verdict == "draws no random bytes"


def test_a_place_has_function_line_and_data(judge: Callable[..., judged.Dependence]) -> None:
    """With the inlined functions, the way into them, and the claim of the library's authors beside the verdict."""
    found = judge(parting(3))
    (site,) = found.sites
    assert site.frames == (judged.Frame("encrypt", "aes.c:90"), judged.Frame("lookup", "aes.c:12"))
    assert site.data == "table"
    verdicts, places = shown.sections([found], 5)
    assert verdicts.table and places.table
    assert verdicts.table.rows == [["key", "secret", "depends on key: addresses", "1 of 1", "50"]]
    assert places.table.rows[0][:6] == ["address", "lookup", "aes.c:12", "encrypt aes.c:90", "table", "1 of 1"]
    assert any("SECURITY.md" in note for note in verdicts.notes)
    assert any("not a proof" in note for note in verdicts.notes)
    (data,) = shown.to_json([found])["inputs"]
    assert (data["verdict"], data["depends"], data["sites"][0]["frames"][1]["line"]) == (
        "depends on key: addresses", True, "aes.c:12",
    )  # fmt: skip


def test_public_inputs_are_said_to_be_public(judge: Callable[..., judged.Dependence]) -> None:
    """A difference by a public input is no leak, and stands so below the table."""
    found = judge(parting(3))
    found = judged.Dependence(**(vars(found) | {"word": "nonce", "publicity": "public"}))
    assert any("not a leak in themselves" in note for section in shown.sections([found], 5) for note in section.notes)


@pytest.mark.parametrize("curve", [name for name, one in MEASURABLE.items() if one.signature])
def test_keys_are_valid_and_differ(curve: str) -> None:
    """The host has a public key for each, so each is in range; all calls but the last have other keys."""
    case = parse_case(f"{_machine(curve)}/{_library(curve)}-O2/sign,curve={curve},size=32B")
    found = choices(case, "key", 8)
    assert len({one.fields["private_key"] for one in found}) == 8
    assert {one.fields["message"] for one in found} == {found[0].fields["message"]}
    assert {one.state for one in found} == {found[0].state}
    for one in found:
        assert curves.public_key(curve, one.fields["private_key"]) == one.fields["public_key"]


def _library(curve: str) -> str:
    return {"ed25519": "c25519", "secp384r1": "bearssl", "secp112r1": "openssl"}.get(curve, "micro-ecc")


def _machine(curve: str) -> str:
    return "linux-armv8" if curve == "secp112r1" else "nucleo-f446re"


def test_what_cannot_be_varied_is_refused() -> None:
    """With what can be."""
    for case, word, said in (
        ("nucleo-f446re/bearssl-O2/verify,curve=secp256r1,size=32B", "key", "a verifier has no secrets"),
        ("nucleo-f446re/bearssl-O2/ecdh,curve=secp256r1", "nonce", "'nonce' is not known"),
        ("optee/mbedtls-nist-O2/attestdiv", "key", "on boards, in plain Linux, and of .sign."),
    ):
        with pytest.raises(WorldwiseError, match=said):
            require_variable(parse_case(case), [word])


class Debugger:
    """Stands for a machine: it writes down where it is stopped and what is written."""

    def __init__(self, code: bytes) -> None:
        self.did: list[tuple[object, ...]] = []
        self._code = code

    def run_to(self, address: int) -> None:
        self.did.append(("run to", address))

    def step(self) -> None:
        self.did.append(("step",))

    def read(self, address: int, length: int) -> bytes:
        # Another program is there at first.
        return self._code if address == 0x40000200 or len(self.did) > 2 else bytes(length)

    def register(self, number: int) -> int:
        return 0x9000 + 0x100 * number

    def write(self, address: int, content: bytes) -> None:
        self.did.append(("write", address, content))


def test_a_tas_key_is_written_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the TA's own code, above its addresses; the message that the client has verified is the call's too."""
    entries = {"engine_sign": (0x100, b"sign"), "engine_verify": (0x200, b"sign")}
    monkeypatch.setattr(input_injection, "entry_of", lambda _, name: entries[name])
    monkeypatch.setattr(input_injection, "static_variable", lambda *_: None)
    machine = SimpleNamespace(symbols={"bl31": Path("a"), "uuid": Path("ta")})
    where = input_injection.InTa(cast(Machine, machine))
    where.found(0x40000100)
    call = CallInputs("one", {"private_key": b"k", "public_key": b"pp", "message": b"m"}, b"")
    debugger = Debugger(b"sign")
    where.run(cast(GdbStub, debugger), [call, call])
    stop, key, message = ("run to", 0x40000100), ("write", 0x9000, b"kpp"), ("write", 0x9100, b"m")
    first = [stop, ("step",), stop, key, message, ("step",)]
    assert debugger.did == [*first, *first[2:], ("run to", 0x40000200), message, ("step",)]


def test_keys_made_before_the_first_calls_are_no_nonces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator's state counts from the second call that is compared on: what was drawn before made a key."""
    monkeypatch.setattr(input_injection, "entry_of", lambda *_: (0x40000200, b"sign"))
    monkeypatch.setattr(input_injection, "static_variable", lambda *_: Variable(0x40000200, 4))
    call = CallInputs("one", {"private_key": b"k", "public_key": b"pp", "message": b"m"}, b"seed")
    for calls, drawn in ((2, False), (3, True)):
        where = input_injection.InTa(cast(Machine, SimpleNamespace(symbols={"uuid": Path("ta")})))
        # It reads something else than was written.
        where.run(cast(GdbStub, Debugger(b"sign")), [call] * calls)
        assert where.drawn == drawn


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the plugin saw no end of"),
        ('{"type":"end","passes":3,"inside":false,"entry":0}', "the plugin saw 3 calls of"),
        ('{"type":"end","passes":2,"entry":0}', ":1: end.inside"),
        ('{"type":"other"}', ":1: "),
    ],
)
def test_lines_that_are_not_the_plugins(tmp_path: Path, text: str, said: str) -> None:
    """They are refused by file and line: a machine's guest may have written them."""
    (path := tmp_path / "trace.jsonl").write_text(text)
    with pytest.raises(WorldwiseError, match=said):
        read_compared(path, 2)
