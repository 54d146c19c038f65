# SPDX-License-Identifier: BSD-2-Clause
"""Clients whose keys an authority outside of the device enrols: paired, enrolled, handed over, backed up, restored."""

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from keycached import ALICE, BOB, TOOL, Server, encoded
from test_keys import about, code, message_of

PLAIN = b"the news"
LIST = "admin admin\nrelay broker * *\n"
SECRET = "correct horse battery staple\n"
RELAYED = "seal,from,to"


@dataclass
class Desk:
    """Where the authority sits: the tool, with a folder of its own and a server to reach."""

    folder: Path
    server: Server

    def __call__(self, *words: str | Path, given: bytes = b"", server: Server | None = None) -> tuple[int, bytes, str]:
        at = server or self.server
        result = subprocess.run(
            [TOOL, "--demo", at.ca, "--port", str(at.port), *words], input=given, capture_output=True, cwd=self.folder
        )
        return result.returncode, result.stdout, result.stderr.decode()

    def done(self, *words: str | Path, given: bytes = b"", server: Server | None = None) -> bytes:
        got, out, problem = self(*words, given=given, server=server)
        assert got == 0, problem
        return out

    def fails(self, *words: str | Path, given: bytes = b"", server: Server | None = None) -> str:
        got, _, problem = self(*words, given=given, server=server)
        assert got != 0
        return problem


@pytest.fixture
def desk(server: Server, tmp_path: Path) -> Desk:
    """An authority that the server's device trusts."""
    server.write_list(LIST)
    folder = tmp_path / "desk"
    folder.mkdir()
    one = Desk(folder, server)
    one.done("authority", "office", "init")
    one.done("authority", "office", "pair", "--yes")
    return one


@pytest.fixture
def another(tmp_path: Path, ca: Path) -> Iterator[Server]:
    """Another device."""
    folder = tmp_path / "another"
    folder.mkdir()
    (folder / "acl").write_text(LIST)
    one = Server(folder, ca).start("--allow-get")
    yield one
    assert one.end()[0] == 0


def fingerprints(text: bytes) -> dict[str, str]:
    return {
        line.split()[0]: line[8:].strip()
        for line in text.decode().splitlines()
        if line[:8].strip() in ("device", "signer", "backup")
    }


def test_two_who_do_not_know_each_other(server: Server, tmp_path: Path) -> None:
    desk = Desk(tmp_path, server)
    before = fingerprints(desk.done("identity"))
    assert before["signer"] == before["backup"] == "none"
    assert "UNTRUSTED" in desk.fails("backup")
    desk.done("authority", "office", "init")
    assert (tmp_path / "office").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "office").iterdir())
    assert "has an authority already: name another folder" in desk.fails("authority", "office", "init")
    assert "knows no such device" in desk.fails("authority", "office", "enrol", "alice", "--random")
    # Who pairs says what he compared.
    assert "--fingerprint HEX, or --yes" in desk.fails("authority", "office", "pair")
    for wrong in (before["device"][:-1], before["device"] + "0", before["device"][:8], "", "x" * 64):
        assert "another one: nothing was done" in desk.fails("authority", "office", "pair", "--fingerprint", wrong)
    assert fingerprints(desk.done("identity"))["signer"] == "none"
    right = before["device"].replace(" ", ":").upper()
    desk.done("authority", "office", "pair", "--fingerprint", right)
    own = fingerprints(desk.done("authority", "office", "show"))
    assert fingerprints(desk.done("identity")) == own | {"device": before["device"]}
    assert own["device"] == before["device"]
    # Again is nothing new. Somebody else comes too late.
    desk.done("authority", "office", "pair", "--fingerprint", right)
    desk.done("authority", "elsewhere", "init")
    assert "trusts another authority" in desk.fails("authority", "elsewhere", "pair", "--yes")
    assert fingerprints(desk.done("identity"))["signer"] == own["signer"]


