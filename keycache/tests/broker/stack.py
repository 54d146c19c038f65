# SPDX-License-Identifier: BSD-2-Clause
"""A key cache, a broker with the plugin and clients, all on loopback."""

import os
import queue
import signal
import socket
import ssl
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from keycache_mqtt import seal, unseal
from keycached import BUILD, WAIT_SECONDS, Server
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

MOSQUITTO = Path(os.environ.get("MOSQUITTO", "/usr/sbin"))
SUBSCRIBERS = tuple(f"sub{number}" for number in range(8))
NAMES = ("alice", "bob", "carol", "mallory", "keyless", "broker", *SUBSCRIBERS)
KEYS = {name: f"{name:.<32}".encode() for name in NAMES if name not in ("keyless", "broker")}
# How long nothing must come to be taken for nothing.
QUIET_SECONDS = 0.5


def environment(folder: Path) -> dict[str, str]:
    """The broker's. A plugin that was compiled with a sanitizer needs its library loaded first."""
    counting = {"LD_PRELOAD": str(BUILD / "names.so"), "NAMES_FILE": str(folder / "names")}
    if not os.environ.get("KEYCACHE_SANITIZED"):
        return os.environ | counting
    words = ["gcc", "-print-file-name=libasan.so"]
    library = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    counting["LD_PRELOAD"] = f"{library}:{counting['LD_PRELOAD']}"
    return os.environ | counting | {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"}


class Peer:
    """A stock client, and what it got."""

    def __init__(self, stack: "Stack", name: str, **options: Any) -> None:
        self.name, self.stack = name, stack
        self.got: queue.Queue[paho.MQTTMessage] = queue.Queue()
        self.codes: queue.Queue[Any] = queue.Queue()
        self.connects = 0
        version = options.get("version", 4)
        clean = options.get("clean", True)
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=options.get("id", name),
            protocol=version,
            clean_session=clean if version == 4 else None,
            manual_ack=options.get("manual_ack", False),
        )
        self.client.tls_set(f"{stack.ca}/ca.crt", f"{stack.ca}/{name}.crt", f"{stack.ca}/{name}.key")
        self.client.reconnect_delay_set(1, 1)
        self.client.on_message = lambda _client, _data, message: self.got.put(message)
        self.client.on_publish = lambda _client, _data, _mid, code, _more: self.codes.put(code)
        self.client.on_subscribe = lambda _client, _data, _mid, codes, _more: self.codes.put(codes)
        self.client.on_connect = self._on_connect
        if will := options.get("will"):
            self.client.will_set(*will)
        self._connect: dict[str, Any] = {}
        if version == 5:
            properties = Properties(PacketTypes.CONNECT)
            if not clean:
                properties.SessionExpiryInterval = 3600
            if "receive_maximum" in options:
                properties.ReceiveMaximum = options["receive_maximum"]
            self._connect = {"clean_start": clean, "properties": properties}
        self.connect()

    def _on_connect(self, *_: object) -> None:
        self.connects += 1

    def connect(self) -> "Peer":
        before = self.connects
        self.client.connect("localhost", self.stack.port, **self._connect)
        self.client.loop_start()
        until(lambda: self.connects > before)
        return self

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def vanish(self) -> None:
        """As if the power was cut: no DISCONNECT."""
        self.client.loop_stop()
        sock = self.client.socket()
        assert sock
        sock.close()

    def subscribe(self, topic: str, qos: int = 0) -> Any:
        self.client.subscribe(topic, qos)
        return self.codes.get(timeout=WAIT_SECONDS)

    def publish_raw(self, topic: str, payload: bytes, qos: int = 0, retain: bool = False) -> None:
        self.client.publish(topic, payload, qos, retain)

    def publish(self, topic: str, text: bytes, qos: int = 0, retain: bool = False) -> None:
        self.publish_raw(topic, seal(self.name, KEYS[self.name], text), qos, retain)

    def publish_by_topic(self, topic: str, text: bytes, qos: int = 0, retain: bool = False) -> None:
        """Sealed for this topic alone."""
        self.publish_raw(topic, seal(self.name, KEYS[self.name], text, topic), qos, retain)

    def next(self) -> paho.MQTTMessage:
        return self.got.get(timeout=WAIT_SECONDS)

    def text(self) -> bytes:
        """The next one's, opened by the receiver's own key."""
        return unseal(KEYS[self.name], self.next().payload)[1]

    def text_by_topic(self) -> bytes:
        """The same of what was sealed for the topic that it came by."""
        message = self.next()
        return unseal(KEYS[self.name], message.payload, message.topic)[1]

    def gets_nothing(self) -> bool:
        try:
            self.got.get(timeout=QUIET_SECONDS)
        except queue.Empty:
            return True
        return False


