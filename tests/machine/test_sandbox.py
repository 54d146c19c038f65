# SPDX-License-Identifier: BSD-2-Clause
"""What a stranger's code may not do: attacks from within the sandbox, by what it leaves, by what it uses up."""

import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import own_codes
import probes
from elves import Section, elf32, packed, section, symbols
from machines import case, note
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli.traces import annotated_source
from worldwise.explain.annotated_source import Annotated, SourceLine
from worldwise.lab import image
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.sandbox import identity
from worldwise.lab.sandbox.identity import confinement, confinement_of
from worldwise.lab.sandbox.lent_folders import end_of, lent, scratch, socket_of, wait_for_removal
from worldwise.lab.sandbox.limits import BUILD, EMULATOR, MIB, Limits
from worldwise.libraries.own_library import own_libraries
from worldwise.machine.elf_files.program_addresses import address_name
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import CONSOLE, RECORDS, Machine
from worldwise.machine.symbols import mangled_names
from worldwise.machine.symbols.mangled_names import demangler
from worldwise.machine.symbols.table import SymbolTable
from worldwise.plan.case import Case
from worldwise.report.explaining.annotated_source import annotated_sections
from worldwise.run.code.application import application
from worldwise.run.code.order import Wanted, pack
from worldwise.run.code.repository.project import open_project, prepare_project
from worldwise.targets.all_targets import EMULATED

# Nobody of this host, and not one of those whom the sandbox takes.
ORDINARY = 54_321


def attack(lab: Lab, work: Path) -> dict[str, str]:
    """Runs the probes in the lab; gives what came of each."""
    secret = work / "secret"
    secret.write_text("the host's\n")
    for name in ("out", "given"):
        (work / name).mkdir()
    (work / "given/file").write_text("given\n")
    program = work / "probes.py"
    shutil.copyfile(probes.__file__, program)
    abstract = f"worldwise-{os.getpid()}"
    with socket.socket() as listener, socket.socket(socket.AF_UNIX) as local:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        local.bind(f"\0{abstract}")
        local.listen()
        ended = lab.run(
            ["python3", "/probes.py", str(os.getpid()), str(listener.getsockname()[1]), abstract, str(secret)],
            binds=[(program, "/probes.py", "ro"), (work / "out", "/out", "rw"), (work / "given", "/in/given", "ro")],
            timeout=60,
        )
    assert secret.read_text() == "the host's\n"
    assert (work / "given/file").read_text() == "given\n"
    return dict(json.loads(line) for line in ended.stdout.splitlines())