def test_a_wrapped_key(desk: Desk, server: Server) -> None:
    """The clients have their keys, the server never sees them: it relays, and opens nothing."""
    for name, key in (("alice", ALICE), ("bob", BOB)):
        (desk.folder / name).write_bytes(key)
        desk.done("authority", "office", "enrol", name, "--in", name, "--use", RELAYED, "--named")
    with server.connect() as admin:
        info = about(admin, "alice")
        assert (info["enrolled"], info["bytes"], info["use"]) == (1, 16, b"seal,from,to,named")
        assert code(admin.ask("SET", "alice", BOB)) == "ENROLLED"
        assert code(admin.ask("GENERATE", "alice")) == "ENROLLED"
        assert server.info()["keys_enrolled"] == "2"
    payload = payload_tool(desk, "seal", "alice", "alice", "--topic", "news", given=PLAIN)
    head, nonce, sealed = payload[:9], payload[9:21], payload[21:]
    with server.connect("broker") as broker, server.connect("bob") as bob:
        (copy,) = message_of(broker.ask("RELAY", "alice", nonce, sealed, head + b"news", "bob"))
        got = payload_tool(desk, "open", "bob", "--topic", "news", given=head + b"".join(message_of(copy)))
        assert got == PLAIN
        assert code(bob.ask("OPEN", "bob", *message_of(copy), head + b"news")) == "NOUSE"
        # Not to a key that the normal world set, nor by another topic.
        copies = message_of(broker.ask("RELAY", "alice", nonce, sealed, head + b"news", "carol"))
        assert code(copies[0]) == "NOUSE"
        assert code(broker.ask("RELAY", "alice", nonce, sealed, head + b"other", "bob")) == "BADTAG"


def payload_tool(desk: Desk, *words: str, given: bytes) -> bytes:
    return subprocess.run(
        [TOOL.with_name("keycache-payload"), *words], input=given, capture_output=True, check=True, cwd=desk.folder
    ).stdout


def test_statements_are_carried_and_good_once(desk: Desk, server: Server, another: Server) -> None:
    (desk.folder / "key").write_bytes(BOB)
    for number in ("1", "2"):
        desk.done("authority", "office", "enrol", "alice", "--in", "key", "--statement", number, "--at-once")
    with server.connect() as admin:
        assert about(admin, "alice")["enrolled"] == 0
    desk.done("enrol", "2", "--keep", "1000", "--expire", "500")
    with server.connect() as admin:
        info = about(admin, "alice")
        assert (info["enrolled"], info["previous"], info["use"]) == (1, 0, b"seal,open,from,to")
        assert admin.ask("TTL", "alice") == 500
        assert admin.ask("GET", "nobody") is None
    for number in ("1", "2"):
        assert "OLD " in desk.fails("enrol", number)
    # Nor after the key is gone: who removes it cannot bring an old one back.
    desk.done("del", "alice")
    assert "OLD " in desk.fails("enrol", "2")
    # It is for this device, and of this authority, bit by bit.
    desk.done("authority", "office", "enrol", "alice", "--in", "key", "--statement", "3")
    assert "UNTRUSTED" in desk.fails("enrol", "3", server=another)
    good = (desk.folder / "3").read_bytes()
    for at in (8, 20, 100, 150, 200, 250, 299):
        (desk.folder / "bad").write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert desk.fails("enrol", "bad")
    (desk.folder / "bad").write_bytes(good[:-1])
    assert "is no such statement" in desk.fails("enrol", "bad")
    assert "stands in the statement" in desk.fails("enrol", "3", "--use", "seal")
    desk.done("enrol", "3")


def test_the_serial_never_goes_back(desk: Desk) -> None:
    """Also with a clock that does."""
    serial = desk.folder / "office" / "serial"
    last = int(serial.read_text())
    serial.write_text(f"{last + 10**12}\n")
    desk.done("authority", "office", "enrol", "alice", "--random")
    assert int(serial.read_text()) == last + 10**12 + 1
    serial.write_text("soon\n")
    assert "is no number" in desk.fails("authority", "office", "enrol", "alice", "--random")