def until(holds: Any) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@dataclass
class Stack:
    folder: Path
    ca: Path
    cache: Server = field(init=False)
    broker: subprocess.Popen[bytes] | None = None
    port: int = field(default_factory=free_port)
    cache_port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        (self.folder / "acl").write_text("admin admin\nrelay broker * *\n")
        self.cache = Server(self.folder, self.ca)
        self.start_cache()
        for name, key in KEYS.items():
            self.set_key(name, key)
        (self.folder / "mosquitto.conf").write_text(
            f"listener {self.port} 127.0.0.1\n"
            f"cafile {self.ca}/ca.crt\ncertfile {self.ca}/server.crt\nkeyfile {self.ca}/server.key\n"
            "require_certificate true\nuse_identity_as_username true\n"
            f"persistence true\npersistence_location {self.folder}/\n"
            "autosave_on_changes true\nautosave_interval 1\nmax_queued_messages 2000\nsys_interval 1\n"
            f"plugin {BUILD}/mosquitto_keycache.so\n"
            f"plugin_opt_cafile {self.ca}/ca.crt\nplugin_opt_certfile {self.ca}/broker.crt\n"
            f"plugin_opt_keyfile {self.ca}/broker.key\nplugin_opt_keycache_port {self.cache_port}\n"
        )
        self.start_broker()

    def start_cache(self) -> None:
        # The last --port counts: the broker must find it there again.
        self.cache.start("--port", str(self.cache_port))

    def set_key(self, name: str, key: bytes, *options: str) -> None:
        with self.cache.connect() as admin:
            assert admin.ask("SET", name, key, *options) == "OK"

    def remove_key(self, name: str) -> None:
        with self.cache.connect() as admin:
            assert admin.ask("DEL", name) == 1

    def start_broker(self) -> None:
        with (self.folder / "broker.log").open("ab") as log:
            words = [str(MOSQUITTO / "mosquitto"), "-c", str(self.folder / "mosquitto.conf")]
            self.broker = subprocess.Popen(words, stdout=log, stderr=log, env=environment(self.folder))
        until(self._listens)

    def run_broker(self, configuration: Path) -> tuple[int, str]:
        """One that ends by itself: its exit status and what it said."""
        words = [str(MOSQUITTO / "mosquitto"), "-c", str(configuration)]
        result = subprocess.run(
            words, capture_output=True, text=True, env=environment(configuration.parent), timeout=WAIT_SECONDS
        )
        return result.returncode, result.stdout + result.stderr

    def names_read(self) -> int:
        """How often the plugin has read the name of a certificate."""
        return int((self.folder / "names").read_text())

    def raw(self, context: ssl.SSLContext) -> ssl.SSLSocket:
        """A connection to the broker without a client."""
        plain = socket.create_connection(("127.0.0.1", self.port), WAIT_SECONDS)
        return context.wrap_socket(plain, server_hostname="localhost")

    def _listens(self) -> bool:
        assert self.broker and self.broker.poll() is None, self.log()
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def end_broker(self, number: int = signal.SIGTERM) -> int:
        assert self.broker
        self.broker.send_signal(number)
        code = self.broker.wait(WAIT_SECONDS)
        self.broker = None
        return code

    def log(self) -> str:
        return (self.folder / "broker.log").read_text(errors="replace")

    def end(self) -> None:
        if self.broker:
            assert self.end_broker() == 0, self.log()[-4000:]
        if self.cache.process:
            assert self.cache.end()[0] == 0
        assert "Sanitizer" not in self.log() and "runtime error" not in self.log(), self.log()[-4000:]
