# SPDX-License-Identifier: BSD-2-Clause
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import boards
from synthetic import NESTED, RecordList, cost, find, lines, make_records
from worldwise.base.errors import WorldwiseError
from worldwise.libraries import curves
from worldwise.plan.case import Case
from worldwise.records.check import check_records
from worldwise.records.evidence import required_checks
from worldwise.records.messages import message, message_digest
from worldwise.records.models import Fault
from worldwise.records.parse import json_schema, parse_line, read_records

SIGN = Case("optee", "mbedtls-nist", "O2", "attestdiv", 4, 2)
KEYGEN = Case("optee", "mbedtls-nist", "O2", "keygen", 4, 2)
EMPTY = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 4, 2)
LINUX = Case("linux", "mbedtls-nist", "O2", "attestquorum", 4, 2)
PIECES = (("size", "100000B"), ("chunk", "16KiB"))
HASH = Case("optee", "mbedtls", "O2", "sha256", 4, 2, PIECES)
LINUX_HASH = Case("linux", "mbedtls", "O2", "sha256", 4, 2, PIECES)
FRESH = Case("linux", "mbedtls", "O2", "sha256", 4, 2, (("size", "100000B"), ("fault", "fresh")))
SUM = Case("linux", "mbedtls", "O2", "sha256sum", 4, 2, (("size", "1MiB"),))
STORAGE = Case("optee", "mbedtls", "O2", "storage-create", 4, 2)

Change = Callable[[RecordList], Any]


def check(case: Case, change: Change, tmp_path: Path) -> None:
    records = make_records(case)
    change(records)
    path = tmp_path / "records.jsonl"
    path.write_bytes(lines(records))
    check_records(read_records(path), case, str(path))


def edit(**fields: Any) -> Callable[..., Change]:
    """A change of the record that has `fields`."""

    def to(**values: Any) -> Change:
        return lambda records: find(records, **fields).update(values)

    return to


def drop(**fields: Any) -> Change:
    return lambda records: records.remove(find(records, **fields))


def add(record: dict[str, Any], at: int = -1) -> Change:
    return lambda records: records.insert(at, record)


def twice(**fields: Any) -> Change:
    return lambda records: records.insert(-1, dict(find(records, **fields)))


def flip(name: str, at: int, **fields: Any) -> Change:
    """Changes one hex digit."""

    def change(records: RecordList) -> None:
        record = find(records, **fields)
        digits = list(record[name])
        digits[at] = f"{int(digits[at], 16) ^ 1:x}"
        record[name] = "".join(digits)

    return change


def longer_message(records: RecordList) -> None:
    find(records, type="evidence")["message"] += "00"


def same_key(records: RecordList) -> None:
    first = find(records, type="evidence", index=0)
    find(records, type="evidence", index=3).update(public=first["public"], private=first["private"])


def shift_ta(records: RecordList) -> None:
    sample = find(records, type="sample", place="ta", measure="sign", index=1)
    sample.update(begin=sample["begin"] - 5000, end=sample["end"] - 5000)


def shift_second(records: RecordList) -> None:
    sample = find(records, type="sample", index=1)
    sample.update(begin=sample["begin"] - 50_000, end=sample["end"] - 50_000)