def test_an_enrolled_key_is_got_only_if_that_was_asked_for(desk: Desk) -> None:
    """The fixture's server has --allow-get."""
    enrol = ("authority", "office", "enrol", "alice", "--random")
    for words, use in (
        ((), "seal,open,from,to"),
        (("--named",), "seal,open,from,to,named"),
        (("--use", "seal,open,from,to,Get"), "seal,open,from,to,get"),
        (("--use", "open,get", "--named"), "open,get,named"),
        (("--use", "open"), "open"),
    ):
        desk.done(*enrol, *words)
        assert f"use:{use}\n".encode() in desk.done("keyinfo", "alice")


def test_the_next_authority_goes_on_with_later_serials(desk: Desk) -> None:
    """Its clock may be behind that of the one before."""
    serial = desk.folder / "office" / "serial"
    serial.write_text(f"{int(serial.read_text()) + 10**12}\n")
    desk.done("authority", "office", "enrol", "alice", "--random")
    desk.done("authority", "next", "init")
    desk.done("authority", "office", "hand-on", "next")
    desk.done("authority", "next", "enrol", "alice", "--random")
    assert int((desk.folder / "next" / "serial").read_text()) > int(serial.read_text())


def test_an_enrolled_key_is_replaced(desk: Desk, server: Server) -> None:
    (desk.folder / "key").write_bytes(ALICE)
    desk.done("authority", "office", "enrol", "alice", "--in", "key")
    with server.connect("alice") as alice:
        old = message_of(alice.ask("SEAL", "alice", PLAIN))
        desk.done("authority", "office", "enrol", "alice", "--random", "--keep", "1000")
        assert alice.ask("OPEN", "alice", *old) == PLAIN
        desk.done("forget", "alice")
        assert "no previous key" in desk.fails("forget", "alice")
        assert code(alice.ask("OPEN", "alice", *old)) == "BADTAG"
    assert b"enrolled:1\n" in desk.done("keyinfo", "alice")
    assert "not with --at-once" in desk.fails(
        "authority", "office", "enrol", "alice", "--random", "--keep", "1", "--at-once"
    )


def test_a_key_that_is_handed_over(desk: Desk, server: Server) -> None:
    """The TEE makes it; the client alone opens what comes out, and knows from which device it is."""
    for name in ("client", "stranger"):
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.pem"],
            check=True, cwd=desk.folder, capture_output=True,
        )  # fmt: skip
    subprocess.run(
        ["openssl", "pkey", "-in", "client.pem", "-pubout", "-out", "client.pub"], check=True, cwd=desk.folder
    )
    generate = ("authority", "office", "enrol", "alice", "--generate", "--use", RELAYED, "--for", "client.pub")
    assert "--for: goes with --generate, and with --out" in desk.fails(*generate)
    desk.done(*generate, "--statement", "asked")
    assert "--out: missing" in desk.fails("enrol", "asked")
    # The statement is good once: where the key cannot be written, it is not made.
    assert "No such file" in desk.fails("enrol", "asked", "--out", "missing/parcel")
    desk.done("enrol", "asked", "--out", "parcel")
    take = ("handover", "parcel", "--device", "office/device.device")
    key = desk.done(*take, "--client-key", "client.pem")
    assert len(key) == 32
    desk.done(*take, "--client-key", "client.pem", "--out", "alice")
    assert (desk.folder / "alice").read_bytes() == key
    assert not (desk.folder / "alice").stat().st_mode & 0o077
    desk.done("authority", "office", "enrol", "bob", "--in", "alice", "--use", RELAYED)
    payload = payload_tool(desk, "seal", "alice", "alice", given=PLAIN)
    with server.connect("broker") as broker:
        (copy,) = message_of(broker.ask("RELAY", "alice", payload[9:21], payload[21:], payload[:9], "bob"))
        assert isinstance(copy, list)
    desk.done("authority", "office", "pair", "--yes", "--device", "other")
    for words in (
        (*take, "--client-key", "stranger.pem"),
        ("handover", "parcel", "--device", "client.pub", "--client-key", "client.pem"),
    ):
        assert "is not sealed by this device for this client's key" in desk.fails(*words)
    for at in (0, 20, 200, 310, 400):
        parcel = bytearray((desk.folder / "parcel").read_bytes())
        parcel[at] ^= 1
        (desk.folder / "bad").write_bytes(parcel)
        assert desk.fails("handover", "bad", "--device", "office/device.device", "--client-key", "client.pem")
    # One that is for nobody.
    desk.done("authority", "office", "enrol", "carol", "--generate", "--bytes", "16")
    assert b"bytes:16\n" in desk.done("keyinfo", "carol")


