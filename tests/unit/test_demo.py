# SPDX-License-Identifier: BSD-2-Clause
"""The demo of the key cache, with a machine that is none: what happens on the host."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli import cli
from worldwise.families.keycache import build as keycache
from worldwise.families.keycache import demo as keycache_demo
from worldwise.families.keycache.demo import DemoOptions, serve
from worldwise.lab.lab import open_lab
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.machine import HostProgram
from worldwise.targets.optee import OpteeMachineTarget

ANSWERS = keycache_demo.DemoEnd.answers


class FakeEmulator:
    """Runs what is beside the machine until it is stopped, or for as long as `machine` takes."""

    machine: Callable[["FakeEmulator"], object]
    left: Callable[[], list[tuple[str, str]]]
    seen: dict[str, object]

    def __init__(self, *_: object, **__: object) -> None:
        self.stopped = threading.Event()

    def snapshot(self, _: object) -> None:
        pass

    def stop(self) -> None:
        self.stopped.set()

    def diagnosis(self, *_: object) -> str:
        return "the consoles"

    def run(self, machine: HostProgram, program: Sequence[str], directory: Path) -> None:
        FakeEmulator.seen |= {
            "program": program,
            "files": {path.name: path.read_bytes() for path in directory.iterdir()},
        }
        self.left = lambda: [(path.name, path.read_text()) for path in sorted(directory.glob("kill-*"))]
        with machine.running(directory, directory) as forward:
            FakeEmulator.seen["forward"] = forward
            FakeEmulator.machine(self)
        if self.stopped.is_set():
            raise WorldwiseError("stopped")


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No root, no images, no machine; a server that answers at once."""

    def demo_ca(argv: Sequence[str], binds: Sequence[Bind]) -> None:
        folder = Path(binds[1][0])
        for name in ("ca", "server", "admin", *argv[3:]):
            (folder / f"{name}.crt").write_text(f"certificate of {name}")
            (folder / f"{name}.key").write_text(f"key of {name}")
        if not (folder / "acl").exists():
            (folder / "acl").write_text("admin admin\n")

    FakeEmulator.seen = {}
    FakeEmulator.machine = lambda emulator: emulator.stopped.wait(20)
    monkeypatch.setattr(keycache_demo, "Emulator", FakeEmulator)
    monkeypatch.setattr(keycache, "native", lambda _: Path("/native"))
    monkeypatch.setattr(keycache, "root", lambda: SimpleNamespace(run=demo_ca))
    monkeypatch.setattr(OpteeMachineTarget, "machine", lambda target, *_: target.beside)
    monkeypatch.setattr("worldwise.lab.lab.Lab.ensure", lambda _: False)
    monkeypatch.setattr(keycache_demo.DemoEnd, "answers", lambda *_: True)


def run(options: DemoOptions, ready: Callable[[int, int], None] = lambda *_: None) -> int:
    return serve(options, open_lab(), lambda _: None, ready)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["keycache", "demo", "--port", "0", *arguments])


