# SPDX-License-Identifier: BSD-2-Clause
"""What users of an MQTT broker expect, of one that cannot read."""

import contextlib
import random
import signal
import ssl
import subprocess
from pathlib import Path

import pytest
from keycache_mqtt import seal, unseal
from keycached import BUILD, WAIT_SECONDS
from stack import KEYS, MOSQUITTO, SUBSCRIBERS, Peer, Stack, until

TEXT = b"the news"
OTHER = bytes(range(32))


def test_eight_receivers_get_eight_ciphertexts(stack: Stack) -> None:
    with contextlib.ExitStack() as peers:
        subscribers = [peers.enter_context(Peer(stack, name)) for name in SUBSCRIBERS]
        for subscriber in subscribers:
            subscriber.subscribe("eight", 1)
        alice = peers.enter_context(Peer(stack, "alice"))
        sent = seal("alice", KEYS["alice"], TEXT)
        alice.publish_raw("eight", sent, 1)
        payloads = {subscriber.name: subscriber.next().payload for subscriber in subscribers}
        assert len({*payloads.values(), sent}) == 9
        for name, payload in payloads.items():
            for other, key in KEYS.items():
                if other == name:
                    assert unseal(key, payload) == ("alice", TEXT)
                else:
                    with pytest.raises(ValueError, match="not sealed for this key"):
                        unseal(key, payload)
        assert all(subscriber.gets_nothing() for subscriber in subscribers[:1])


def test_a_certificate_is_read_once_for_a_message(stack: Stack) -> None:
    """The sender's, and each receiver's: whether it may have the message, and whose key seals it, is one question."""
    with contextlib.ExitStack() as peers:
        alice = peers.enter_context(Peer(stack, "alice"))
        subscribers = [peers.enter_context(Peer(stack, name)) for name in SUBSCRIBERS]
        for subscriber in subscribers:
            subscriber.subscribe("once")
        before = stack.names_read()
        alice.publish("once", TEXT)
        assert {subscriber.text() for subscriber in subscribers} == {TEXT}
        assert stack.names_read() - before == 1 + len(SUBSCRIBERS)


@pytest.mark.parametrize("version", [4, 5])
def test_every_quality_of_service(stack: Stack, version: int) -> None:
    with Peer(stack, "alice", version=version) as alice, Peer(stack, "bob", version=version) as bob:
        for qos in range(3):
            bob.subscribe(f"qos/{qos}", qos)
            for size in (0, 1, 1000, 65_536):
                alice.publish(f"qos/{qos}", bytes(size), qos)
                message = bob.next()
                assert (message.qos, message.topic, message.retain) == (qos, f"qos/{qos}", False)
                assert unseal(KEYS["bob"], message.payload) == ("alice", bytes(size))
        assert bob.gets_nothing()


def test_stock_clients_on_the_command_line(stack: Stack, tmp_path: Path) -> None:
    """mosquitto_pub and mosquitto_sub, with the helper in C at one end and the one in Python at the other."""
    for name in ("alice", "bob"):
        (tmp_path / name).write_bytes(KEYS[name])
    helper = [BUILD / "keycache-payload"]

    def words(program: str, name: str) -> list[str]:
        files = [f"--cafile={stack.ca}/ca.crt", f"--cert={stack.ca}/{name}.crt", f"--key={stack.ca}/{name}.key"]
        return [
            str(MOSQUITTO / program), *" ".join(files).replace("=", " ").split(), "-h", "localhost",
            "-p", str(stack.port), "-t", "line", "-q", "1",
        ]  # fmt: skip

    payload = subprocess.run(
        [*helper, "seal", "alice", tmp_path / "alice"], input=TEXT, capture_output=True, check=True
    )
    assert unseal(KEYS["alice"], payload.stdout) == ("alice", TEXT)
    subprocess.run(
        [*words("mosquitto_pub", "alice"), "-r", "-s"], input=payload.stdout, check=True, timeout=WAIT_SECONDS
    )
    got = subprocess.run(
        [*words("mosquitto_sub", "bob"), "-C", "1", "-N"], capture_output=True, check=True, timeout=WAIT_SECONDS
    ).stdout
    assert unseal(KEYS["bob"], got) == ("alice", TEXT)
    opened = subprocess.run([*helper, "open", tmp_path / "bob"], input=got, capture_output=True, check=True)
    assert opened.stdout == TEXT
    assert subprocess.run([*helper, "open", tmp_path / "alice"], input=got, capture_output=True).returncode == 1
    assert subprocess.run([*helper, "sender"], input=got, capture_output=True).stdout == b"alice\n"


