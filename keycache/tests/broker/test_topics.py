# SPDX-License-Identifier: BSD-2-Clause
"""Messages that are sealed for their topic: nobody moves one to another topic, and keys are replaced under them."""

import os
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from keycache_mqtt import seal, unseal
from keycached import BUILD, WAIT_SECONDS
from stack import KEYS, SUBSCRIBERS, Peer, Stack

TEXT = b"the news"
LONGEST_TOPIC = 956
ROTATIONS = int(os.environ.get("KEYCACHE_ROTATIONS", "10"))


@pytest.mark.parametrize("version", [4, 5])
def test_every_quality_of_service(stack: Stack, version: int) -> None:
    with Peer(stack, "alice", version=version) as alice, Peer(stack, "bob", version=version) as bob:
        for qos in range(3):
            bob.subscribe(f"kc2/{qos}/#", qos)
            for topic in (f"kc2/{qos}/a", f"kc2/{qos}/ü/{qos}", f"kc2/{qos}/" + "x" * (LONGEST_TOPIC - 6)):
                alice.publish_by_topic(topic, TEXT, qos)
                message = bob.next()
                assert message.topic == topic
                assert unseal(KEYS["bob"], message.payload, topic) == ("alice", TEXT)
                for other in (None, topic + "/", topic[:-1], ""):
                    with pytest.raises(ValueError, match="not sealed for this key"):
                        unseal(KEYS["bob"], message.payload, other)
        # The old format goes on, beside it.
        alice.publish("kc2/0/old", TEXT, 1)
        assert bob.text() == TEXT


def test_retained_wills_shared_subscriptions_and_sessions(stack: Stack) -> None:
    away = Peer(stack, "carol", clean=False, id="carol-topics")
    away.subscribe("topics/away", 1)
    away.leave()
    with Peer(stack, "alice") as alice, Peer(stack, "bob") as bob:
        alice.publish_by_topic("topics/retained", b"retained", 1, retain=True)
        alice.codes.get(timeout=WAIT_SECONDS)
        bob.subscribe("topics/retained", 1)
        assert bob.text_by_topic() == b"retained"
        bob.subscribe("topics/will", 1)
        will = seal("mallory", KEYS["mallory"], b"gone", "topics/will")
        Peer(stack, "mallory", will=("topics/will", will, 1, False)).vanish()
        assert bob.text_by_topic() == b"gone"
        # A will for a topic that it was not sealed for reaches nobody.
        Peer(stack, "mallory", will=("topics/will", seal("mallory", KEYS["mallory"], b"", "x"), 1, False)).vanish()
        bob.subscribe("$share/group/topics/shared", 1)
        alice.publish_by_topic("topics/shared", b"shared", 1)
        assert bob.text_by_topic() == b"shared"
        alice.publish_by_topic("topics/away", b"waited", 2)
        for _ in range(2):
            alice.codes.get(timeout=WAIT_SECONDS)
        assert bob.gets_nothing()
    with away.connect():
        assert away.text_by_topic() == b"waited"
        away.client.unsubscribe("topics/away")


def test_nobody_moves_a_message(stack: Stack) -> None:
    """Not the client that sent it, nor the broker: neither the TEE nor the receiver opens it by another topic."""
    moved = seal("mallory", KEYS["mallory"], TEXT, "moved/from")
    with Peer(stack, "mallory", version=5) as mallory, Peer(stack, "bob") as bob:
        bob.subscribe("moved/#", 1)
        # Copies of it are kept for a moment: they are the other topic's.
        for topic, good in (("moved/from", True), ("moved/to", False), ("moved/from", True), ("moved", False)):
            mallory.publish_raw(topic, moved, 1)
            assert bool(mallory.codes.get(timeout=WAIT_SECONDS).is_failure) != good
        for _ in range(2):
            message = bob.next()
            assert (message.topic, unseal(KEYS["bob"], message.payload, message.topic)[1]) == ("moved/from", TEXT)
        assert bob.gets_nothing()
        mallory.publish_by_topic("moved/" + "x" * (LONGEST_TOPIC - 5), TEXT, 1)
        assert mallory.codes.get(timeout=WAIT_SECONDS).is_failure
    # A broker that was taken over: it asks the key cache what it likes.
    head, nonce, sealed = moved[:11], moved[11:23], moved[23:]
    with stack.cache.connect("broker") as broker:
        for aad, opens in ((b"moved/from", True), (b"moved/to", False), (b"", False)):
            copies = broker.ask("RELAY", "mallory", nonce, sealed, head + aad, "bob")
            assert isinstance(copies, list) == opens
    # And gives the receiver's own copy another topic.
    with pytest.raises(ValueError, match="not sealed for this key and the topic moved/to"):
        unseal(KEYS["bob"], message.payload, "moved/to")