def test_a_command_sees_the_demo(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    script = f'test -e "$KEYCACHE_DEMO/alice.crt" && echo "$KEYCACHE_PORT" >{tmp_path}/port; exit 7'
    ports: list[int] = []
    assert run(DemoOptions(folder, port=0, command=("sh", "-c", script)), lambda *both: ports.extend(both)) == 7
    assert (tmp_path / "port").read_text().split() == [str(ports[0])]
    assert FakeEmulator.seen["forward"] == f"hostfwd=tcp:127.0.0.1:{ports[0]}-10.0.2.15:6380"
    assert not folder.exists()


def test_what_the_machine_gets(tmp_path: Path) -> None:
    """The keys of the authority and of clients stay on the host."""
    (tmp_path / "list").write_text("admin root\n")
    run(DemoOptions(tmp_path / "demo", 0, "rpmb", "lru", True, ("carol",), tmp_path / "list", ("true",)))
    program, files = FakeEmulator.seen["program"], FakeEmulator.seen["files"]
    assert isinstance(program, list) and isinstance(files, dict)
    assert program[0] == "/bin/keycache-demo" and int(program[1]) > 1_700_000_000
    assert program[2:] == ["0", "--storage", "rpmb", "--policy", "lru", "--allow-get"]
    assert files["acl"] == b"admin root\n"
    assert set(files) == {"acl", "ca.crt", "random", "server.crt", "server.key"}
    assert len(files["random"]) == 256


def test_guest_and_host_agree() -> None:
    """If this fails, the demo's program in the machine looks for other files than the host leaves."""
    text = (paths.GUEST / "apps" / "keycache" / "demo" / "demo.c").read_text(encoding="utf-8")
    for name in (*keycache_demo.FOR_THE_MACHINE, *keycache_demo.FOR_THE_BROKER, keycache_demo.RANDOM):
        assert f'"{name}"' in text
    for name in keycache_demo.KILLS.values():
        assert f'.name = "{name}"' in text


def test_what_the_machine_gets_with_a_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for each client is on the host and in no file of the machine; who wants a program killed is heard once."""
    monkeypatch.setattr(keycache, "broker", lambda _: Path("/broker"))
    asked: list[tuple[str, bytes]] = []

    def answers(_: object, _port: int, who: str, request: bytes = b"", _due: bytes = b"") -> bool:
        asked.append((who, request))
        return True

    monkeypatch.setattr(keycache_demo.DemoEnd, "answers", answers)
    folder, kept = tmp_path / "demo", tmp_path / "kept"
    script = (
        f'cp -r "$KEYCACHE_DEMO" {kept}; echo "$KEYCACHE_MQTT_PORT" >{tmp_path}/port; '
        'cd "$KEYCACHE_DEMO"; touch kill-broker; while test -e kill-broker; do sleep 0.05; done'
    )
    options = DemoOptions(folder, 0, clients=("carol",), command=("sh", "-c", script), mqtt=True, mqtt_port=0)
    ports: list[int] = []
    given: list[tuple[str, str]] = []

    def machine(emulator: FakeEmulator) -> None:
        emulator.stopped.wait(20)
        given.extend(emulator.left())

    FakeEmulator.machine = machine
    assert run(options, lambda *both: ports.extend(both)) == 0
    assert (tmp_path / "port").read_text().split() == [str(ports[1])]
    program, files = FakeEmulator.seen["program"], FakeEmulator.seen["files"]
    assert isinstance(program, list) and isinstance(files, dict)
    assert program[2] == "1"
    assert set(files) == {
        *("acl", "ca.crt", "random", "server.crt", "server.key", "broker.crt", "broker.key", "mosquitto.conf")
    }
    assert files["acl"] == b"admin admin\nrelay broker * *\n"
    assert FakeEmulator.seen["forward"] == ",".join(
        f"hostfwd=tcp:127.0.0.1:{ours}-10.0.2.15:{theirs}" for ours, theirs in zip(ports, (6380, 8883), strict=True)
    )
    secret = (kept / "carol.secret").read_bytes()
    assert len(secret) == 32 and not any(secret in content for content in files.values())
    # The administrator, carol's key, the broker.
    assert [request.startswith(b"*3\r\n$3\r\nSET\r\n$5\r\ncarol\r\n$32\r\n" + secret) for _, request in asked] == [
        False,
        True,
        False,
    ]
    assert given == [("kill-1", "broker")]


def test_ctrl_c_is_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def interrupted(_: FakeEmulator) -> None:
        raise KeyboardInterrupt

    FakeEmulator.machine = interrupted
    result = invoke("--client", "one client", "--allow-get", "--directory", "my demo")
    assert result.exit_code == 0, result.output
    assert f"  cd {tmp_path}\n" in result.output
    assert "--cacert 'my demo'/ca.crt" in result.output
    assert "  kc 'one client' get 'one client'\n" in result.output
    assert "  ask 'one client' open 'one client' \"$sealed\"\n" in result.output
    assert "no such key" not in result.output and "reencrypt" not in result.output
    assert "is gone" in result.output
    assert not (tmp_path / "my demo").exists()


def test_what_is_printed_seals_opens_and_reencrypts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, who tries the key cache sees no message, or cannot type what it is for."""
    monkeypatch.chdir(tmp_path)

    def interrupted(_: FakeEmulator) -> None:
        raise KeyboardInterrupt

    FakeEmulator.machine = interrupted
    # Stands in for redis-cli: a message is two words in quotes, with a byte that printf and echo must not touch.
    stand_in = r"""#!/bin/sh
    case $* in *--no-raw) read -r line || line= ;; *) line= ;; esac
    printf '%s\n' "$line" >>typed
    case $line in
    seal*) printf '%s\n' '1) "n\x01"' '2) "c\\n"' ;;
    reencrypt*) printf '%s\n' '1) "N\x02"' '2) "C"' ;;
    esac
    """
    (tmp_path / "redis-cli").write_text(stand_in)
    (tmp_path / "redis-cli").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    printed = invoke().output
    typed = [line for line in printed.splitlines() if line.startswith("  ") and not line.startswith("  redis-cli()")]
    (tmp_path / "script").write_text("\n".join(typed))
    for shell in ("bash", "sh"):
        (tmp_path / "typed").unlink(missing_ok=True)
        subprocess.run([shell, "-e", "script"], cwd=tmp_path, env=environment, check=True, timeout=20)
        assert [line for line in (tmp_path / "typed").read_text().splitlines() if line] == [
            "seal alice hello",
            r'open alice "n\x01" "c\\n"',
            r'reencrypt alice bob "n\x01" "c\\n"',
            r'open bob "N\x02" "C"',
        ]
    assert "if the access list lets" not in printed
    (tmp_path / "list").write_text("admin admin\n")
    assert "if the access list lets alice" in invoke("--acl", "list").output


def fails(options: DemoOptions, text: str) -> None:
    with pytest.raises(WorldwiseError, match=text) as caught:
        run(options)
    assert caught.value.details == "the consoles"
    assert not options.directory.exists()


def test_a_machine_that_ends_by_itself(tmp_path: Path) -> None:
    FakeEmulator.machine = lambda _: None
    fails(DemoOptions(tmp_path / "demo", port=0), "has ended unexpectedly")


def test_a_command_that_cannot_be_run(tmp_path: Path) -> None:
    fails(
        DemoOptions(tmp_path / "demo", port=0, command=(str(tmp_path),)), f"{tmp_path} cannot be run: Permission denied"
    )


def test_a_server_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keycache_demo.DemoEnd, "answers", ANSWERS)
    monkeypatch.setattr(keycache_demo, "START_LIMIT", 0.5)
    context = SimpleNamespace(load_cert_chain=lambda *_: None)
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: context)
    fails(DemoOptions(tmp_path / "demo", port=0), "did not answer within 0 s")