def test_retained(stack: Stack) -> None:
    with Peer(stack, "alice") as alice, Peer(stack, "bob") as bob:
        alice.publish("retained", TEXT, 1, retain=True)
        alice.codes.get(timeout=WAIT_SECONDS)
        for name in ("bob", "carol"):
            with Peer(stack, name, id=f"{name}-late") as late:
                late.subscribe("retained", 1)
                message = late.next()
                assert message.retain
                assert unseal(KEYS[name], message.payload) == ("alice", TEXT)
        # Nothing, retained, removes it.
        alice.publish_raw("retained", b"", 1, retain=True)
        alice.codes.get(timeout=WAIT_SECONDS)
        bob.subscribe("retained", 1)
        assert bob.gets_nothing()


def test_a_will(stack: Stack) -> None:
    will = seal("alice", KEYS["alice"], b"gone")
    with Peer(stack, "bob") as bob:
        bob.subscribe("will", 1)
        Peer(stack, "alice", will=("will", will, 1, True)).vanish()
        assert bob.text() == b"gone"
        # The will of somebody else's words is nobody's.
        Peer(stack, "mallory", will=("will", will, 1, False)).vanish()
        assert bob.gets_nothing()
    with Peer(stack, "carol") as carol:
        carol.subscribe("will", 1)
        assert carol.text() == b"gone"


def test_a_shared_subscription(stack: Stack) -> None:
    with Peer(stack, "alice") as alice, Peer(stack, "bob") as bob, Peer(stack, "carol") as carol:
        for peer in (bob, carol):
            peer.subscribe("$share/group/shared", 1)
        for number in range(10):
            alice.publish("shared", b"%d" % number, 1)
        texts = [peer.text() for peer in (bob, carol) for _ in range(5)]
        assert sorted(texts) == [b"%d" % number for number in range(10)]
        assert bob.gets_nothing()
        assert carol.gets_nothing()


@pytest.mark.parametrize("version", [4, 5])
def test_a_session_that_outlives_its_connection(stack: Stack, version: int) -> None:
    bob = Peer(stack, "bob", version=version, clean=False, id=f"bob-{version}")
    bob.subscribe("session", 1)
    bob.leave()
    with Peer(stack, "alice") as alice:
        for number in range(30):
            alice.publish("session", b"%d" % number, 1)
        for _ in range(30):
            alice.codes.get(timeout=WAIT_SECONDS)
    with bob.connect():
        assert [bob.text() for _ in range(30)] == [b"%d" % number for number in range(30)]
        bob.client.unsubscribe("session")


def test_the_brokers_own_topics(stack: Stack) -> None:
    with Peer(stack, "keyless") as keyless:
        keyless.subscribe("$SYS/broker/version")
        assert keyless.next().payload.startswith(b"mosquitto version 2.1")


def test_who_has_no_key_gets_nothing(stack: Stack) -> None:
    """Nor is anybody else's delivery held up, nor its own later: more messages than may be in flight pass it by."""
    with Peer(stack, "alice") as alice, Peer(stack, "bob") as bob, Peer(stack, "keyless", clean=False) as keyless:
        for peer in (bob, keyless):
            peer.subscribe("key", 2)
        for number in range(30):
            alice.publish("key", b"%d" % number, 1 + number % 2)
        assert sorted(bob.text() for _ in range(30)) == sorted(b"%d" % number for number in range(30))
        assert keyless.gets_nothing()
        stack.set_key("keyless", OTHER)
        alice.publish("key", TEXT, 1)
        assert unseal(OTHER, keyless.next().payload) == ("alice", TEXT)
        # And taken away again, with messages that wait.
        keyless.leave()
        alice.publish("key", TEXT, 1)
        assert bob.text() == TEXT
        assert bob.text() == TEXT
        stack.remove_key("keyless")
        keyless.connect()
        assert keyless.gets_nothing()
        keyless.client.unsubscribe("key")