@pytest.fixture(scope="module")
def attacked(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What came of the probes for the user who runs the tests."""
    work = tmp_path_factory.mktemp("attacked")
    work.chmod(0o755)
    return attack(lab, work)


@pytest.mark.parametrize("name", probes.PROBES)
def test_an_attack_from_within_fails(name: str, attacked: dict[str, str]) -> None:
    assert not attacked[name].startswith("BROKEN"), attacked[name]


# Started as an ordinary user, where what the user who runs the tests has in the cache is seen, read-only.
_AS_USER = """
import json, os, sys
from pathlib import Path
cache, work, repository = map(Path, sys.argv[1:])
os.environ |= {"HOME": str(work), "WORLDWISE_CACHE": str(cache), "TMPDIR": str(work)}
sys.path[:0] = [str(repository / name) for name in ("src", "tests", "tests/machine")]
from test_sandbox import attack
from worldwise.lab.lab import open_lab
print(json.dumps(attack(open_lab(), work)))
"""


@pytest.fixture(scope="module")
def attacked_as_user(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What came of the probes for an ordinary user."""
    if os.geteuid() != 0:
        pytest.skip("the other test of this file is that of an ordinary user")
    place = tmp_path_factory.mktemp("user")
    place.chmod(0o755)
    seen = {"cache": lab.cache, "environment": Path(sys.prefix), "python": Path(sys.base_prefix)}
    seen["repository"] = paths.REPOSITORY
    for name in (*seen, "own/work", "own/cache"):
        (place / name).mkdir(parents=True)
    for name in ("own", "own/work", "own/cache"):
        os.chown(place / name, ORDINARY, ORDINARY)
    script = [f"mount --bind {path} {place / name}" for name, path in seen.items()]
    script += [
        # In a place that this user can get to, whoever owns the folders above it.
        f"mount --rbind {place} /mnt",
        "ln -s /mnt/cache/labs /mnt/own/cache/labs",
        f"exec setpriv --reuid={ORDINARY} --regid={ORDINARY} --clear-groups --inh-caps=-all"
        f' "$@" /mnt/own/cache /mnt/own/work /mnt/repository',
    ]
    packages = next(Path(sys.prefix, "lib").glob("python*/site-packages")).relative_to(sys.prefix)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"/mnt/environment/{packages}"}
    if Path("/usr").resolve() != Path(sys.base_prefix).resolve():
        environment |= {"PYTHONHOME": "/mnt/python", "LD_LIBRARY_PATH": "/mnt/python/lib"}
    python = Path("/mnt/python/bin") / Path(os.path.realpath(sys.executable)).name
    environment["SECRET"] = "a token"
    ended = subprocess.run(
        ["unshare", "--mount", "bash", "-ec", "\n".join(script), "bash", str(python), "-B", "-c", _AS_USER],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    if ended.returncode and "bubblewrap may not enter" in ended.stderr:
        pytest.skip("this host has no user namespaces for ordinary users, so they cannot enter the lab at all")
    assert ended.returncode == 0, ended.stderr
    found: dict[str, str] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", probes.PROBES)
def test_an_attack_on_an_ordinary_user_fails(name: str, attacked_as_user: dict[str, str]) -> None:
    assert not attacked_as_user[name].startswith("BROKEN"), attacked_as_user[name]


# --- what a build leaves ---

_LEFT = {
    "a link in the place of the manifest": ("ln -s /in/recipes/a.sh /out/image.json", "'image.json', which is a link"),
    "a link to a file of the host": ("ln -s /etc/passwd /out/file", "'file', which is a link"),
    "a link to a folder": ("ln -s / /out/file", "'file', which is a link"),
    "a link in a folder": ("mkdir /out/a; ln -s ../../.. /out/a/b", "'a/b', which is a link"),
    "a pipe": ("mkfifo /out/file", "'file', which is a FIFO"),
    "a socket": (
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/out/file\")'",
        "'file', which is a socket",
    ),
    "a file of two names": ("echo x >/out/file; ln /out/file /out/other", "which is a file with several names"),
    "a large file": (f"truncate -s {3 * MIB} /out/file", "'file' of 3 MiB; the limit is 2 MiB"),
    "large files": ("for n in 1 2 3; do truncate -s 1M /out/$n; done", "'3' of 1 MiB; the limit is 0 bytes"),
    "a long path": (
        "cd /out; for n in {1..9}; do d=$(printf '%0150d' $n); mkdir $d; cd $d; done; echo >x",
        "a path of more than 1024 characters",
    ),
    "a name that moves the cursor": ("ln -s x $'/out/a\\e[2Jb'", r"'a\x1b[2Jb', which is a link"),
}


@pytest.fixture
def build(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Builds an image by a script, in a cache of its own."""
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "common.sh").touch()
    monkeypatch.setattr(image, "RECIPES", recipes)
    monkeypatch.setattr(image, "BUILD", replace(BUILD, disk=2 * MIB))
    place = replace(lab, cache=tmp_path / "cache")
    place.cache.mkdir()
    (place.cache / "labs").symlink_to(lab.cache / "labs")

    def run(script: str) -> Any:
        (recipes / "a.sh").write_text(script + "\n")
        return ImageStore(replace(place), note).get(Recipe(name="a", script="a.sh", outputs=("file",)))

    return run


@pytest.mark.parametrize("what", _LEFT)
def test_a_build_leaves_files_and_nothing_else(what: str, build: Callable[[str], Any], tmp_path: Path) -> None:
    script, says = _LEFT[what]
    with pytest.raises(WorldwiseError) as caught:
        build(script)
    assert says in caught.value.message
    assert not [path for path in (tmp_path / "cache/images").glob("a-*") if path.suffix != ".log"]
    wait_for_removal()
    assert [path.name for path in (tmp_path / "cache/scratch").iterdir()] == [".lock"]


def test_what_a_build_leaves_is_the_users_own(build: Callable[[str], Any]) -> None:
    """No setuid bit, no other owner, no write permission for others; and the manifest is not the build's."""
    built = build("install -m 6777 /bin/true /out/file; chmod 0777 /out; echo '{}' >/out/image.json; mkdir -m 0 /out/d")
    entry = built.file("file").stat()
    assert (stat.S_IMODE(entry.st_mode), entry.st_uid) == (0o755, os.geteuid())
    assert built.directory.stat().st_mode & 0o022 == 0
    assert json.loads((built.directory / "image.json").read_text())["files"] == built.files
    assert list(built.files) == ["file"]


def test_a_build_sees_what_it_declares_and_nothing_else(build: Callable[[str], Any], tmp_path: Path) -> None:
    (tmp_path / "recipes/other.sh").write_text("exit 1\n")
    built = build("ls /in /in/recipes >/out/file")
    assert built.file("file").read_text().split() == ["/in:", "recipes", "/in/recipes:", "a.sh", "common.sh"]


# --- what it uses up ---

_USED_UP = {
    "memory of one process": (
        "python3 -c 'x = bytearray(1 << 30)'",
        Limits(address_space=256 * MIB),
        "MemoryError",
    ),
    "memory of many": (
        "for n in 1 2 3 4; do python3 -c 'import time; x = b\"x\" * (60 << 20); time.sleep(30)' & done; wait",
        Limits(memory=150 * MIB),
        "of memory; 150 MiB is its limit",
    ),
    "processes": (
        # Bash would try again for 15 s when it may have no more.
        "f() { f | f & }; f; sleep 2; exec python3 -c 'import os; [os.fork() for n in range(300)]'",
        Limits(processes=100),
        "its limit of 100 processes",
    ),
    "open files": (
        "python3 -c 'x = [open(\"/dev/null\") for n in range(1000)]'",
        Limits(open_files=64),
        "its limit of 64 open files",
    ),
    "a large file": ("yes >/out/file", Limits(file_size=3 * MIB), "a file of more than 3 MiB, and that is its limit"),
    "large files": (
        "for n in {1..9}; do head -c 2M /dev/urandom >/out/$n; done; sleep 30",
        Limits(disk=9 * MIB),
        "to the disk; 9 MiB is its limit",
    ),
    "its temporary folder": (
        "yes >/tmp/file",
        Limits(temporary=MIB),
        "its /tmp, of which 1 MiB is the limit",
    ),
    "words": ("yes", Limits(file_size=2 * MIB), "a file of more than 2 MiB, and that is its limit"),
    "time": ("sleep 60", Limits(), "did not end within 2 s"),
}


@pytest.mark.parametrize("what", _USED_UP)
def test_a_sandbox_has_limits(what: str, lab: Lab, tmp_path: Path) -> None:
    """And a message that names the limit; nothing of it runs on."""
    script, limits, says = _USED_UP[what]
    with pytest.raises(WorldwiseError) as caught:
        lab.run(
            ["bash", "-c", script],
            binds=[(tmp_path, "/out", "rw")],
            limits=limits,
            timeout=2 if what == "time" else 60,
            log=tmp_path.parent / f"{tmp_path.name}.log",
        )
    assert says in f"{caught.value.message}\n{caught.value.details}"


def test_a_folder_that_was_lent_comes_back(lab: Lab, tmp_path: Path) -> None:
    """Also what was made in it, setuid bits gone."""
    (tmp_path / "mine").write_text("x")
    lab.run(["bash", "-c", "install -m 6755 /bin/true /out/true; mkdir -p /out/a/b; ln -s / /out/l"],
            binds=[(tmp_path, "/out", "rw")])  # fmt: skip
    assert {path.lstat().st_uid for path in (tmp_path, *tmp_path.rglob("*"))} == {os.geteuid()}
    if os.geteuid() == 0:
        assert stat.S_IMODE((tmp_path / "true").stat().st_mode) == 0o755
    assert Path("/").stat().st_uid == 0


def test_a_program_started_by_hand_may_write_what_one_before_it_made(lab: Lab, tmp_path: Path) -> None:
    """In a folder that is lent, and in one where all may write; and a build may not."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o1777)

    def said(folder: Path, script: str, lend: bool, steady: bool = True) -> str:
        command = lab.command(["sh", "-c", script], binds=[(folder, "/work", "rw")], chdir="/work", steady=steady)
        with lent([folder] if lend else [], steady=steady):
            answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return answer.stdout + answer.stderr

    lend = tmp_path / "lent"
    lend.mkdir()
    for folder, by_lending in ((lend, True), (open_to_all, False)):
        assert said(folder, "echo a > x", by_lending) == ""
        assert said(folder, "echo b >> x; cat x", by_lending) == "a\nb\n"
    assert {path.stat().st_uid for path in (lend, *lend.iterdir())} == {os.geteuid()}
    if os.geteuid() == 0:
        assert "Permission denied" in said(open_to_all, "echo c >> x", False, steady=False)
        assert "Permission denied" in said(lend, "echo c >> x", False)


def test_a_folder_may_be_lent_to_two(tmp_path: Path) -> None:
    """It comes back when the second has ended."""
    with lent([tmp_path]):
        with lent([tmp_path]):
            pass
        assert tmp_path.stat().st_uid == confinement().uid
    assert tmp_path.stat().st_uid == os.geteuid()


def test_what_a_killed_tool_left_is_removed(lab: Lab, tmp_path: Path) -> None:
    del lab
    (tmp_path / "scratch/old/run").mkdir(parents=True)
    with scratch(tmp_path) as one, scratch(tmp_path, wait=False) as other:
        assert sorted(path.name for path in (tmp_path / "scratch").iterdir()) == sorted([".lock", one.name, other.name])
    wait_for_removal()
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == [".lock"]


# --- what a guest does through the emulator ---

BOARD = "nucleo-f446re"
MANIFEST = """\
name = "attacker"
title = "An attacker"
about = "calls the host by semihosting"
licence = "BSD-2-Clause"
[build]
[operations]
none = ["sha256"]
[needs]
frame_sha256 = true
"""
# r0: the call's number; r1: its block of arguments. By data, since an instruction would be refused.
ADAPTER = r"""
#include <string.h>
#include "ops.h"
const char ops_name[] = "attacker";
static int host(int number, const void *block)
{
	register int r0 __asm__("r0") = number;
	register const void *r1 __asm__("r1") = block;

	__asm__ volatile(".short 0xbeab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}
static inline int open_file(const char *name, unsigned int mode)
{
	const unsigned int block[3] = { (unsigned int)name, mode, strlen(name) };

	return host(1, block);
}
int ops_open(void)
{
%s
}
int ops_sha256(const uint8_t *message, size_t length, uint8_t digest[32])
{
	ops_frame_sha256(message, length, digest);
	return 0;
}
"""
_SYSTEM = 'const char *text = "%s"; const unsigned int block[2] = { (unsigned int)text, strlen(text) };'
# What ops_open does, which returns 0 if the attack went well: then the case would be measured.
_GUESTS = {
    "a command": _SYSTEM % "true" + " return host(0x12, block);",
    "a shell": _SYSTEM % "echo x > /run/records.jsonl" + " return host(0x12, block);",
    "a file of the host": 'return open_file("/etc/passwd", 0) == -1;',
    "a file of the lab": 'return open_file("/usr/bin/bash", 0) == -1;',
    "the emulator's memory": 'return open_file("/proc/self/mem", 2) == -1;',
    "the emulator's processes": 'return open_file("/proc/1/environ", 0) == -1;',
    "a file above its folder": 'return open_file("../etc/passwd", 0) == -1;',
    "its own program": 'return open_file("/machine/firmware.elf", 6) == -1;',
    "a device": 'return open_file("/dev/mem", 0) == -1 && open_file("/dev/vda", 0) == -1;',
}


@pytest.fixture
def guest(lab: Lab, images: ImageStore, tmp_path: Path) -> Iterator[Callable[[str, Limits], Path]]:
    """Runs a library whose ops_open does something; gives the case's directory."""

    def run(what: str, limits: Limits = EMULATOR) -> Path:
        folder = tmp_path / "library"
        folder.mkdir()
        (folder / "implementation.toml").write_text(MANIFEST)
        (folder / "adapter.c").write_text(ADAPTER % what)
        (brought,) = own_libraries.bring([folder])
        wanted = Case(BOARD, brought.name, "O2", "sha256", 2, 0, (("size", "16B"),))
        target = EMULATED[BOARD]
        machine = target.machine(wanted, images)
        directory = tmp_path / "case"
        directory.mkdir()
        emulator = Emulator(lab, silence_limit=20, limits=limits)
        outcome = emulator.run(machine, target.program(wanted), directory)
        assert outcome.status, "the attack went well"
        return directory

    yield run
    own_libraries.forget()


@pytest.mark.parametrize("what", _GUESTS)
def test_a_guest_gets_nothing_by_semihosting(what: str, guest: Callable[..., Path]) -> None:
    """Either the call fails, and with it ops_open, or QEMU is ended by the kernel."""
    try:
        directory = guest(_GUESTS[what])
    except WorldwiseError as error:
        assert "QEMU ended with SIGSYS" in error.message
    else:
        assert b'"message":"open failed: ' in (directory / RECORDS).read_bytes()


def test_a_guest_leaves_what_it_may_leave(guest: Callable[..., Path]) -> None:
    """Other files are dropped, whatever they are called."""
    directory = guest('return (open_file("case.json.partial", 6) == -1) + (open_file("run.json", 6) == -1) + 1;')
    assert {path.name for path in directory.iterdir()} == {RECORDS, CONSOLE, "secure.log", "qemu.log"}


def test_a_guest_that_writes_without_end_is_stopped(guest: Callable[..., Path]) -> None:
    write = """
	static char text[4096];
	const int file = open_file("flood", 6);

	for (;;) {
		const unsigned int block[3] = { (unsigned int)file, (unsigned int)text, sizeof(text) };

		host(5, block);
	}"""
    with pytest.raises(WorldwiseError, match=r"SIGXFSZ|20 MiB is its limit"):
        guest(write, replace(EMULATOR, file_size=30 * MIB, disk=20 * MIB))


class Escaped(Lab):
    """A lab whose emulator was taken over: a script runs in its place, in the same sandbox with all of the lab."""

    script = ""

    def command(self, argv: Sequence[str | Path], **options: Any) -> list[str]:
        """The command line of the real lab, with the script in the emulator's place."""
        assert argv[0] == "qemu-system-aarch64"
        options["parts"] = None
        return super().command(["bash", "-c", self.script, "qemu-system-aarch64"], **options)


_ESCAPED = {
    "records that are a link": ("ln -s /etc/passwd /run/records.jsonl", "'records.jsonl', which is a link"),
    "records that are a pipe": ("mkfifo /run/records.jsonl", "'records.jsonl', which is a FIFO"),
    "a console that is a link": ("ln -s /etc/shadow /run/console.log", "'console.log', which is a link"),
    "records of two names": ("echo >/run/a; ln /run/a /run/records.jsonl", "which is a file with several names"),
    "large records": ("truncate -s 1G /run/records.jsonl", "of 1 GiB; the limit is 20 MiB"),
}


@pytest.mark.parametrize("what", _ESCAPED)
def test_an_emulator_that_was_taken_over_reaches_no_file(what: str, lab: Lab, machine: Machine, tmp_path: Path) -> None:
    Emulator(lab).snapshot(machine)
    script, says = _ESCAPED[what]
    place = Escaped(lab.lock, cache=lab.cache)
    place.script = f"{script}; exit 0"
    directory = tmp_path / "case"
    directory.mkdir()
    emulator = Emulator(place, limits=replace(EMULATOR, disk=20 * MIB))
    with pytest.raises(WorldwiseError) as caught:
        emulator.run(machine, EMULATED["optee"].program(case()), directory)
    assert says in caught.value.message
    assert not any(path.is_symlink() for path in directory.iterdir())


def test_a_debug_socket_that_leads_elsewhere_is_not_connected(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "real"))
        listener.listen()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        with pytest.raises(OSError), socket_of(tmp_path / "link"):
            pass
        with socket_of(tmp_path / "real") as place, socket.socket(socket.AF_UNIX) as one:
            one.connect(place)


def test_a_console_that_is_a_pipe_hangs_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / CONSOLE)
    assert end_of(tmp_path / CONSOLE, 100) == b""
    with contextlib.suppress(FileNotFoundError):
        (tmp_path / "link").symlink_to("/etc/passwd")
    assert end_of(tmp_path / "link", 100) == b""


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"\x7fELF\x02\x01\x01" + bytes(57), b"\x7fELF" + bytes(range(200))]
)
def test_a_program_that_is_none_has_no_names(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "elf").write_bytes(content)
    assert address_name(tmp_path / "elf", 0) == ""