def test_the_helper_in_c(stack: Stack, tmp_path: Path) -> None:
    def helper(*words: str, given: bytes) -> tuple[int, bytes, str]:
        command = [str(BUILD / "keycache-payload"), *words]
        result = subprocess.run(command, input=given, capture_output=True, cwd=tmp_path)
        return result.returncode, result.stdout, result.stderr.decode()

    for name in ("alice", "bob"):
        (tmp_path / name).write_bytes(KEYS[name])
    code, payload, _ = helper("seal", "alice", "alice", "--topic", "c", given=TEXT)
    assert code == 0
    assert unseal(KEYS["alice"], payload, "c") == ("alice", TEXT)
    with Peer(stack, "alice") as alice, Peer(stack, "bob") as bob:
        bob.subscribe("c", 1)
        alice.publish_raw("c", payload, 1)
        got = bob.next().payload
    assert helper("open", "alice", "bob", "--topic", "c", given=got) == (0, TEXT, "")
    assert helper("--topic=c", "open", "bob", given=got) == (0, TEXT, "")
    assert helper("sender", given=got) == (0, b"alice\n", "")
    for words, problem in (
        (("open", "bob"), "say with --topic by which one it came"),
        (("open", "bob", "--topic", "d"), "not sealed for this key and topic"),
        (("open", "alice", "--topic", "c"), "not sealed for this key and topic"),
    ):
        code, out, said = helper(*words, given=got)
        assert (code, out) == (1, b"")
        assert problem in said
    code, _, said = helper("open", "alice", "--topic", "c", given=seal("alice", KEYS["alice"], TEXT))
    assert code == 1
    assert "sealed for no topic" in said
    assert helper("seal", "alice", "alice", "--topic", "x" * (LONGEST_TOPIC + 1), given=TEXT)[0] == 2


def test_no_message_is_lost_while_keys_are_replaced(stack: Stack) -> None:
    """A publisher under load, its key and its receivers' replaced again and again: all arrives, once, and is read.

    A client has its new key a moment after the server has: what the sender seals with the old one meanwhile is opened
    by the previous key. A receiver keeps the key before as long as the server does.
    """
    names = ("alice", *SUBSCRIBERS[:3])
    own = {name: [KEYS[name]] for name in names}
    receivers = [Peer(stack, name, id=f"{name}-rotates") for name in names[1:]]
    sent = 0
    try:
        for receiver in receivers:
            receiver.subscribe("rotation", 1)
        with Peer(stack, "alice", version=5) as alice:

            def publish(count: int) -> None:
                nonlocal sent
                for _ in range(count):
                    payload = seal("alice", own["alice"][-1], b"%d" % sent, "rotation")
                    alice.publish_raw("rotation", payload, 1)
                    sent += 1

            for _ in range(ROTATIONS):
                for name in names:
                    publish(20)
                    stack.set_key(name, key := os.urandom(32), "KEEP", "600")
                    # In flight, and sealed with the old one.
                    publish(20)
                    # What is under way is relayed before the sender's key is replaced once more.
                    codes = [alice.codes.get(timeout=WAIT_SECONDS) for _ in range(40)]
                    assert not any(code.is_failure for code in codes)
                    own[name].append(key)
            for receiver in receivers:
                texts: Counter[bytes] = Counter()
                end = time.monotonic() + WAIT_SECONDS
                while texts.total() < sent and time.monotonic() < end:
                    texts[opened(own[receiver.name], receiver.next().payload)] += 1
                assert texts == Counter(b"%d" % number for number in range(sent))
                assert receiver.gets_nothing()
    finally:
        for receiver in receivers:
            receiver.leave()
        for name in names:
            stack.set_key(name, KEYS[name])
    assert int(stack.cache.info()["keys_previous"]) == len(names)


def opened(keys: list[bytes], payload: bytes) -> bytes:
    for key in reversed(keys):
        try:
            return unseal(key, payload, "rotation")[1]
        except ValueError:
            continue
    pytest.fail("a message that no key of the receiver's opens")
