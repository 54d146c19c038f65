# SPDX-License-Identifier: BSD-2-Clause
"""The secure key cache in an emulated machine, for any Redis client on the host; and a broker in it for MQTT clients.

The machine has a network card. The host reaches it only at 127.0.0.1; the machine reaches nothing. Each demo starts
empty: its keys and certificates are gone when it ends.
"""

import contextlib
import math
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.families.keycache import build as keycache
from worldwise.families.keycache.images import programs_with_broker
from worldwise.lab.expected_builds import expected, unbuilt
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.roots import MAIN
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.emulator import Emulator
from worldwise.plan.case import Case
from worldwise.targets import optee_images
from worldwise.targets.guest import kernel
from worldwise.targets.optee import OpteeMachineTarget

# The holders of certificates: the administrator, who sets keys, and the clients.
ADMIN = "admin"
CLIENTS = ("alice", "bob")
# The broker's own certificate, by which it asks the key cache.
BROKER = "broker"
STORAGES = ("ree", "rpmb")
POLICIES = ("none", "lru", "smart")

# OP-TEE's core with AES by the processor's extension: without it the TA's first start, which makes its objects in
# secure storage, takes seven times as long.
_CORE = ("mbedtls-ce", "O2")

_LOOPBACK = "127.0.0.1"
# As in guest/apps/echo/net.c, and the server's own.
_CARD = "10.0.2.15"
_SERVER_PORT = 6380
_BROKER_PORT = 8883
# guest/apps/keycache/demo/demo.c reads these, and makes what the broker's configuration names.
FOR_THE_MACHINE = ("server.crt", "server.key", "ca.crt", "acl")
_CONFIGURATION = "mosquitto.conf"
FOR_THE_BROKER = (f"{BROKER}.crt", f"{BROKER}.key", _CONFIGURATION)
_MOSQUITTO = f"""listener {_BROKER_PORT} 0.0.0.0
cafile /etc/keycached/ca.crt
certfile /etc/keycached/server.crt
keyfile /etc/keycached/server.key
require_certificate true
use_identity_as_username true
use_username_as_clientid true
persistence true
persistence_location /var/lib/mosquitto/
autosave_on_changes true
autosave_interval 1
log_dest stderr
user root
plugin /lib/mosquitto_keycache.so
plugin_opt_cafile /etc/keycached/ca.crt
plugin_opt_certfile /etc/keycached/{BROKER}.crt
plugin_opt_keyfile /etc/keycached/{BROKER}.key
"""
# A client's own key, by which it seals and opens, in the demo's folder; and the helper that does.
SECRET = ".secret"
_SECRET_BYTES = 32
HELPER = "keycache_mqtt.py"
# A file of this name in the demo's folder has the machine kill one of its two programs. It then leaves it away for a
# moment.
KILLS = {"kill-server": "server", "kill-broker": BROKER}
RANDOM = "random"
_RANDOM_BYTES = 256

# Seconds: until the server must answer (it takes some twenty on an idle host), for one attempt, between two attempts,
# and for a command to end after a signal.
START_LIMIT = 600.0
_ATTEMPT_LIMIT = 10.0
_LOOK = 0.2
_END_LIMIT = 5.0


@dataclass(frozen=True)
class DemoOptions:
    """The settings of a demo.

    Attributes:
        directory: the folder for the certificates; it must not exist yet, and is removed afterwards.
        port: the server's port on 127.0.0.1; 0 for a free port.
        storage: one of STORAGES.
        policy: one of POLICIES.
        allow_get: whether GET returns keys.
        clients: the clients that get a certificate beside ADMIN.
        acl: an access list; None for a list that lets each client re-encrypt for the next, and the broker for all.
        command: the command to run once the server answers; the demo ends with it. Empty: Ctrl-C ends the demo.
        mqtt: whether the machine has a broker, too, and each client a key in the key cache and in a file.
        mqtt_port: the broker's port on 127.0.0.1; 0 for a free port.
    """

    directory: Path
    port: int = _SERVER_PORT
    storage: str = "ree"
    policy: str = "smart"
    allow_get: bool = False
    clients: Sequence[str] = CLIENTS
    acl: Path | None = None
    command: Sequence[str] = ()
    mqtt: bool = False
    mqtt_port: int = _BROKER_PORT

    @property
    def server_options(self) -> tuple[str, ...]:
        """keycached's, beside its files."""
        return ("--storage", self.storage, "--policy", self.policy, *(("--allow-get",) if self.allow_get else ()))

    @property
    def case(self) -> Case:
        """A case with the demo's machine except the network card: any case of the app that has the devices' TA."""
        return Case("optee", *_CORE, "keycache-load", 1, 0, (("storage", self.storage),))