def test_what_waits_and_cannot_be_relayed_any_more_goes_out_empty(stack: Stack) -> None:
    """A receiver that confirms nothing has one message in flight; the next one's sender gets another key meanwhile."""
    with (
        Peer(stack, "alice") as alice,
        Peer(stack, "carol") as carol,
        Peer(stack, "bob", version=5, receive_maximum=1, manual_ack=True) as bob,
    ):
        bob.subscribe("waits", 1)
        carol.subscribe("other")
        alice.publish("waits", b"1", 1)
        first = bob.next()
        alice.publish("waits", b"2", 1)
        # The plugin keeps copies for a moment. These are more than it keeps.
        for _ in range(1100):
            carol_sends = seal("carol", KEYS["carol"], b"")
            carol.publish_raw("other", carol_sends)
        for _ in range(1100):
            carol.next()
        stack.set_key("alice", OTHER)
        bob.client.ack(first.mid, 1)
        second = bob.next()
        stack.set_key("alice", KEYS["alice"])
        assert second.payload == b""
        assert second.properties and second.properties.UserProperty == [("keycache", "not relayed")]
        bob.client.ack(second.mid, 1)
        alice.publish("waits", b"3", 1)
        assert bob.text() == b"3"


def refused(peer: Peer, payload: bytes) -> bool:
    """Whether MQTT 5's answer is no."""
    peer.publish_raw("abuse", payload, 1)
    return bool(peer.codes.get(timeout=WAIT_SECONDS).is_failure)


def test_a_malicious_client(stack: Stack) -> None:
    """Of all that it publishes, nothing reaches anybody; then the broker serves the others as before."""
    chance = random.Random(5)
    good = seal("mallory", KEYS["mallory"], TEXT)
    alices = seal("alice", KEYS["alice"], TEXT)
    bad = [
        b"plain text",
        *(good[:size] for size in range(1, len(good))),
        good[:-1] + bytes([good[-1] ^ 1]),
        good + b"x",
        # In the name of others: words of theirs, words of its own.
        alices,
        seal("alice", KEYS["mallory"], TEXT),
        seal("mallory", KEYS["alice"], TEXT),
        b"KC1\x00" + good[11:],
        b"KC1\xff" + good[4:],
        b"KC1\x07mall\x00ry" + good[11:],
        b"KC2" + good[3:],
        seal("mallory", KEYS["mallory"], bytes(65_537)),
        bytes(300_000),
        *(chance.randbytes(chance.randrange(1, 200)) for _ in range(100)),
        *(b"KC1\x07mallory" + chance.randbytes(chance.randrange(1, 200)) for _ in range(100)),
    ]
    with Peer(stack, "bob") as bob, Peer(stack, "mallory", version=5) as mallory:
        for topic in ("abuse", "$keycache"):
            bob.subscribe(topic, 1)
        assert all(refused(mallory, payload) for payload in bad)
        assert not refused(mallory, good)
        assert bob.text() == TEXT
        for topic in ("$SYS/broker/version", "$share/group/abuse", "$keycache", "$CONTROL/x"):
            mallory.publish_raw(topic, b"plain text", 0)
        assert bob.gets_nothing()
        with contextlib.suppress(OSError, ssl.SSLError):
            context = ssl.create_default_context(cafile=f"{stack.ca}/ca.crt")
            context.load_cert_chain(f"{stack.ca}/mallory.crt", f"{stack.ca}/mallory.key")
            for _ in range(20):
                with stack.raw(context) as raw:
                    raw.sendall(b"\x10\x13\x00\x04MQTT\x04\x02\x00\x3c\x00\x07mallory" + chance.randbytes(200))
        with Peer(stack, "alice") as alice:
            alice.publish("abuse", TEXT, 1)
            assert bob.text() == TEXT