@pytest.mark.parametrize("case", [SIGN, KEYGEN, EMPTY, LINUX, HASH, LINUX_HASH, FRESH, SUM, STORAGE], ids=str)
def test_good_records_pass(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(lines(make_records(case)))
    checked = check_records(read_records(path), case, str(path))
    assert set(checked.samples) == {(m, p) for m, places in case.measures.items() for p in places}
    for (measure, place), series in checked.samples.items():
        assert [sample.count for sample in series] == [cost(case, place, index, measure) for index in range(7)]


def test_every_case_passes_and_only_as_itself(all_cases: tuple[Case, ...]) -> None:
    for case in (SIGN, LINUX):
        path_records = [parse_line(line, "f", n) for n, line in enumerate(lines(make_records(case)).splitlines(), 1)]
        for other in (*all_cases, case):
            alike = (other.target, other.operation) == (case.target, case.operation)
            if alike and (case.target == "optee" or other.implementation.startswith("mbedtls")):
                check_records(path_records, other)
            else:
                with pytest.raises(WorldwiseError):
                    check_records(path_records, other)


def other_message(records: RecordList) -> None:
    """The digest of another call: as if the message had never been changed."""
    digest = find(records, type="evidence", index=0)["digest"]
    find(records, type="evidence", index=1)["digest"] = digest


def longer_ta(records: RecordList) -> None:
    """A TA that claims more than its client waited for."""
    sample = find(records, type="sample", place="ta", index=6)
    for key in ("end", "busy", "count"):
        sample[key] += 10_000_000


API = {"type": "sample", "measure": "hash", "place": "api"}
SAMPLE = {"type": "sample", "measure": "sign", "place": "ta", "index": 3}

BROKEN: list[tuple[Case, Change, str]] = [
    # what frames the records
    (SIGN, lambda records: records.pop(0), "begins with 'overhead'"),
    (SIGN, lambda records: records.pop(), "did not finish"),
    (SIGN, edit(type="end")(status=1), "status 1"),
    (SIGN, edit(type="end")(idle=1), "idle 1 times"),
    (SIGN, lambda records: records.insert(1, dict(records[0])), ":2: .*second 'start'"),
    (SIGN, add({"type": "end", "status": 0, "idle": 0}, at=3), "records follow 'end'"),
    (SIGN, edit(type="start")(operation="attestquorum"), "operation is 'attestquorum'"),
    (SIGN, edit(type="start")(samples=5), "samples is 5"),
    (SIGN, edit(type="start")(warmup=1), "warmup is 1"),
    (SIGN, edit(type="start")(program="linux-bench"), "program 'linux-bench'"),
    (SIGN, edit(type="start")(implementation="mbedtls"), "implementation 'mbedtls'"),
    (LINUX, edit(type="start")(implementation="libtomcrypt"), "implementation 'libtomcrypt'"),
    (
        SIGN,
        add({"type": "error", "message": "TEE_ERROR 0xffff000a"}, at=5),
        ":6: .*reports: TEE_ERROR 0xffff000a",
    ),
    # overheads
    (SIGN, drop(type="overhead", place="client"), "overhead of measuring at 'client' is missing"),
    (SIGN, drop(type="overhead", place="ta"), "overhead of measuring at 'ta' is missing"),
    (SIGN, twice(type="overhead", place="ta"), "second overhead"),
    (
        EMPTY,
        add({"type": "overhead", "place": "ta", "clock": "cntvct_el0", "count": 4}, at=1),
        "where the case measures nothing",
    ),
    (SIGN, lambda records: find(records, type="overhead", place="ta").pop("nested"), "lacks 'nested'"),
    (
        SIGN,
        edit(type="overhead", place="ta")(count=5),
        r"sign 0 at ta: count is .* but end - begin - overhead =",
    ),
    (SIGN, edit(type="overhead", place="client")(count=4), "at client: count is .* - inner ="),
    (SIGN, edit(type="overhead", place="ta")(nested=NESTED + 1), "inner is 11"),
    # samples
    (SIGN, edit(**SAMPLE)(count=1), "sign 3 at ta: count is 1,"),
    (SIGN, edit(**SAMPLE)(end=10), "sign 3 at ta: count is"),
    (SIGN, edit(**SAMPLE)(phase="warmup"), "phase is 'warmup', must be 'sample'"),
    (SIGN, edit(type="sample", index=0)(phase="sample"), "must be 'first'"),
    (SIGN, edit(type="sample", index=1)(phase="sample"), "must be 'warmup'"),
    (SIGN, edit(**SAMPLE)(index=4), "index 3 was due"),
    (SIGN, drop(**SAMPLE), "sign 4 at ta: index 3 was due: a sample is missing"),
    (
        SIGN,
        drop(type="sample", measure="verify", place="client", index=6),
        "verify at client has 6 .* instead of 7",
    ),
    (SIGN, twice(type="sample", index=6), "was due"),
    (
        EMPTY,
        lambda records: records.insert(-1, find(records, index=6) | {"index": 7}),
        "one sample too many, 7 are due",
    ),
    (SIGN, lambda records: find(records, type="sample", place="client").pop("inner"), "inner is None"),
    (LINUX, edit(type="sample", index=2)(inner=11), "inner is 11"),
    (SIGN, edit(**SAMPLE)(measure="open"), "'open' at 'ta', which the case lacks"),
    (SIGN, edit(**SAMPLE)(place="linux"), "'sign' at 'linux', which the case lacks"),
    (EMPTY, edit(type="sample", index=2)(begin=7, end=12, count=0), "the operation cannot have run"),
    (EMPTY, shift_second, "begins before its predecessor ends"),
    (SIGN, shift_ta, "the region at 'ta' .* is not inside the one at 'client'"),
    # hashing
    (HASH, flip("digest", 0, type="evidence", index=3), "hash 3: the digest is wrong"),
    (HASH, flip("digest", 63, type="evidence", index=0), "hash 0: the digest is wrong"),
    (LINUX_HASH, flip("digest", 5, type="evidence", index=6), "hash 6: the digest is wrong"),
    (SUM, flip("digest", 5, type="evidence", index=6), "hash 6: the digest is wrong"),
    (HASH, other_message, "hash 1: the digest is wrong"),
    (HASH, drop(type="evidence", index=2), "no evidence for hash 2 "),
    (HASH, edit(type="evidence", index=2)(size=1000), "a message of 1000 bytes"),
    (HASH, edit(type="evidence", index=2)(content="zeros"), r"100000 bytes \(zeros\), the case has 100000 \(blocks\)"),
    (FRESH, edit(type="start")(parameters="size=100000"), "parameters is 'size=100000', the case has"),
    (HASH, edit(type="start")(parameters=""), "parameters is '', the case has 'size=100000 chunk=16384'"),
    (HASH, drop(type="check", name="known-answer"), "'known-answer' is missing"),
    (HASH, drop(type="check", name="counter-registers-restored"), "'counter-registers-restored' is missing"),
    (LINUX_HASH, drop(type="check", name="known-answer"), "'known-answer' is missing"),
    (HASH, edit(type="overhead", place="ta")(clock="cntvct_el0"), "clock at 'ta' is cntvct_el0, must be pmccntr_el0"),
    (HASH, edit(type="overhead", place="client")(clock="pmccntr_el0"), "clock at 'client' is pmccntr_el0"),
    (HASH, lambda records: find(records, type="overhead", place="api").pop("nested"), "counts at 'ta' need"),
    (HASH, edit(**API)(spans=6), "spans is 6 and busy [0-9]*, must be 7 and their sum"),
    (HASH, lambda records: find(records, **API).pop("busy"), "busy None, must be 7"),
    (HASH, edit(**API, index=2)(busy=1), "count is .* but busy - overhead ="),
    (HASH, edit(**API, index=2)(inner=NESTED), "inner is 11"),
    (HASH, edit(**API | {"place": "ta"}, index=2)(inner=NESTED), "inner is 11, the declared overhead makes it 77"),
    (HASH, edit(**API, index=2)(end=0), "from begin to end is less"),
    (HASH, longer_ta, "the region at 'ta' took .*, more than the .* at 'client' around it"),
    (SIGN, edit(**SAMPLE)(spans=1, busy=4), "spans is 1 and busy 4, must be absent"),
    (STORAGE, drop(type="check"), "'content-read-back' is missing"),
    # evidence
    (SIGN, drop(type="evidence", index=3), "no evidence for sign 3 "),
    (KEYGEN, drop(type="evidence", index=0), "no evidence for keygen 0 "),
    (SIGN, twice(type="evidence", index=3), "second evidence for sign 3"),
    (SIGN, edit(type="evidence", index=3)(index=7), "a call that did not happen"),
    (SIGN, flip("signature", 127, type="evidence", index=3), "sign 3: the signature is wrong"),
    (SIGN, flip("signature", 3, type="evidence", index=0), "sign 0: the signature is wrong"),
    (SIGN, flip("message", 0, type="evidence", index=6), "sign 6: the signature is wrong"),
    (SIGN, edit(type="evidence", index=1)(signature="0" * 128), "sign 1: the signature is wrong"),
    (SIGN, flip("public", 127, type="evidence", index=3), "not a point of P-256"),
    (SIGN, longer_message, "49 bytes, not 48"),
    (KEYGEN, flip("private", 63, type="evidence", index=3), "keygen 3: .*not belong"),
    (KEYGEN, edit(type="evidence", index=3)(private="0" * 64), "keygen 3: .*out of range"),
    (KEYGEN, same_key, "keygen 3 made the key that keygen 0 had made"),
    (
        KEYGEN,
        lambda records: records.insert(-1, find(make_records(SIGN), type="evidence")),
        "evidence for 'sign', which the case lacks",
    ),
    # checks
    (SIGN, drop(type="check"), "'modified-signature-rejected' is missing"),
    (LINUX, drop(type="check"), "'modified-signature-rejected' is missing"),
    (SIGN, edit(type="check")(ok=False), "check 'modified-signature-rejected' of verify failed"),
    (SIGN, edit(type="check")(measure="open"), "which the case lacks"),
    (
        EMPTY,
        add({"type": "check", "name": "any", "measure": "invoke", "ok": False}),
        "check 'any' of invoke failed",
    ),
]


@pytest.mark.parametrize(("case", "change", "says"), BROKEN, ids=[says for _, _, says in BROKEN])
def test_broken_records_are_refused(case: Case, change: Change, says: str, tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match=says) as caught:
        check(case, change, tmp_path)
    assert caught.value.message.startswith(str(tmp_path / "records.jsonl"))


def test_line_number_of_a_wrong_signature(tmp_path: Path) -> None:
    records = make_records(SIGN)
    number = records.index(find(records, type="evidence", index=3)) + 1
    flip("signature", 0, type="evidence", index=3)(records)
    path = tmp_path / "records.jsonl"
    path.write_bytes(lines(records))
    with pytest.raises(WorldwiseError, match=f"records.jsonl:{number}: sign 3: the signature is wrong"):
        check_records(read_records(path), SIGN, str(path))


def test_a_nonce_used_twice_is_refused() -> None:
    # Made by hand: the same nonce k signs two messages with one key.
    import hashlib

    from cryptography.hazmat.primitives.asymmetric import ec

    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    key, nonce = (
        ec.derive_private_key(1234567, ec.SECP256R1()),
        ec.derive_private_key(7654321, ec.SECP256R1()),
    )
    r = nonce.public_key().public_numbers().x % order
    public = key.public_key().public_numbers()
    records = make_records(SIGN)
    for record in records:
        if record["type"] == "evidence":
            digest = int(hashlib.sha256(bytes.fromhex(record["message"])).hexdigest(), 16)
            s = pow(7654321, -1, order) * (digest + r * 1234567) % order
            record.update(public=f"{public.x:064x}{public.y:064x}", signature=f"{r:064x}{s:064x}")
    parsed = [parse_line(line, "f", n) for n, line in enumerate(lines(records).splitlines(), 1)]
    with pytest.raises(WorldwiseError, match="sign 1 used the nonce of sign 0 again"):
        check_records(parsed, SIGN)


def test_messages_are_those_of_the_guest() -> None:
    """What guest/bench/message.c made on the machine, which checked the digest of "abc" itself."""
    known = {
        (0, 0): "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        (65536, 0): "caab1dcebf82158cb4bc86110af2b05ea11ae27178f8b91c474452289995a49c",
        (65536, 2): "6e0e68bf5c68d51c6752ad1cacee13b86f1326a8fac97c3e0e47997a3d87b24c",
        (4 * 2**20, 0): "3cca8eb00a421b2a432591599372cca6eab1499609a07ceb8a386dd7fed1f3cf",
        (4 * 2**20, 4): "0526d9e873ad7fc3d97dbe29eab1dae78a78c56dc58ce85a7aeda6ef0bfd7306",
    }
    assert {key: message_digest("blocks", *key) for key in known} == known
    for size in (1, 7, 8, 65535, 65537, 200_000):
        assert message_digest("zeros", size, 3) == hashlib.sha256(bytes(size)).hexdigest()
    # As long as the number has room, every call has a message of its own.
    assert len({message_digest("blocks", 4, index) for index in range(300)}) == 300


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "Invalid JSON"),
        ("booting", "Invalid JSON"),
        ('{"type":"sampel"}', "sampel"),
        ('{"type":"end"}', "status: Field required"),
        ('{"type":"end","status":"0"}', "status: Input should be a valid integer"),
        ('{"type":"end","status":0,"idle":0,"extra":1}', "extra: Extra inputs"),
        ('{"type":"overhead","place":"tee","count":4}', "place: "),
        ('{"type":"overhead","place":"ta","clock":"cntvct_el0","count":-1}', "count: "),
        ('{"type":"overhead","place":"ta","clock":"cntvct_el0","count":4.5}', "count: "),
        ('{"type":"overhead","place":"ta","clock":"rdtsc","count":4}', "clock: "),
        ('{"type":"evidence","measure":"hash","index":0,"content":"blocks","size":67108865,"digest":""}', "size: "),
        ('{"type":"check","name":"n","measure":"m","ok":1}', "ok: "),
        ('{"type":"evidence","measure":"keygen","index":0,"public":"AB","private":"00"}', "public: "),
        ('{"type":"evidence","measure":"open","index":0}', "open"),
        ('{"type":"evidence","measure":"keygen","index":0,"curve":"secp112r2","public":"","private":""}', "curve: "),
        (
            '{"type":"evidence","measure":"keygen","index":0,"curve":"secp160r1","public":"","private":""}',
            "not a record: private has 0 bytes, secp160r1 has 21",
        ),
        (
            '{"type":"evidence","measure":"ecdh","index":0,"curve":"ed25519","private":"","peer":"","secret":""}',
            "has 0 bytes, ed25519 has 32",
        ),
        ('{"type":"evidence","measure":"verify","index":0}', "curve: Field required"),
        ('{"type":"evidence","measure":"hash","index":0,"algorithm":"sha1"}', "algorithm: "),
        ('{"type":"memory","measure":"sign","place":"linux","stack":1,"heap":0,"heap_left":0}', "place: "),
        ('{"type":"memory","measure":"sign","place":"ta","stack":1,"heap":0,"heap_left":0}', "are there on a board"),
        ('{"type":"memory","measure":"sign","place":"mcu","stack":1}', "are there on a board"),
        ('{"type":"memory","measure":"sign","place":"mcu","stack":1,"heap_left":0}', "are there on a board"),
        ('{"type":"memory","measure":"sign","place":"mcu","stack":0,"heap":0,"heap_left":0}', "stack: "),
        ('{"type":"fault","kind":"panic","status":0}', "kind: "),
    ],
)
def test_bad_lines_name_file_line_and_field(line: str, says: str) -> None:
    with pytest.raises(WorldwiseError) as caught:
        parse_line(line, "here.jsonl", 7)
    assert caught.value.message.startswith("here.jsonl:7: ")
    assert says in caught.value.message
    assert caught.value.details == line