def test_a_host_without_other_users_refuses_strangers_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(paths.REPOSITORY / "docs/examples/c25519", tmp_path / "library")
    found = confinement_of(0, "0 0 1\n", "0 0 1\n", 7)
    monkeypatch.setattr(identity, "confinement", lambda: found)
    with pytest.raises(WorldwiseError, match="it would run as root of this host"):
        own_libraries.bring([tmp_path / "library"], tmp_path / "cache")


def test_the_lab_is_the_same_for_every_root() -> None:
    """Every root has the programs that begin a sandbox; if this fails, one cannot be entered."""
    for name in ("main", "render"):
        place = open_lab(name=name)
        if not place.problem():
            assert (place.root / "usr/bin/prlimit").is_file()
            assert (place.root / "usr/bin/setpriv").is_file()


# --- own code: builds, files into the guest, names ---


@contextlib.contextmanager
def left_alone(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A file and a port of the host; at the end nobody has written the one or called the other."""
    secret = tmp_path / "secret"
    secret.write_text("the host's own\n")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.1)
        yield secret, listener.getsockname()[1]
        with pytest.raises(TimeoutError):
            listener.accept()
    assert secret.read_text() == "the host's own\n"


# Of the client's Makefile, behind a build that is as it should be: what it does besides.
_EVIL_BUILDS = {
    "leaves a link": ("ln -s /etc/passwd /out/stolen", "stolen"),
    "leaves a pipe": ("mkfifo /out/waits", "waits"),
    "writes the inputs": ("echo x > /in/app/host/main.c", "does not build"),
    "reads the host": ("cat {secret}", "does not build"),
    "asks the network": ("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'", "does not build"),
    "names a second program": ("cp own_client another; touch another", "2 programs instead of one"),
}


@pytest.mark.parametrize("what", _EVIL_BUILDS)
def test_a_build_of_own_code_does_no_more_than_build(what: str, images: ImageStore, tmp_path: Path) -> None:
    """It fails, or what it left ends the build; the host's file and its network are as they were."""
    script, says = _EVIL_BUILDS[what]
    with left_alone(tmp_path) as (secret, port):
        step = script.format(secret=secret, port=port)
        makefile = own_codes.APPLICATION["host/Makefile"] + f"\t{step}\n"
        ta, client = own_codes.application(tmp_path / "source", host__Makefile=makefile)
        with pytest.raises(WorldwiseError) as caught:
            application(ta, client, None, images)
    assert says in f"{caught.value.message}\n{caught.value.details}"
    assert "the host's own" not in f"{caught.value.message}\n{caught.value.details}"


# What a CMakeLists.txt tries while it is configured, with what CMake says.
_EVIL_CMAKE = {
    "reads": ('file(READ "{secret}" found)\nmessage("${{found}}")', "failed to open for reading"),
    "calls": (
        "file(DOWNLOAD http://127.0.0.1:{port}/ got STATUS said)\nmessage(FATAL_ERROR ${{said}})",
        "Could not connect to server",
    ),
    "writes": ('file(WRITE "/in/builders.tar" "x")', "Read-only file system"),
}


@pytest.mark.parametrize("what", _EVIL_CMAKE)
def test_cmake_does_no_more_than_build(what: str, images: ImageStore, tmp_path: Path) -> None:
    """It runs in the sandbox that make runs in."""
    script, says = _EVIL_CMAKE[what]
    with left_alone(tmp_path) as (secret, port):
        step = script.format(secret=secret, port=port)
        text = f"cmake_minimum_required(VERSION 3.20)\nproject(evil C)\n{step}\n"
        ta, client = own_codes.application(tmp_path / "source", host__CMakeLists_dot_txt=text)
        (client / "Makefile").unlink()
        with pytest.raises(WorldwiseError) as caught:
            application(ta, client, None, images)
    assert says in caught.value.details
    assert "the host's own" not in f"{caught.value.message}\n{caught.value.details}"


# What the build of a worldwise.toml tries, with what the user reads of it.
_EVIL_PROJECTS = {
    "reads": ("cat {secret}", "the build ended with status 1"),
    "calls": ("exec 3<>/dev/tcp/127.0.0.1/{port}", "the build ended with status"),
    "links": ("ln -sf {secret} bench", "the build left no file bench"),
    "links out": ("ln -sf /etc/passwd bench", "the build left no file bench"),
    "links within": ("mkdir of; echo x >of/it; ln -s of/it bench", "bench cannot be read"),
    "leaves": ("ln -sf {secret} /out/0; mkdir bench", "the build left no file bench"),
    "nothing": ("true", "the build left no file bench"),
    "writes": ("echo x >>/in/source/worldwise.toml", "the build ended with status"),
}


@pytest.mark.parametrize("what", _EVIL_PROJECTS)
def test_a_build_of_a_worldwise_toml_does_no_more_than_build(what: str, images: ImageStore, tmp_path: Path) -> None:
    """The command is a stranger's; the host's file, its network and the folder itself are as they were."""
    command, says = _EVIL_PROJECTS[what]
    folder = tmp_path / "folder"
    folder.mkdir()
    with left_alone(tmp_path) as (secret, port):
        build = json.dumps(command.format(secret=secret, port=port))
        text = f'format = 1\n[measure.evil]\nbuild = {build}\nprogram = "bench"\n'
        (folder / "worldwise.toml").write_text(text)
        with pytest.raises(WorldwiseError) as caught:
            prepare_project(open_project(folder), images, Emulator(images.lab), lambda _: None)
    assert says in caught.value.message
    assert "worldwise.toml:2: measure.evil: " in caught.value.message
    assert "the host's own" not in f"{caught.value.message}\n{caught.value.details}"
    assert (folder / "worldwise.toml").read_text() == text


def test_a_worldwise_toml_names_nothing_outside_its_folder(images: ImageStore, tmp_path: Path) -> None:
    """No path leads out, by its words or by a link, of whatever key."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "away").symlink_to("/etc")
    (folder / "bench").write_bytes(b"")
    for line, said in (
        ('program = "../secret"', "leads out of the folder"),
        ('program = "/etc/passwd"', "leads out of the folder"),
        ('program = "a\\u001b[2J"', "must be a path within the folder"),
        ('program = "link"', "is a link out of the folder"),
        ('folder = "away"\nprogram = "passwd"', "is a link out of the folder"),
        ('program = "bench"\nfiles = ["link"]', "is a link out of the folder"),
        ('program = "bench"\ninput = "away/passwd"', "is a link out of the folder"),
        ('program = "bench"\nlibraries = ["../x.so"]', "leads out of the folder"),
        ('ta = "away"\nclient = "bench"', "is a link out of the folder"),
        ('firmware = "link"\nmachine = "mps2-an386"', "is a link out of the folder"),
    ):
        (folder / "worldwise.toml").write_text(f"format = 1\n[measure.evil]\n{line}\n")
        with pytest.raises(WorldwiseError) as caught:
            prepare_project(open_project(folder), images, Emulator(images.lab), lambda _: None)
        assert said in caught.value.message, line
        assert "\x1b" not in caught.value.message


def test_a_folder_of_own_code_leads_nowhere_else(images: ImageStore, tmp_path: Path) -> None:
    """A link out of it, and a name that a shell or make could take for more."""
    ta, client = own_codes.application(tmp_path / "links")
    (client / "main.h").symlink_to("/etc/passwd")
    with pytest.raises(WorldwiseError, match="that is not in the folder"):
        application(ta, client, None, images)
    ta, client = own_codes.application(tmp_path / "names")
    odd = client.rename(client.with_name("a;id"))
    with pytest.raises(WorldwiseError, match="cannot be the name of a folder that is built"):
        application(ta, odd, None, images)


def test_a_further_ta_does_no_more_than_be_built(images: ImageStore, tmp_path: Path) -> None:
    """As the first one: in the sandbox, from a folder whose name and links lead nowhere else."""
    ta, client = own_codes.application(tmp_path / "source")
    with left_alone(tmp_path) as (secret, _):
        makefile = own_codes.APPLICATION["ta/Makefile"] + f"$(info $(shell cat {secret}))\nall: steal\nsteal:\n"
        other, _ = own_codes.application(tmp_path / "other", ta__Makefile=f"{makefile}\tcat {secret}\n")
        with pytest.raises(WorldwiseError, match="the TA in ta does not build") as caught:
            application(ta, client, None, images, [other])
    assert "the host's own" not in f"{caught.value.message}\n{caught.value.details}"
    for name in ("a;id", "leads"):
        other, _ = own_codes.application(tmp_path / f"of {name}")
        place = other.rename(tmp_path / name)
        if name == "leads":
            (place / "own.h").unlink()
            (place / "own.h").symlink_to("/etc/passwd")
        with pytest.raises(WorldwiseError, match=r"cannot be the name of a folder|that is not in the folder"):
            application(ta, client, None, images, [place])


def test_what_a_guest_is_given_is_what_was_named(images: ImageStore, lab: Lab, tmp_path: Path) -> None:
    """Regular files alone, under their own names; an ELF file chooses no place outside its machine's folders."""
    program = own_codes.compiled(lab, tmp_path / "made", "plain", "int main(void) { return 0; }\n")
    work = tmp_path / "work"
    work.mkdir()
    os.mkfifo(tmp_path / "pipe")
    for wanted in (
        Wanted(program, files=(tmp_path / "pipe",)),
        Wanted(program, libraries=(tmp_path,)),
        Wanted(program, files=(tmp_path / "a\nb",)),
    ):
        with pytest.raises(WorldwiseError):
            pack(wanted, images, work)
    with pytest.raises(WorldwiseError, match="another file has the name 'plain'"):
        pack(Wanted(program, files=(program,)), images, work)
    for number, folder in enumerate(("/lib/../../../tmp", "relative", "/", "$ORIGIN/../..")):
        flags = f"-Wl,-rpath,{folder}"
        evil = own_codes.compiled(lab, tmp_path / str(number), "evil", "int main(void) { return 0; }\n", flags)
        content = pack(Wanted(evil), images, work)
        assert all(not name.startswith("/") and ".." not in name.split("/") for name in content)
    far = own_codes.compiled(
        lab,
        tmp_path / "far",
        "far",
        "int main(void) { return 0; }\n",
        "-Wl,--dynamic-linker=/../../x/ld-linux-aarch64.so.1",
    )
    with pytest.raises(WorldwiseError, match="asks for the loader"):
        pack(Wanted(far), images, work)


# --- symbols and files that its tools read ---


def _bomb(levels: int) -> str:
    """A symbol of C++ of some hundred characters for a name that doubles with each level: a function that takes twice
    what the level before is."""

    def earlier(number: int) -> str:
        digits = ""
        number -= 1
        while number >= 0 and (number or not digits):
            digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 36] + digits
            number //= 36
        return f"S{digits}_"

    return "_Z1f1A" + "".join(f"PFv{earlier(2 * level)}{earlier(2 * level)}E" for level in range(levels))