def expected_builds(options: DemoOptions, lab: Lab) -> str:
    """A sentence on what the first demo builds, and for how long; empty if all is there. Builds nothing."""
    names = (keycache.ROOT, *([keycache.BROKER_ROOT] if options.mqtt else []))
    labs = {MAIN: lab} | {name: open_lab(name=name) for name in names}
    case = options.case
    recipes = {
        MAIN: [
            optee_images.firmware(case.ticks_in_both_worlds),
            kernel(),
            optee_images.optee(case.implementation, case.optimisation),
        ],
        keycache.ROOT: [keycache.programs_recipe(), keycache.native_recipe()],
        keycache.BROKER_ROOT: [keycache.broker_recipe(), keycache.mosquitto_recipe()],
    }
    images = [name for root, place in labs.items() for name in unbuilt(ImageStore(place), recipes[root])]
    # The recipe of the machine's programs has the built server in it.
    programs = ["programs-keycache"] if images else []
    return expected([name for name, place in labs.items() if place.problem()], [*images, *programs])


def serve(options: DemoOptions, lab: Lab, notify: Callable[[str], None], ready: Callable[[int, int], None]) -> int:
    """Run the demo until its command has ended; without one until it is interrupted (KeyboardInterrupt).

    Args:
        options: its settings.
        lab: the lab; it is made if it is missing.
        notify: called with a line of text when something is built or booted.
        ready: called with the ports of server and broker when they answer, before the command is run.

    Returns the command's exit status. Raises WorldwiseError: the folder is there already, the port is taken, a build
    fails, the machine or the server ends by itself.
    """
    with (
        _free_port(options.port, "--port") as port,
        _free_port(options.mqtt_port if options.mqtt else 0, "--mqtt-port") as mqtt_port,
        _certificates(options, notify),
    ):
        beside = DemoEnd(options, port, mqtt_port, ready)
        lab.ensure()
        if options.mqtt:
            keycache.broker(notify)
        programs = programs_with_broker if options.mqtt else None
        target = OpteeMachineTarget("/bin/keycache-demo", beside=beside, programs=programs)
        machine = target.machine(options.case, ImageStore(lab, notify))
        emulator = Emulator(lab, notify, silence_limit=math.inf, time_limit=math.inf)
        beside.stop = emulator.stop
        with tempfile.TemporaryDirectory(prefix="ww-keycache-") as temporary:
            work = Path(temporary)
            for name in (*FOR_THE_MACHINE, *(FOR_THE_BROKER if options.mqtt else ())):
                shutil.copyfile(options.directory / name, work / name)
            (work / RANDOM).write_bytes(os.urandom(_RANDOM_BYTES))
            program = [target.executable, str(int(time.time())), str(int(options.mqtt)), *options.server_options]
            problem = "the key cache's server has ended unexpectedly"
            emulator.snapshot(machine)
            notify("starting the server; the TA prepares its secure storage")
            try:
                emulator.run(machine, program, work)
            except WorldwiseError:
                if beside.status is None and not beside.problem:
                    raise
            if beside.status is not None:
                return beside.status
            raise WorldwiseError(beside.problem or problem, details=emulator.diagnosis(work, machine))


@contextlib.contextmanager
def _certificates(options: DemoOptions, notify: Callable[[str], None]) -> Iterator[None]:
    """The folder with a demo certificate authority and what it signed; gone on exit. Raises WorldwiseError."""
    directory = options.directory
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        raise WorldwiseError(
            f"{directory} already exists", "remove it if a demo left it, or name another by --directory"
        ) from None
    except OSError as error:
        raise WorldwiseError(f"{directory} cannot be made: {error.strerror}", "--directory names another") from None
    try:
        if options.acl:
            # Copied before demo-ca runs, which keeps a list that already exists.
            try:
                shutil.copyfile(options.acl, directory / "acl")
            except OSError as error:
                raise WorldwiseError(f"{options.acl} cannot be read: {error.strerror}") from None
        elif options.mqtt:
            (directory / "acl").write_text(f"admin {ADMIN}\nrelay {BROKER} * *\n", encoding="ascii")
        names = [*options.clients, *((BROKER,) if options.mqtt else ())]
        binds: list[Bind] = [(keycache.native(notify), "/native", "ro"), (directory, "/demo", "rw")]
        keycache.root().run(["/native/bin/keycache", "demo-ca", "/demo", *names], binds=binds)
        if options.mqtt:
            (directory / _CONFIGURATION).write_text(_MOSQUITTO, encoding="ascii")
            shutil.copyfile(paths.KEYCACHE / "mosquitto" / HELPER, directory / HELPER)
            for name in options.clients:
                (directory / f"{name}{SECRET}").write_bytes(os.urandom(_SECRET_BYTES))
        yield
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _free_port(port: int, option: str) -> Iterator[int]:
    """The port to use. Another program could still take it before QEMU does."""
    with contextlib.closing(socket.socket()) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_LOOPBACK, port))
        except OSError as error:
            raise WorldwiseError(
                f"port {port} of {_LOOPBACK} cannot be used: {error.strerror}",
                f"{option} names another; {option} 0 takes a free one",
            ) from None
        chosen: int = listener.getsockname()[1]
    yield chosen