def test_a_command_does_not_outlive_the_machine(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def machine(_: FakeEmulator) -> None:
        while not begun.exists():
            pass

    FakeEmulator.machine = machine
    with pytest.raises(WorldwiseError, match="has ended unexpectedly"):
        run(DemoOptions(tmp_path / "demo", port=0, command=("sh", "-c", f"touch {begun}; sleep 100; rm {begun}")))
    assert begun.exists()


def test_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorldwiseError, match="already exists") as caught:
        run(DemoOptions(tmp_path, port=0))
    assert caught.value.hint and "--directory" in caught.value.hint
    with pytest.raises(WorldwiseError, match="cannot be made: Not a directory"):
        run(DemoOptions(tmp_path / "file" / "demo", port=0))
    with pytest.raises(WorldwiseError, match="no-list cannot be read: No such file"):
        run(DemoOptions(tmp_path / "demo", port=0, acl=tmp_path / "no-list"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(WorldwiseError, match=f"port {port} of 127.0.0.1 cannot be used: Address already"):
            run(DemoOptions(tmp_path / "demo", port=port))
    assert not (tmp_path / "demo").exists()


def test_a_command_that_is_none() -> None:
    result = invoke("--", "no-such-program")
    assert result.exit_code == 2 and "no-such-program is not a program on this host" in result.output