def test_a_symbol_that_stands_for_gigabytes_keeps_its_name(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """c++filt has little memory: beside such a symbol the others are unpacked, or none is."""
    unpack = demangler(lab)
    assert unpack([_bomb(2), "_Z3foov"]) == {_bomb(2): "f(A, void (*)(A, A), void (*)(void (*)(A, A), void (*)(A, A)))",
                                             "_Z3foov": "foo()"}  # fmt: skip
    # Its memory stops c++filt at the first. At the second it works until its time is over, which is a minute for users.
    assert unpack([_bomb(22), "_Z3foov"]).keys() <= {"_Z3foov"}
    with monkeypatch.context() as sooner:
        sooner.setattr(mangled_names, "PATIENCE", 3)
        assert unpack([_bomb(40), "_Z3foov"]).keys() <= {"_Z3foov"}
    # Deeper than its own limit, and what is no symbol at all.
    assert unpack(["_Z1f" + "P" * 100_000 + "i", "_Z1fX" + "S_" * 5000, "_Z\x1b[2J"]).keys() == set()


_ODD = {
    "a symbol that is a bomb": lambda: elf32([symbols(), Section(".strtab", 3, b"\0" + _bomb(40).encode() + b"\0")]),
    "a symbol with orders to a terminal": lambda: elf32([symbols(), Section(".strtab", 3, b"\0\x1b[2J\x1b]0;x\x07\0")]),
    "no symbols": lambda: elf32([Section(".symtab", 2, b"", entsize=16, link=3)]),
    "sections beyond the file": lambda: elf32(header={"e_shoff": 2**31}),
    "half a header": lambda: elf32()[:30],
    "more code than the file": lambda: elf32([Section(".text", 1, b"code" * 4, 6, 0x100, size=2**31)]),
    "debug information that is a bomb": lambda: elf32([section(".debug_info", 1, packed(2**28), flags=0x800)]),
}  # fmt: skip


@pytest.mark.parametrize("what", _ODD)
def test_what_objdump_cannot_read_has_no_instructions(what: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's file: it says what it can, prints no escape sequence, leaves nothing, and ends the command never."""
    monkeypatch.setattr(annotated_source, "ask", lambda *_args, **_more: ["EM_ARM"])
    # Other tests run beside this one and use the same cache: only its own folder is asked for.
    folders: list[Path] = []

    @contextlib.contextmanager
    def recorded(cache: Path) -> Iterator[Path]:
        with scratch(cache) as place:
            folders.append(place)
            yield place

    monkeypatch.setattr(annotated_source, "scratch", recorded)
    monkeypatch.setattr(annotated_source, "PATIENCE", 5)
    content = _ODD[what]()
    table = SimpleNamespace(file=content)
    line = SourceLine({0x100: 1, 0x104: 2})
    function = Annotated("recurse", "evil", cast(SymbolTable, table), {("", 0): line})
    code = annotated_source.instructions_of(lab, function)
    assert code.keys() <= {0x100, 0x102, 0x104, 0x106}
    shown = annotated_sections([function], {}, {0: code})
    assert "\x1b" not in str(shown)
    assert len(folders) == 1 and not folders[0].exists()