def test_a_killed_cache_server(stack: Stack) -> None:
    """Nothing goes out that is not the receiver's; what must not be lost comes once there is a key cache again."""
    waiting = Peer(stack, "carol", clean=False, id="carol-waits")
    waiting.subscribe("killed", 1)
    waiting.leave()
    with (
        Peer(stack, "alice", version=5) as alice,
        Peer(stack, "mallory") as older,
        Peer(stack, "bob") as bob,
    ):
        bob.subscribe("killed", 1)
        alice.publish("killed", b"before", 1)
        assert bob.text() == b"before"
        assert stack.cache.end(signal.SIGKILL)[0] != 0
        # The publisher is told: not now. Before MQTT 5 its connection ends, and it comes again.
        alice.codes.get(timeout=WAIT_SECONDS)
        alice.publish("killed", b"lost", 0)
        alice.publish("killed", b"refused", 1)
        codes = [alice.codes.get(timeout=WAIT_SECONDS) for _ in range(2)]
        assert [code.is_failure for code in codes] == [False, True]
        assert codes[1].getName() == "Quota exceeded"
        connects = older.connects
        older.publish("killed", b"comes again", 1)
        until(lambda: older.connects > connects)
        # Who comes back for what waits gets it later.
        waiting.connect()
        assert waiting.gets_nothing()
        assert bob.gets_nothing()
        stack.start_cache()
        assert waiting.text() == b"before"
        assert bob.text() == b"comes again"
        assert waiting.text() == b"comes again"
        alice.publish("killed", b"after", 1)
        assert bob.text() == b"after"
        assert waiting.text() == b"after"
        assert bob.gets_nothing()
    waiting.client.unsubscribe("killed")
    waiting.leave()
    log = stack.log()
    assert "cannot be asked" in log
    assert "answers again" in log


def test_a_cache_server_that_hangs(stack: Stack) -> None:
    """The broker goes on: it gives up after its timeout, and asks again only now and then."""
    assert stack.cache.process
    with Peer(stack, "alice") as alice, Peer(stack, "keyless") as keyless, Peer(stack, "bob") as bob:
        bob.subscribe("hangs")
        stack.cache.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(50):
                alice.publish("hangs", TEXT, 0)
            keyless.subscribe("$SYS/broker/version")
            assert keyless.next().payload
            assert bob.gets_nothing()
        finally:
            stack.cache.process.send_signal(signal.SIGCONT)

        def relays() -> bool:
            alice.publish("hangs", TEXT, 0)
            return not bob.gets_nothing()

        until(relays)


def test_a_killed_broker(stack: Stack) -> None:
    """What was retained, and what waits in sessions, the next one relays: the sender's name is in the message."""
    bob = Peer(stack, "bob", clean=False, id="bob-stays")
    bob.subscribe("broker", 2)
    bob.leave()
    with Peer(stack, "alice") as alice:
        for qos in (1, 2):
            alice.publish("broker", b"%d" % qos, qos, retain=True)
            alice.codes.get(timeout=WAIT_SECONDS)
    database = stack.folder / "mosquitto.db"
    # Bob as a client, his subscription, and each message that waits for him: a message is stored before it waits.
    until(lambda: database.exists() and database.read_bytes().count(b"bob-stays") >= 4)
    assert stack.end_broker(signal.SIGKILL) == -signal.SIGKILL
    stack.start_broker()
    with bob.connect(), Peer(stack, "carol") as carol:
        assert [bob.text(), bob.text()] == [b"1", b"2"]
        carol.subscribe("broker", 1)
        assert carol.text() == b"2"
        bob.client.unsubscribe("broker")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("plugin_opt_cafile\n", ""),
        ("plugin_opt_color red\n", "plugin_opt_color is no option"),
        ("plugin_opt_keycache_timeout soon\n", "expected 1 to 60000 milliseconds"),
    ],
)
def test_options_that_are_wrong(stack: Stack, tmp_path: Path, line: str, problem: str) -> None:
    text = (stack.folder / "mosquitto.conf").read_text() + line
    if not problem:
        text = "".join(f"{one}\n" for one in text.splitlines() if not one.startswith("plugin_opt_ca"))
        problem = "plugin_opt_cafile, plugin_opt_certfile and plugin_opt_keyfile must name files"
    (tmp_path / "mosquitto.conf").write_text(text)
    code, log = stack.run_broker(tmp_path / "mosquitto.conf")
    assert code != 0
    assert problem in log