def test_nothing_stays_of_a_previous_key_that_goes_at_once(desk: Desk, server: Server) -> None:
    enrol = ("authority", "office", "enrol", "alice", "--random")
    desk.done(*enrol)
    records = int(server.info()["shadow_records"])
    desk.done(*enrol, "--keep", "1000")
    now = server.info()
    assert (int(now["shadow_records"]), now["forgetting_keys"]) == (records + 1, "1")
    desk.done(*enrol, "--at-once")
    now = server.info()
    assert (int(now["shadow_records"]), now["forgetting_keys"]) == (records, "0")


def test_a_statement_is_good_before_a_deadline_is_set(desk: Desk, server: Server) -> None:
    """Should the server end in between, nothing is left of a statement that nobody signed."""
    desk.done("authority", "office", "enrol", "alice", "--random", "--statement", "one")
    good = (desk.folder / "one").read_bytes()
    forged = good[:250] + bytes([good[250] ^ 1]) + good[251:]
    journal = server.folder / "shadow" / "deadlines.log"
    before = journal.read_bytes()
    with server.connect() as admin:
        for words in (["EX", "1000"], ["KEEP", "1000"], ["EX", "1000", "KEEP", "1000"]):
            assert code(admin.ask("ENROL", forged, *words)) == "UNTRUSTED"
        assert journal.read_bytes() == before
        assert admin.ask("ENROL", good, "EX", "1000") == "OK"
        assert admin.ask("TTL", "alice") == 1000
        # Nor of one that was good once.
        before = journal.read_bytes()
        assert code(admin.ask("ENROL", good, "EX", "10", "KEEP", "10")) == "OLD"
        assert journal.read_bytes() == before


def test_an_authority_that_was_not_finished(desk: Desk) -> None:
    """What an `init` could not finish it takes away; of what it finds half made it says what to do."""
    result = subprocess.run(
        [TOOL, "authority", "late", "init"],
        cwd=desk.folder,
        capture_output=True,
        # A write that is too long is an error then, and not the end.
        restore_signals=False,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (200, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        ),
    )
    assert result.returncode and list((desk.folder / "late").iterdir()) == []
    desk.done("authority", "late", "init")
    whole = {path.name: path.read_bytes() for path in (desk.folder / "late").iterdir()}
    assert "has an authority already: name another folder" in desk.fails("authority", "late", "init")
    for name in sorted(whole):
        (desk.folder / "late" / name).unlink()
        assert "is half an authority" in desk.fails("authority", "late", "init")
        (desk.folder / "late" / name).write_bytes(whole[name])
    assert {path.name: path.read_bytes() for path in (desk.folder / "late").iterdir()} == whole