def test_reading_a_file(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    data = lines(make_records(EMPTY))
    path.write_bytes(data)
    assert len(read_records(path)) == data.count(b"\n")
    for broken, says in (
        (b"", "empty"),
        (data[:-1], "cut off"),
        (data[:-10], "cut off"),
        (b"\n" + data, "records.jsonl:1: "),
        (data + b"\xff\n", "not a record"),
    ):
        path.write_bytes(broken)
        with pytest.raises(WorldwiseError, match=says):
            read_records(path)
    with pytest.raises(WorldwiseError, match="cannot be read"):
        read_records(tmp_path / "absent")
    with pytest.raises(WorldwiseError, match="no records"):
        check_records([], EMPTY)


def test_schema_names_every_type() -> None:
    schema = json_schema()
    assert set(schema["discriminator"]["mapping"]) == {
        "start",
        "overhead",
        "sample",
        "evidence",
        "memory",
        "clocks",
        "calls",
        "conditions",
        "fault",
        "check",
        "outcome",
        "error",
        "end",
    }
    assert schema["$defs"]["Sample"]["additionalProperties"] is False
    json.dumps(schema)


# --- boards ---

BOARD_SIGN = Case("nucleo-f446re", "micro-ecc", "O2", "sign", 3, 1, (("curve", "secp160r1"), ("size", "32B")))
BOARD_VERIFY = Case("nucleo-f446re", "wolfssl-small", "O2", "verify", 3, 1, (("curve", "ed25519"), ("size", "1KiB")))
BOARD_KEYGEN = Case("nucleo-f103rb", "micro-ecc", "Os", "keygen", 3, 1, (("curve", "secp160r1"),))
BOARD_ECDH = Case("nucleo-f446re", "micro-ecc", "O2", "ecdh", 3, 1, (("curve", "secp256k1"),))
BOARD_HASH = Case("nucleo-f446re", "bearssl", "O2", "sha512", 3, 1, (("size", "32B"),))
BOARD_AES = Case("nucleo-f446re", "bearssl", "O2", "aes256", 3, 1, (("size", "16B"),))
DHRYSTONE = Case("microbit", "dhrystone", "O2", "dhrystone", 3, 1, (("runs", "1000"),))
ON_BOARDS = [BOARD_SIGN, BOARD_VERIFY, BOARD_KEYGEN, BOARD_ECDH, BOARD_HASH, BOARD_AES, DHRYSTONE]


@pytest.mark.parametrize("case", ON_BOARDS, ids=str)
def test_good_records_of_boards_pass(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(lines(make_records(case)))
    checked = check_records(read_records(path), case, str(path))
    (measure,) = case.measures
    assert [sample.count for sample in checked.samples[measure, "mcu"]] == [
        boards.board_cost(case, index) for index in range(5)
    ]
    assert (checked.memory[measure].stack, checked.memory[measure].heap) == (boards.STACK, boards.HEAP)


def test_every_result_on_every_curve_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case passes as itself, and not when one hex digit of any result is changed."""
    boards.use(monkeypatch)
    cases = [case for case in boards.board_suite().cases if (case.board, case.optimisation) == ("nucleo-f446re", "O2")]
    assert {case.curve for case in cases} == {"", "secp160r1", "secp256r1", "ed25519", "x25519"}
    more = [
        Case("nucleo-f446re", "micro-ecc", "O2", operation, 1, 0, (("curve", curve), *size))
        for curve in ("secp192r1", "secp224r1", "secp256k1")
        for operation, size in (
            ("keygen", ()),
            ("sign", (("size", "32B"),)),
            ("verify", (("size", "32B"),)),
            ("ecdh", ()),
        )
    ]
    for case in [*cases, *more]:
        good = make_records(case)
        check_records([parse_line(line, "f", n) for n, line in enumerate(lines(good).splitlines(), 1)], case)
        for name in ("public", "signature", "secret", "digest", "output_sha256"):
            records = make_records(case)
            evidence = [record for record in records if record["type"] == "evidence"]
            if evidence and name in evidence[0]:
                # The lowest bit of the first byte: no bit of an encoding that is not looked at.
                flip(name, 1, type="evidence", index=1)(records)
                parsed = [parse_line(line, "f", n) for n, line in enumerate(lines(records).splitlines(), 1)]
                with pytest.raises(WorldwiseError, match=f"{evidence[0]['measure']} 1: ") as caught:
                    check_records(parsed, case)
                assert "the measured implementation gave a wrong answer" in caught.value.hint


def foreign_evidence(case: Case) -> Change:
    return lambda records: records.insert(-1, find(make_records(case), type="evidence"))


def other_size(records: RecordList) -> None:
    evidence = find(records, type="evidence", index=2)
    text = message(16, 2)
    signature = boards.sign("secp160r1", boards.private_key(BOARD_SIGN, 0), text)
    evidence.update(size=16, signature=signature.hex())


def same_board_key(records: RecordList) -> None:
    first = find(records, type="evidence", index=0)
    find(records, type="evidence", index=3).update(public=first["public"], private=first["private"])


FAULT = {
    "type": "fault",
    "kind": "bus fault",
    "pc": 0x8001234,
    "lr": 0x8000100,
    "address": 0x20020000,
    "status": 0x8200,
}
OVERFLOW = {"type": "fault", "kind": "stack overflow", "call0": 0x8000200, "call1": 0x8000300, "status": 0x1000}
BROKEN_ON_BOARDS: list[tuple[Case, Change, str]] = [
    (BOARD_SIGN, edit(type="start")(program="linux-bench"), "program 'linux-bench' does not run on"),
    (BOARD_SIGN, edit(type="start")(board="nucleo-f103rb"), "board is 'nucleo-f103rb', the case has 'nucleo-f446re'"),
    (BOARD_SIGN, lambda records: records[0].pop("board"), "board is None"),
    (BOARD_SIGN, edit(type="start")(implementation="micro"), "implementation 'micro'"),
    (BOARD_SIGN, edit(type="start")(parameters="curve=secp160r1 size=16"), "the case has 'curve=secp160r1 size=32'"),
    (BOARD_SIGN, edit(type="start")(clock="cntvct_el0"), "clock is 'cntvct_el0', the case has 'systick'"),
    (BOARD_SIGN, edit(type="overhead")(clock="cntvct_el0"), "clock at 'mcu' is cntvct_el0, must be systick"),
    (LINUX, lambda records: records[0].update(board="nucleo-f446re"), "board is 'nucleo-f446re', the case has None"),
    (BOARD_SIGN, edit(type="sample", index=2)(count=1), "sign 2 at mcu: count is 1, but end - begin - overhead ="),
    (BOARD_SIGN, drop(type="memory"), "the record of the memory of sign is missing"),
    (BOARD_SIGN, twice(type="memory"), "a second record of the memory of sign"),
    (BOARD_SIGN, edit(type="memory")(measure="verify"), "the memory of 'verify', which the case lacks"),
    (BOARD_SIGN, edit(type="memory")(heap_left=257), "leaves 257 bytes of heap, but never had more than 256"),
    (
        LINUX,
        lambda records: records.insert(-1, find(make_records(BOARD_SIGN), type="memory")),
        "which the case lacks",
    ),
    (BOARD_SIGN, drop(type="evidence", index=2), "no evidence for sign 2 "),
    (BOARD_SIGN, edit(type="evidence", index=2)(size=16), "sign 2: size is 16, the case has 32"),
    (BOARD_SIGN, other_size, "sign 2: size is 16, the case has 32"),
    (BOARD_ECDH, edit(type="evidence", index=1)(curve="secp256r1"), "ecdh 1: curve is 'secp256r1', the case has"),
    (BOARD_HASH, edit(type="evidence", index=1)(algorithm="sha256"), "algorithm is 'sha256', the case has 'sha512'"),
    (
        BOARD_AES,
        edit(type="evidence", index=1)(cipher="aes128-ctr"),
        "cipher is 'aes128-ctr', the case has 'aes256-ctr'",
    ),
    (BOARD_AES, edit(type="evidence", index=1)(key="00" * 16), "the key has 128 bits, aes256-ctr has 256"),
    (BOARD_SIGN, foreign_evidence(SIGN), "evidence for 'sign', which the case lacks"),
    (SIGN, foreign_evidence(BOARD_SIGN), "evidence for 'sign', which the case lacks"),
    (SIGN, foreign_evidence(BOARD_VERIFY), "evidence for 'verify', which the case lacks"),
    (DHRYSTONE, foreign_evidence(BOARD_HASH), "evidence for 'hash', which the case lacks"),
    (BOARD_KEYGEN, same_board_key, "keygen 3 made the key that keygen 0 had made"),
    (BOARD_KEYGEN, edit(type="evidence", index=3)(private="00" * 21), "keygen 3: the private key is out of range"),
    (BOARD_KEYGEN, edit(type="evidence", index=3)(private="ff" * 21), "keygen 3: the private key is out of range"),
    (
        BOARD_SIGN,
        edit(type="evidence", index=1)(public="01" * 40),
        "sign 1: the public key is not a point of secp160r1",
    ),
    (BOARD_ECDH, edit(type="evidence", index=1)(peer="01" * 64), "ecdh 1: the public key is not a point of secp256k1"),
    (BOARD_SIGN, edit(type="evidence", index=1)(signature="00" * 42), "sign 1: the signature is wrong"),
    (BOARD_SIGN, drop(type="check", name="known-answer"), "'known-answer' is missing"),
    (BOARD_VERIFY, drop(type="check", name="invalid-signatures-rejected"), "'invalid-signatures-rejected' is missing"),
    (BOARD_ECDH, drop(type="check", name="agreement"), "'agreement' is missing"),
    (BOARD_ECDH, drop(type="check", name="invalid-point-rejected"), "'invalid-point-rejected' is missing"),
    (BOARD_HASH, drop(type="check"), "'known-answer' is missing"),
    (BOARD_AES, drop(type="check"), "'known-answer' is missing"),
    (DHRYSTONE, drop(type="check"), "'final-values' is missing"),
    (
        BOARD_SIGN,
        add(FAULT, at=4),
        "stopped with a bus fault at 0x08001234, called from 0x08000100; it could not reach 0x20020000; fault status",
    ),
    (
        BOARD_SIGN,
        lambda records: records.__setitem__(slice(4, None), [OVERFLOW]),
        "stopped with a stack overflow; the innermost calls: 0x08000200, 0x08000300; fault status 0x1000",
    ),
]


@pytest.mark.parametrize(("case", "change", "says"), BROKEN_ON_BOARDS, ids=[says for _, _, says in BROKEN_ON_BOARDS])
def test_broken_records_of_boards_are_refused(case: Case, change: Change, says: str, tmp_path: Path) -> None:
    with pytest.raises(WorldwiseError, match=says) as caught:
        check(case, change, tmp_path)
    assert caught.value.message.startswith(str(tmp_path / "records.jsonl"))


def test_a_fault_is_named_by_symbols() -> None:
    fault = parse_line(json.dumps(FAULT), "f", 1)
    assert isinstance(fault, Fault)
    text = fault.describe({0x8001234: "uECC_sign+0x12"}.get)  # type: ignore[arg-type]
    assert "at 0x08001234 (uECC_sign+0x12), called from 0x08000100; " in text
    records = [parse_line(line, "f", n) for n, line in enumerate(lines(make_records(BOARD_SIGN)).splitlines(), 1)]
    with pytest.raises(WorldwiseError, match=r"\(main\+0x2\), called from 0x08000100 \(main\+0x2\)"):
        check_records([*records[:3], fault], BOARD_SIGN, symbol=lambda _: "main+0x2")


def test_a_nonce_used_twice_on_a_board_is_refused() -> None:
    # R of Ed25519 is part of what is signed, so that only a forger could use it again; r of ECDSA is not.
    records = make_records(BOARD_SIGN)
    order = 0x0100000000000000000001F4C8F927AED3CA752257
    key, nonce = int.from_bytes(boards.private_key(BOARD_SIGN, 0)), 7654321
    point = curves.public_key("secp160r1", nonce.to_bytes(21))
    r = int.from_bytes(point[:20]) % order
    for record in records:
        if record["type"] == "evidence":
            digest = int(hashlib.sha256(message(32, record["index"])).hexdigest(), 16) >> (256 - 161)
            s = pow(nonce, -1, order) * (digest + r * key) % order
            record["signature"] = f"{r:042x}{s:042x}"
    parsed = [parse_line(line, "f", n) for n, line in enumerate(lines(records).splitlines(), 1)]
    with pytest.raises(WorldwiseError, match="sign 1 used the nonce of sign 0 again"):
        check_records(parsed, BOARD_SIGN)


def test_messages_on_boards_are_the_beginning_of_a_block() -> None:
    assert message(65536, 3)[:12] == message(12, 3)
    assert message(12, 0x01020304)[:8] == bytes([4, 3, 2, 1, 0, 0, 0, 0])
    assert message(0, 5) == b""
    assert hashlib.sha256(message(1024, 5)).hexdigest() == message_digest("blocks", 1024, 5)


def test_only_points_can_be_invalid() -> None:
    on = {curve: Case("microbit", "x", "Os", "ecdh", 1, 0, (("curve", curve),)) for curve in ("secp192r1", "x25519")}
    assert "invalid-point-rejected" in required_checks(on["secp192r1"])
    assert required_checks(on["x25519"]) == ("known-answer", "agreement")