@dataclass
class DemoEnd:
    """The host's end of the machine; see machine.HostProgram."""

    options: DemoOptions
    port: int
    mqtt_port: int
    ready: Callable[[int, int], None]
    stop: Callable[[], None] = lambda: None
    # The command's exit status, once it has ended.
    status: int | None = None
    problem: str = ""
    _over: threading.Event = field(default_factory=threading.Event)
    _killed: int = 0

    @contextlib.contextmanager
    def running(self, directory: Path, live: Path) -> Iterator[str]:
        """Waits for the server, and runs the command, while the machine runs."""
        del directory
        thread = threading.Thread(target=self._work, args=(live,), name="keycache-demo", daemon=True)
        thread.start()
        ports = {self.port: _SERVER_PORT} | ({self.mqtt_port: _BROKER_PORT} if self.options.mqtt else {})
        try:
            yield ",".join(f"hostfwd=tcp:{_LOOPBACK}:{ours}-{_CARD}:{theirs}" for ours, theirs in ports.items())
        finally:
            self._over.set()
            thread.join()

    def _work(self, live: Path) -> None:
        if not self.answers(self.port, "the key cache's server", b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"):
            return
        if self.options.mqtt:
            for name in self.options.clients:
                key = (self.options.directory / f"{name}{SECRET}").read_bytes()
                words = [b"SET", name.encode(), key]
                request = b"*3\r\n" + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words)
                if not self.answers(self.port, f"the key cache's server, asked to keep {name}'s key,", request):
                    return
            # Any client that says nothing is waited for: a TLS handshake shows that the broker is there.
            if not self.answers(self.mqtt_port, "the broker"):
                return
        self.ready(self.port, self.mqtt_port)
        if self.options.command:
            self._run_command(live)
            if not self._over.is_set():
                self.stop()
        while not self._over.wait(_LOOK):
            self._pass_kills(live)

    def answers(self, port: int, who: str, request: bytes = b"", due: bytes = b"+OK\r\n") -> bool:
        """Waits until somebody answers the administrator as is due. Returns False if the machine ends first."""
        folder = self.options.directory
        context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        context.load_cert_chain(folder / f"{ADMIN}.crt", folder / f"{ADMIN}.key")
        until = time.monotonic() + START_LIMIT
        while not self._over.wait(_LOOK):
            # QEMU accepts a connection even while nothing in the machine listens, then closes it.
            with contextlib.suppress(OSError):
                plain = socket.create_connection((_LOOPBACK, port), timeout=_ATTEMPT_LIMIT)
                with plain, context.wrap_socket(plain, server_hostname=_LOOPBACK) as connection:
                    connection.sendall(request)
                    if not request or connection.recv(64) == due:
                        return True
            if time.monotonic() > until:
                self.problem = f"{who} did not answer within {START_LIMIT:.0f} s"
                self.stop()
                return False
        return False

    def _pass_kills(self, live: Path) -> None:
        """Hands the machine what somebody left in the demo's folder."""
        for file, name in KILLS.items():
            with contextlib.suppress(FileNotFoundError):
                (self.options.directory / file).unlink()
                self._killed += 1
                # The machine can write there, too: never follow what it left.
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                order = os.open(live / f"kill-{self._killed}", flags, 0o644)
                os.write(order, name.encode())
                os.close(order)

    def _run_command(self, live: Path) -> None:
        folder = str(self.options.directory.absolute())
        environment = os.environ | {"KEYCACHE_DEMO": folder, "KEYCACHE_PORT": str(self.port)}
        if self.options.mqtt:
            environment["KEYCACHE_MQTT_PORT"] = str(self.mqtt_port)
        try:
            process = subprocess.Popen(self.options.command, env=environment)
        except OSError as error:
            self.problem = f"{self.options.command[0]} cannot be run: {error.strerror}"
            return
        while process.poll() is None:
            self._pass_kills(live)
            if self._over.wait(_LOOK):
                # Without the machine the command has nothing to do.
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_END_LIMIT)
                process.kill()
                process.wait()
                return
        # The exit status that shells report for a program ended by a signal.
        self.status = process.returncode if process.returncode >= 0 else 128 - process.returncode