def test_an_authority_with_a_passphrase(desk: Desk) -> None:
    (desk.folder / "secret").write_text(SECRET)
    (desk.folder / "other").write_text("wrong\n")
    desk.done("authority", "safe", "init", "--encrypt", "--passphrase-file", "secret")
    assert b"ENCRYPTED" in (desk.folder / "safe" / "signer.key").read_bytes()
    # Paired by who had the authority before.
    desk.done("authority", "office", "hand-on", "safe")
    assert (
        fingerprints(desk.done("identity"))["signer"] == fingerprints(desk.done("authority", "safe", "show"))["signer"]
    )
    enrol = ("authority", "safe", "enrol", "alice", "--random")
    assert "another passphrase" in desk.fails(*enrol, "--passphrase-file", "other")
    desk.done(*enrol, "--passphrase-file", "secret")
    # The one before says nothing any more.
    assert "UNTRUSTED" in desk.fails("authority", "office", "enrol", "alice", "--random")
    assert "UNTRUSTED" in desk.fails("authority", "office", "hand-on", "safe")


def test_a_backup_is_restored_on_another_device(desk: Desk, server: Server, another: Server) -> None:
    keys = {name: os.urandom(16 + 16 * (number % 2)) for number, name in enumerate(("alice", "bob", "previous"))}
    for name, key in keys.items():
        (desk.folder / name).write_bytes(key)
    with server.connect() as admin:
        for name in ("alice", "bob", "carol"):
            assert admin.ask("DEL", name) == 1
        for number in range(300):
            assert admin.ask("SET", f"client{number}", b"%-16d" % number) == "OK"
        assert admin.ask("SET", "plain", BOB, "USE", "seal,open") == "OK"
    desk.done("authority", "office", "enrol", "alice", "--in", "previous")
    with server.connect("alice") as alice:
        old = message_of(alice.ask("SEAL", "alice", PLAIN))
    desk.done("authority", "office", "enrol", "alice", "--in", "alice", "--keep", "1000", "--use", "seal,open,to")
    desk.done("authority", "office", "enrol", "bob", "--in", "bob", "--use", RELAYED)
    (desk.folder / "saved").write_bytes(b"an older one")
    assert desk("--as", "bob", "backup", "--out", "saved")[0] == 4
    assert desk("--port", "1", "backup", "--out", "saved")[0] == 3
    assert (desk.folder / "saved").read_bytes() == b"an older one"
    desk.done("backup", "--out", "saved")
    assert not (desk.folder / "saved.new").exists()
    saved = (desk.folder / "saved").read_bytes()
    assert not any(key in saved for key in (*keys.values(), BOB, b"%-16d" % 7))
    restore = ("authority", "office", "restore", "saved", "--device", "spare")
    assert "knows no such device" in desk.fails(*restore)
    desk.done("authority", "office", "pair", "--yes", "--device", "spare", server=another)
    assert b"303 clients have their keys" in desk.done(*restore, server=another)
    with another.connect() as admin, another.connect("alice") as alice:
        assert alice.ask("OPEN", "alice", *old) == PLAIN
        for name, use, enrolled in (
            ("alice", b"seal,open,to", 1),
            ("bob", b"seal,from,to", 1),
            ("plain", b"seal,open", 0),
        ):
            info = about(admin, name)
            assert (info["use"], info["enrolled"]) == (use, enrolled)
        assert about(admin, "alice")["previous"] == 1
        assert another.info()["keys"] == "303"
        assert admin.ask("DEL", "plain") == 1
    assert b"303 clients" in desk.done(*restore, "--all", server=another)
    with another.connect() as admin:
        assert about(admin, "plain")["enrolled"] == 1
    # A part that is missing, another authority's, somebody else's making.
    for name, bad in (
        ("end", saved[:-128]),
        ("beginning", b"".join(parts_of(saved)[1:])),
        ("bit", saved[:-1] + bytes([saved[-1] ^ 1])),
        ("more", saved + saved),
        ("nothing", b""),
        ("noise", os.urandom(500)),
    ):
        (desk.folder / name).write_bytes(bad)
        problem = desk.fails("authority", "office", "restore", name, "--device", "spare", server=another)
        assert "keycache: the backup: " in problem, name
    desk.done("authority", "stranger", "init")
    (desk.folder / "stranger" / "device.device").write_bytes((desk.folder / "office" / "device.device").read_bytes())
    assert "does not open" in desk.fails("authority", "stranger", "restore", "saved", server=another)


