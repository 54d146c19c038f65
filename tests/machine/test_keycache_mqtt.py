# SPDX-License-Identifier: BSD-2-Clause
"""The broker that cannot read: the demo with stock MQTT clients, typed; and what relaying a message costs."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from machines import RunCase, Tool, lines_of_demo
from worldwise.families.keycache import build as keycache
from worldwise.lab.image import ImageStore
from worldwise.plan.case import parse_case
from worldwise.records.models import Sample
from worldwise.records.parse import parse_line
from worldwise.targets.all_targets import EMULATED

# The first start builds roots, programs and images.
pytestmark = pytest.mark.timeout(1800)

SUBSCRIBERS = [f"sub{number}" for number in range(8)]
FOLDER = "keycache-demo"

# An empty invoke; and for each of four receivers a fourth of opening a message of 256 bytes and all of sealing one, in
# a TA that does nothing else, of which it may cost so many times as much.
EMPTY, AES, ALLOWED = 30_505, 60_640, 1.3


def opened(payload: bytes, key: bytes) -> bytes | None:
    """The text of a payload, or None if it is not sealed by this key. Written anew, beside the helper that is tried."""
    at = 4 + payload[3]
    try:
        return AESGCM(key).decrypt(payload[at : at + 12], payload[at + 12 :], payload[:at])
    except InvalidTag:
        return None


@dataclass
class Demo:
    """A demo that runs: its folder, and what it said can be typed."""

    folder: Path
    typed: list[str]

    def shell(self, *lines: str) -> str:
        """Types these lines in the shell that the demo names, with the functions that it printed. Returns what they
        print; every line must succeed.
        """
        functions = [line for line in self.typed if "() {" in line]
        got = keycache.broker_root().run(
            ["bash", "-euc", "\n".join([*functions, *lines])],
            binds=[(self.folder, f"/work/{FOLDER}", "rw")],
            chdir="/work",
            network=True,
            timeout=120,
            check=False,
        )
        assert got.returncode == 0, got.stdout[-2000:] + got.stderr[-2000:]
        return got.stdout

    def secret(self, name: str) -> bytes:
        return (self.folder / f"{name}.secret").read_bytes()

    def payloads(self, name: str) -> list[bytes]:
        """What mosquitto_sub left in the file NAME, in hexadecimal, among its messages."""
        lines = (self.folder / name).read_text(encoding="ascii", errors="replace").split()
        return [bytes.fromhex(line) for line in lines if line.startswith(b"KC1".hex())]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    work = tmp_path_factory.mktemp("mqtt")
    clients = [word for name in ("alice", *SUBSCRIBERS) for word in ("--client", name)]
    process = Tool(work).start("keycache", "demo", "--mqtt", "--port", "0", "--mqtt-port", "0", *clients)
    try:
        lines = lines_of_demo(process)
        yield Demo(work / FOLDER, [line.strip() for line in lines if line.startswith("  ")])
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()
    assert not (work / FOLDER).exists()


def publish(topic: str, text: str, options: str = "") -> str:
    seal = f"payload seal alice {FOLDER}/alice.secret"
    return f"echo {text} | {seal} | mosquitto_pub $(tls alice) -t {topic} {options} -s"


def subscribe(name: str, topic: str, options: str) -> str:
    return f"mosquitto_sub $(tls {name}) -t {topic} {options}"


def test_what_is_printed_can_be_typed(demo: Demo) -> None:
    """Every command, in the shell that it names: the message is opened, is sealed on the way, and a revoked client's
    key is gone.
    """
    *others, last = SUBSCRIBERS
    commands = [line for line in demo.typed if "() {" not in line and not line.startswith(("cd ", "touch "))]
    (enter,) = [line for line in commands if " lab enter " in line]
    assert enter.endswith(f"lab enter --root broker --network --lend {FOLDER} bash")
    said = demo.shell(*(line for line in commands if line != enter))
    assert said.startswith("hello\n") and "K   C   1" in said and said.endswith("1\n0\n")
    # Who is not revoked gets it as before.
    got = demo.shell(f"{subscribe(others[0], 'news', '-C 1 -N')} | payload open {FOLDER}/{others[0]}.secret")
    assert got == "hello\n"
    demo.shell(f"kc admin -x set {last} <{FOLDER}/{last}.secret")


def test_eight_subscribers_get_eight_ciphertexts(demo: Demo) -> None:
    options = "-d -F %x -C 1 -W 60"
    listening = [f"stdbuf -oL {subscribe(name, 'live', options)} >{FOLDER}/{name}.live &" for name in SUBSCRIBERS]
    ready = [f"until grep -q SUBACK {FOLDER}/{name}.live; do sleep 0.1; done" for name in SUBSCRIBERS]
    demo.shell(*listening, *ready, publish("live", "secret"), "wait")
    found = {name: demo.payloads(f"{name}.live") for name in SUBSCRIBERS}
    assert all(len(payloads) == 1 for payloads in found.values())
    assert len({payloads[0] for payloads in found.values()}) == len(SUBSCRIBERS)
    for name, (payload,) in found.items():
        for other in ("alice", *SUBSCRIBERS):
            assert opened(payload, demo.secret(other)) == (b"secret\n" if other == name else None)


def test_qos_2_comes_once_to_a_session_that_was_away(demo: Demo) -> None:
    session = "-i sub0 -c -q 2"
    texts = [f"message-{number}" for number in range(3)]
    demo.shell(
        subscribe("sub0", "twice", f"{session} -E"),
        *(publish("twice", text, "-q 2") for text in texts),
        f"{subscribe('sub0', 'twice', f'{session} -F %x -W 3')} >{FOLDER}/qos2 || true",
    )
    found = [opened(payload, demo.secret("sub0")) for payload in demo.payloads("qos2")]
    assert found == [f"{text}\n".encode() for text in texts]


def test_a_killed_broker_still_has_what_was_retained(demo: Demo) -> None:
    """A client that is connected all the time sees the broker go: it ends, or connects a second time. The broker's own
    uptime does not show it, which stands still for ten seconds.
    """
    witness = f"{FOLDER}/witness"
    demo.shell(
        publish("kept", "retained", "-q 1 -r"),
        f"stdbuf -oL {subscribe('sub1', 'nothing', '-d')} >{witness} 2>&1 & first=$!",
        f"until grep -q SUBACK {witness}; do sleep 0.1; done",
        "sleep 3",
        f"touch {FOLDER}/kill-broker",
        f"while test -e {FOLDER}/kill-broker; do sleep 0.1; done",
        f"while kill -0 $first && test $(grep -c CONNACK {witness}) -lt 2; do sleep 0.1; done",
        f"until {subscribe('sub2', 'kept', '-F %x -C 1 -W 5')} >{FOLDER}/kept; do sleep 0.5; done",
        "kill $first || true",
    )
    assert [opened(one, demo.secret("sub2")) for one in demo.payloads("kept")] == [b"retained\n"]


def test_without_the_key_cache_nothing_is_lost_and_nothing_goes_out_as_it_came(demo: Demo) -> None:
    session = "-i sub2 -c -q 1"
    demo.shell(
        subscribe("sub2", "away", f"{session} -E"),
        f"touch {FOLDER}/kill-server",
        f"while test -e {FOLDER}/kill-server; do sleep 0.1; done",
        "sleep 0.5",
        f"until {publish('away', 'later', '-q 1')} 2>>{FOLDER}/turned-away; do sleep 0.5; done",
        f"{subscribe('sub2', 'away', f'{session} -F %x -W 3')} >{FOLDER}/away || true",
    )
    found = [opened(one, demo.secret("sub2")) for one in demo.payloads("away")]
    # Who was turned away sends again, so that QoS 1 may bring it more than once.
    assert found and set(found) == {b"later\n"}
    assert (demo.folder / "turned-away").read_text(), "it was never away"


# --- what it costs ---


def samples_of(records: bytes) -> dict[tuple[str, str], list[Sample]]:
    """The samples after the first call, by measure and place."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for number, line in enumerate(records.splitlines(), 1):
        record = parse_line(line, "records", number)
        if isinstance(record, Sample) and record.phase == "sample":
            found.setdefault((record.measure, record.place), []).append(record)
    return found


def test_a_message_goes_to_all_by_one_call_of_the_ta_and_costs_the_same_twice(
    records_of: RunCase, images: ImageStore
) -> None:
    """The measured program opens each subscriber's message by its own key, and asks the key cache where keys were."""
    hit, off = (
        parse_case(f"optee/mbedtls-ce-O2/keycache-mqtt,size=256B,relay={relay},subscribers=4", 2)
        for relay in ("hit", "off")
    )
    machine = EMULATED[hit.target].machine(hit, images)
    first = records_of(hit, on=machine)
    assert records_of(hit, on=machine) == first
    relayed, plain = samples_of(first), samples_of(records_of(off, on=machine))
    for one, other in zip(relayed["message", "client"], plain["message", "client"], strict=True):
        assert other.count < one.count < 5 * other.count
    assert [one.spans for one in relayed["message", "invoke"]] == [1, 1]
    assert [one.spans for one in plain["message", "relay"]] == [0, 0]
    # What a receiver's message takes in a TA by AES alone, and 1.3 times that.
    for one in relayed["message", "invoke"]:
        assert 4 * 45_000 < one.count - EMPTY < 4 * ALLOWED * AES