# Of a part's beginning (struct keycache_backup), and of a key in it (struct keycache_saved).
PART, SAVED = 144, 128


def parts_of(saved: bytes) -> list[bytes]:
    parts = []
    while saved:
        size = PART + SAVED * int.from_bytes(saved[8:12], "little")
        parts.append(saved[:size])
        saved = saved[size:]
    return parts


def as_end(part: bytes) -> bytes:
    """The same part, which says that nothing follows."""
    return part[:1] + b"\1" + part[2:]


def test_a_backup_is_whole_and_of_one_piece(desk: Desk, server: Server, another: Server) -> None:
    """Of its parts most have no key: these, too, are none of another backup, none left out, and none made up."""
    desk.done("authority", "office", "pair", "--yes", "--device", "spare", server=another)
    desk.done("authority", "office", "enrol", "dora", "--random")
    desk.done("backup", "--out", "first")
    desk.done("authority", "office", "enrol", "dora", "--random")
    desk.done("backup", "--out", "second")
    desk.done("backup", "--out", "others", server=another)
    first, second, others = (parts_of((desk.folder / name).read_bytes()) for name in ("first", "second", "others"))
    empty = [number for number, part in enumerate(first[:-1]) if len(part) == PART]
    assert len(first) == len(second) and len(empty) > 1
    (full,) = (number for number, part in enumerate(first) if len(part) > PART)
    at = empty[0]
    desk.done("authority", "office", "restore", "second")
    taken = []
    for name, parts in (
        ("older key", [*second[:full], first[full], *second[full + 1 :]]),
        ("older part", [*second[:at], first[at], *second[at + 1 :]]),
        ("another device's part", [*second[:at], others[at], *second[at + 1 :]]),
        ("early end", [*second[:at], as_end(second[at])]),
        ("part twice", [*second[: at + 1], *second[at:]]),
        ("part missing", [*second[:at], *second[at + 1 :]]),
        ("other order", [*second[:at], second[at + 1], second[at], *second[at + 2 :]]),
        ("end missing", second[:-1]),
        ("two ends", [*second, second[-1]]),
        ("made up", [*second[:at], second[at][: PART - 16] + bytes(16), *second[at + 1 :]]),
    ):
        (desk.folder / "bad").write_bytes(b"".join(parts))
        got, _, problem = desk("authority", "office", "restore", "bad", "--device", "spare", server=another)
        if not got or "keycache: the backup: " not in problem:
            taken.append(name)
    assert taken == []
    # Who begins another backup ends the one that goes on.
    with server.connect() as admin:
        begun = [admin.ask("BACKUP", "0") for _ in range(2)]
        assert isinstance(begun[0], list)
        assert isinstance(begun[1], list)
        cursor = begun[0][0]
        assert cursor == begun[1][0] != b"0"
        admin.ask("BACKUP", cursor)
        assert "begin with 0" in str(admin.ask("BACKUP", cursor))


WRONG: list[tuple[list[str], str]] = [
    (["authority"], "name a folder"),
    (["authority", "office"], "name a folder"),
    (["authority", "office", "fly"], "expected init, show"),
    (["authority", "nowhere", "show"], "No such file"),
    (["authority", "office", "enrol"], "expected init, show"),
    (["authority", "office", "enrol", "x" * 65, "--random"], "1 to 64"),
    (["authority", "office", "enrol", "alice", "--random", "--use", "fly"], "a use is some of"),
    (["authority", "office", "enrol", "alice", "--in", "office/serial"], "16 or 32 bytes"),
    (["authority", "office", "enrol", "alice", "--generate", "--for", "office/serial", "--out", "x"], "no public key"),
    (["authority", "office", "enrol", "alice", "--random", "--device", "../office"], "knows no such device"),
    (["authority", "office", "restore", "nowhere"], "No such file"),
    (["authority", "office", "hand-on", "./office"], "is this authority itself"),
    (["authority", "office", "hand-on", "nowhere"], "No such file"),
    (["handover", "office/serial"], "--client-key FILE and --device FILE"),
    (["enrol", "office/serial"], "no such statement"),
    (["trust", "office/serial"], "no such statement"),
    (["set", "alice", "--random", "--bytes", "24"], "16 or 32 bytes"),
    (["set", "alice", "--random", "--keep", "0"], "expected 1 to"),
    (["set", "alice", "--random", "--expire", "x"], "expected 1 to"),
]


@pytest.mark.parametrize(
    ("words", "problem"), WRONG, ids=lambda one: " ".join(one)[:40] if isinstance(one, list) else ""
)
def test_what_is_wrong(desk: Desk, words: list[str], problem: str) -> None:
    assert problem in desk.fails(*words)


def test_the_tool_sets_and_generates(desk: Desk, server: Server) -> None:
    desk.done("set", "alice", "--random", "--use", RELAYED, "--keep", "100", "--expire", "200")
    desk.done("generate", "bob", "--bytes", "16", "--use", "open", "--named")
    desk.done("set", "carol", "--random", "--named")
    with server.connect() as admin:
        info = about(admin, "alice")
        assert (info["use"], info["previous"]) == (RELAYED.encode(), 1)
        # Seconds that are left: a busy host takes some of them.
        assert 170 <= int(str(info["delete-in"])) <= 200
        assert (about(admin, "bob")["use"], about(admin, "bob")["bytes"]) == (b"open,named", 16)
        assert about(admin, "carol")["use"] == b"seal,open,from,to,get,named"


def test_the_audit_log_says_who_was_enrolled(desk: Desk, server: Server, tmp_path: Path) -> None:
    server.restart("--allow-get", "--audit", f"{tmp_path}/log")
    desk.done("authority", "office", "enrol", "alice", "--random", "--statement", "one")
    desk.done("enrol", "one")
    desk.fails("enrol", "one")
    assert "no previous key" in desk.fails("forget", "alice")
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    told = [(line["event"], line["from"], line["outcome"]) for line in lines if line["kind"] in ("change", "refusal")]
    assert told == [("ENROL", "alice", "OK"), ("ENROL", "alice", "OLD"), ("FORGET", "alice", "NOKEY")]


def test_two_desks_at_once(desk: Desk) -> None:
    """Serials differ although two make statements at the same time: each waits for the folder."""
    calls = [
        subprocess.Popen(
            [TOOL, "authority", "office", "enrol", "alice", "--random", "--statement", f"s{number}"], cwd=desk.folder
        )
        for number in range(8)
    ]
    assert [call.wait() for call in calls] == [0] * 8
    serials = {(desk.folder / f"s{number}").read_bytes()[8:16] for number in range(8)}
    assert len(serials) == 8


def test_no_change_of_a_backup_opens(desk: Desk, another: Server) -> None:
    """A bit anywhere, an end anywhere, a count of any size: nothing is restored, and the tool ends with a reason."""
    desk.done("authority", "office", "pair", "--yes", "--device", "spare", server=another)
    for name in ("dora", "emil"):
        desk.done("authority", "office", "enrol", name, "--random")
    desk.done("backup", "--out", "saved")
    saved = (desk.folder / "saved").read_bytes()
    parts = parts_of(saved)
    full = max(parts, key=len)
    start = saved.index(full)
    # Every field of a part with keys, and of its first key.
    places = [start + at for at in (*range(0, 32, 3), *range(32, PART, 9), *range(PART, PART + SAVED, 7))]
    changed = [saved[:at] + bytes([saved[at] ^ 1 << at % 8]) + saved[at + 1 :] for at in (*places, len(saved) - 1)]
    counts = (0, 1, 2, 3, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, (1 << 32) // SAVED, (1 << 25) + 1)
    there = int.from_bytes(full[8:12], "little")
    changed += [
        saved[: start + 8] + count.to_bytes(4, "little") + saved[start + 12 :] for count in counts if count != there
    ]
    changed += [saved[:end] for end in (*range(0, PART, 29), start + 1, start + PART, start + PART + 1, len(saved) - 1)]
    # Keys of a part in another order, one of them twice, and one of another part's.
    keys = [full[at : at + SAVED] for at in range(PART, len(full), SAVED)]
    changed += [saved.replace(b"".join(keys), b"".join(reversed(keys)))] if len(keys) > 1 else []
    changed += [saved.replace(full, full[:8] + (there + 1).to_bytes(4, "little") + full[12:] + keys[0])]
    for number, bad in enumerate(changed):
        assert bad != saved, number
        (desk.folder / "bad").write_bytes(bad)
        got, _, problem = desk("authority", "office", "restore", "bad", "--device", "spare", server=another)
        assert (got, "keycache: the backup: " in problem) == (4, True), (number, got, problem)
    with another.connect() as admin:
        assert admin.ask("EXISTS", "dora") == 0
    desk.done("authority", "office", "restore", "saved", "--device", "spare", server=another)


def test_keys_that_change_while_a_backup_is_made(desk: Desk, server: Server, another: Server) -> None:
    """Who owns the normal world asks for parts when it likes, and moves a key between two of them.

    What is restored is the newest key that any part has, without those before it.
    """
    desk.done("authority", "office", "pair", "--yes", "--device", "spare", server=another)
    enrol = ("authority", "office", "enrol", "alice", "--use", "seal,open,get", "--in")
    keys = [os.urandom(16) for _ in range(12)]
    for number, key in enumerate(keys):
        (desk.folder / f"k{number}").write_bytes(key)
    desk.done(*enrol, "k0")
    with server.connect("alice") as alice:
        oldest = message_of(alice.ask("SEAL", "alice", PLAIN))
    desk.done(*enrol, "k1", "--keep", "1000")
    parts: list[bytes] = []
    found = 0
    with server.connect() as admin:
        # So many that a client's bucket goes over two parts.
        for start in range(0, 3000, 100):
            numbers = range(start, start + 100)
            admin.send(b"".join(encoded("SET", f"client{number}", b"%-16d" % number) for number in numbers))
            assert [admin.reply() for _ in numbers] == ["OK"] * 100
        cursor = b"0"
        while not parts or cursor != b"0":
            answer = admin.ask("BACKUP", cursor)
            assert isinstance(answer, list)
            cursor = answer[0]
            parts.append(answer[1])
            names = [answer[1][at + 16 : at + 16 + SAVED // 2] for at in range(PART, len(answer[1]), SAVED)]
            newest = min(len(parts), len(keys) - 1)
            found = newest if any(name.rstrip(b"\0") == b"alice" for name in names) else found
            if len(parts) + 1 < len(keys):
                admin.ask("DEL", "alice")
                # One of them takes the place that alice had.
                fillers = [encoded("SET", f"filler{len(parts)}-{each}", b"%-16d" % each) for each in range(100)]
                admin.send(b"".join(fillers))
                assert [admin.reply() for _ in fillers] == ["OK"] * 100
                desk.done(*enrol, f"k{len(parts) + 1}", "--at-once")
    assert found
    (desk.folder / "saved").write_bytes(b"".join(parts))
    desk.done("authority", "office", "restore", "saved", "--device", "spare", server=another)
    with another.connect() as admin, another.connect("alice") as alice:
        assert alice.ask("GET", "alice") == keys[found]
        if found > 1:
            assert about(admin, "alice")["previous"] == 0
            assert code(alice.ask("OPEN", "alice", *oldest)) == "BADTAG"
