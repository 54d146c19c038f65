# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise doctor`: what it finds on machines that are made up, and that it changes nothing on any."""

import datetime
import importlib
import json
import os
import re
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from test_lab import lock, package

from worldwise import cli
from worldwise.base import paths
from worldwise.lab.build_root import MARKER, PROGRAMS
from worldwise.lab.debian import mirrors as mirrors_module
from worldwise.lab.debian.lock import Lock
from worldwise.lab.host import doctor, network
from worldwise.lab.host.doctor_checks import Point, guarded
from worldwise.lab.host.network import BUNDLES, without_password
from worldwise.lab.lab import Lab
from worldwise.lab.roots import MAIN, RECIPE, ROOTS
from worldwise.lab.sandbox.network import PROXIES

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, a lock of one package, no variable of the network; returns the cache."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setenv("WORLDWISE_CACHE", str(cache))
    for name in (*BUNDLES, *PROXIES, *map(str.upper, PROXIES), "WORLDWISE_DEBIAN_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(doctor, "load_lock", lambda _: small_lock())
    monkeypatch.setattr(network, "load_lock", small_lock)
    return cache


def small_lock() -> Lock:
    return lock(package("a", b"x" * 1_000_000))


def points(name: str) -> list[Point]:
    return list(doctor.check(name))


def one(name: str) -> Point:
    (found,) = points(name)
    return found


def of_network(name: str) -> Point:
    (found,) = (point for point in network.network_points(name == "mirrors") if point.name == name)
    return found


# --- programs ---


def test_an_old_python_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert one("Python").state == "fine"
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (99, 0))
    found = one("Python")
    assert (found.state, "needs 99.0" in found.found) == ("wrong", True)
    assert "WORLDWISE_PYTHON" in found.todo


def test_the_oldest_python_is_the_projects() -> None:
    text = (paths.REPOSITORY / "pyproject.toml").read_text()
    assert f'requires-python = ">={".".join(map(str, doctor.OLDEST_PYTHON))}"' in text


def test_absent_packages_are_named_with_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for program in ("mmdebstrap", "tar", "dpkg-deb", "apt-get", "newuidmap"):
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "KEYRING", tmp_path / "keyring.gpg")
    found = one("host packages")
    assert found.state == "wrong"
    assert found.found == f"absent: bwrap, unshare, flock, {tmp_path}/keyring.gpg"
    assert found.todo == "install: sudo apt-get install bubblewrap util-linux debian-archive-keyring"
    (tmp_path / "keyring.gpg").touch()
    for program in ("bwrap", "unshare", "flock"):
        (tmp_path / program).symlink_to("tar")
    assert one("host packages").state == "fine"


def test_another_processor_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert points("host packages")[0] == Point(
        "machine", "wrong", "riscv64: the lab's packages are for amd64", "use an amd64 machine"
    )


def test_packages_are_those_that_the_start_script_installs() -> None:
    """If this fails, lab/host.sh installs something that the doctor does not look for, or the other way round."""
    # What the tests alone use, the tool does without.
    script = re.sub(r"(?ms)^find_missing_of_tests\(\).*?^}", "", (paths.LAB / "host.sh").read_text())
    installed = set(re.findall(r"lacks ([a-z0-9-]+) ['\"]", script)) - {"python3", "python3-venv"}
    # tar is of every Debian's essential packages.
    ours = {*PROGRAMS.values(), *doctor.MORE_PROGRAMS.values(), "uidmap", "libseccomp2", "debian-archive-keyring"}
    assert installed == ours - {"tar"}


# --- the sandbox ---


def fake(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_refused_sandbox_is_told_with_the_setting_that_forbids_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path / "bin", "bwrap", "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1", monkeypatch)
    found = one("sandbox")
    assert found.state == "wrong"
    assert "bubblewrap may not enter the lab on this system: bwrap: No permissions" in found.found
    assert found.todo
    # An ordinary user is told the setting.
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(doctor, "SETTINGS", tmp_path)
    for name, value, text in (
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns is 1"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces is 0"),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone is 0"),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{value}\n")
        assert one("sandbox").found.endswith(text)
        path.write_text("1\n" if value == "0" else "0\n")
    assert "No permissions" in one("sandbox").found


def test_a_missing_bubblewrap_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert one("sandbox").todo == "install: bubblewrap"


def test_an_ordinary_user_needs_more_ids(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "subuid").write_text("other:100000:65536\nme:165536:65536\n")
    monkeypatch.setattr(doctor, "ID_FILES", (tmp_path / "subuid", tmp_path / "subgid"))
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    found = one("user ids")
    assert found.found == f"{tmp_path}/subuid and {tmp_path}/subgid give 54321 no ids, and the lab needs some"
    (tmp_path / "subuid").write_text("other:100000:65536\n54321:165536:65536\n")
    found = one("user ids")
    assert found.found == f"{tmp_path}/subgid give 54321 no ids, and the lab needs some"
    assert (found.state, "--add-subgids" in found.todo) == ("wrong", True)
    digest = small_lock().digest(RECIPE)
    directory = paths.cache_directory() / "labs" / digest[:12]
    directory.mkdir(parents=True)
    (directory / MARKER).write_text(json.dumps({"digest": digest, "witness": {}}))
    assert one("user ids").state == "note"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert points("user ids") == []


# --- the cache and the machine ---


def test_a_cache_that_cannot_be_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert one("cache").state == "fine"
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "not" / "yet"))
    found = one("cache")
    assert (found.state, "made when it is first used" in found.found) == ("fine", True)
    assert not (tmp_path / "not").exists()
    (tmp_path / "file").touch()
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "file" / "cache"))
    found = one("cache")
    assert (found.state, found.found) == ("wrong", f"{tmp_path}/file is no folder")
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "not" / "yet"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert one("cache").found == (f"the cache {tmp_path}/not/yet cannot be written ({tmp_path} cannot be written)")


def test_a_cache_where_no_program_may_run_is_told(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = os.statvfs

    class NoExec:
        def __init__(self, path: Path) -> None:
            self.f_flag = original(path).f_flag | os.ST_NOEXEC

    monkeypatch.setattr(os, "statvfs", NoExec)
    found = one("cache")
    assert found.found == f"{host} is on a file system that lets no program run (noexec)"
    assert "WORLDWISE_CACHE" in found.todo


def test_a_full_disk_is_told_with_what_is_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = 1_000_000 + 10 * 1_000_000 + doctor.IMAGES_SIZE
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10**12, 0, needed))
    found = one("disk")
    assert found.state == "fine"
    assert found.found.endswith(
        "still to come: 1.0 MB for packages, 10.0 MB for the lab, 4.00 GB for images and saved machines"
    )
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10**12, 0, needed - 1))
    found = one("disk")
    assert (found.state, "worldwise cache clean" in found.todo) == ("wrong", True)
    # A lab that is made, or came in an image, needs its packages no more.
    monkeypatch.setattr(Lab, "outline_problem", lambda _: "")
    assert one("disk").found.endswith("still to come: 4.00 GB for images and saved machines")


@pytest.mark.parametrize(
    ("machines", "state", "words"),
    [(0, "wrong", "GiB free"), (1, "note", "enough for 1 of 2 machines; run with --jobs 1"), (2, "fine", "2 machines")],
)
def test_memory_is_told_in_machines(machines: int, state: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "available_memory", lambda: machines * doctor.MACHINE_MEMORY + 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = one("memory")
    assert (found.state, words in found.found) == (state, True)


def test_a_containers_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CGROUP_MEMORY", tmp_path / "memory.max")
    free = doctor.available_memory()
    assert free > 2000
    (tmp_path / "memory.max").write_text("2000\n")
    (tmp_path / "memory.current").write_text("500\n")
    assert doctor.available_memory() == 1500
    (tmp_path / "memory.max").write_text("max\n")
    assert doctor.available_memory() > 1500


def test_processors_that_this_process_may_not_use_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert one("processors") == Point("processors", "fine", "8, a machine on each")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3})
    found = one("processors")
    assert (found.state, "run with --jobs 2" in found.found) == ("note", True)


# --- the network ---


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://proxy.example:3128", "http://proxy.example:3128"),
        ("http://me:secret@proxy.example:3128/", "http://***@proxy.example:3128/"),
        ("http://secret@proxy.example", "http://***@proxy.example"),
        ("me:secret@proxy.example:3128", "***@proxy.example:3128"),
        ("https://[::1]:8080", "https://[::1]:8080"),
        ("http://me:sec@ret@proxy.example:1", "http://***@proxy.example:1"),
        ("http://proxy.example?token=secret#secret", "http://proxy.example"),
        ("http://me:secret", "(no address)"),
        ("http://me:secret@", "(no address)"),
        ("http://[secret", "(no address)"),
        ("file:/srv/debian", "file:/srv/debian"),
        ("file:///srv/debian", "file:///srv/debian"),
    ],
)
def test_no_password_is_shown(address: str, shown: str) -> None:
    """If this fails, a password is in a log, or in a report of a defect."""
    assert without_password(address) == shown


def test_proxies_are_shown_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_network("proxies").found == "none"
    monkeypatch.setenv("http_proxy", "http://me:secret@one.example:3128")
    monkeypatch.setenv("no_proxy", "localhost,.example")
    found = of_network("proxies")
    assert (found.state, found.found) == (
        "fine",
        "http_proxy=http://***@one.example:3128, no_proxy=localhost,.example",
    )
    monkeypatch.setenv("HTTP_PROXY", "http://two.example:3128")
    found = of_network("proxies")
    assert (found.state, "http_proxy and HTTP_PROXY, which differ" in found.todo) == ("wrong", True)
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret")
    found = of_network("proxies")
    assert found.state == "wrong"
    assert "secret" not in found.found + found.todo


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: None, "No such file or directory"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: path.write_text(""), "no certificate can be read"),
        (lambda path: path.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n"), "no certificate can be read"),
    ],
)
@pytest.mark.parametrize("variable", BUNDLES)
def test_a_bundle_that_is_none_is_told(
    variable: str, make: Callable[[Path], object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bundle"
    make(path)
    monkeypatch.setenv(variable, str(path))
    found = of_network("certificates")
    assert (found.state, found.found.startswith(f"{variable}, {path}: ")) == ("wrong", True)
    assert words in found.found
    assert "PEM" in found.todo


def certificate(name: str, authority: bool) -> bytes:
    """A certificate in PEM, signed by its own key."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(named, named, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(authority, None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )


@pytest.mark.parametrize(
    ("authorities", "state", "words"),
    [
        ((), "wrong", "has no certificate of an authority"),
        (("one",), "fine", "1 authority"),
        (("one", "two"), "fine", "2 authorities"),
    ],
)
def test_the_authorities_of_a_bundle_are_counted(
    authorities: tuple[str, ...], state: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bundle"
    path.write_bytes(b"".join([certificate("server", False), *(certificate(name, True) for name in authorities)]))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    found = of_network("certificates")
    assert (found.state, found.found) == (state, f"SSL_CERT_FILE, {path}: {words}")


def test_variables_that_name_one_bundle_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bundle"
    path.write_bytes(certificate("one", True))
    for name in BUNDLES:
        monkeypatch.setenv(name, str(path))
    found = of_network("certificates")
    assert found.found == f"{', '.join(BUNDLES)}, {path}: 1 authority"


def test_no_bundle_at_all_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "DEFAULT_BUNDLE", tmp_path / "none")
    found = of_network("certificates")
    assert (found.state, "ca-certificates" in found.todo) == ("note", True)


def test_mirrors_are_tried_with_network_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the doctor hangs where there is no network, or says of a mirror what it did not see."""
    monkeypatch.setenv("WORLDWISE_DEBIAN_MIRROR", f"file://{tmp_path}/mirror")
    tried: list[str] = []
    download = mirrors_module.download

    def look(fetches: Sequence[mirrors_module.Fetch], *others: Any) -> subprocess.CompletedProcess[str]:
        tried.extend(one.address for one in fetches)
        return download(fetches, *others)

    monkeypatch.setattr(network, "download", look)
    found = list(network.network_points(network=False))
    assert tried == []
    assert found[-1].state == "note"
    assert "not tried: --network does that" in found[-1].found
    found = list(network.network_points(network=True))
    assert (tried, found[-1].state) == ([f"file://{tmp_path}/mirror/dists/trixie/Release"], "wrong")
    assert "choose another mirror with WORLDWISE_DEBIAN_MIRROR" in found[-1].todo
    release = tmp_path / "mirror/dists/trixie/Release"
    release.parent.mkdir(parents=True)
    release.write_text("Suite: stable\n")
    assert list(network.network_points(network=True))[-1] == Point(
        "mirrors", "fine", f"file://{tmp_path}/mirror answers"
    )


def test_a_mirror_that_never_answers_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "helper"
    helper.write_text("#!/bin/sh\nexec sleep 600\n")
    helper.chmod(0o755)
    monkeypatch.setattr(mirrors_module, "APT_HELPER", helper)
    monkeypatch.setattr(network, "PATIENCE", 0.2)
    monkeypatch.setenv("WORLDWISE_DEBIAN_MIRROR", "http://mirror.example")
    assert of_network("mirrors").found == "http://mirror.example: no answer within 0.2 s"


# --- the lab ---


def test_a_lab_that_is_not_there_is_no_fault() -> None:
    assert "not built: the first run makes it, 1.0 MB download" in one("lab").found
    roots = one("roots")
    assert (one("lab").state, roots.state) == ("note", "note")
    assert all(f"{name} (1.0 MB)" in roots.found for name in ROOTS if name != MAIN)
    assert one("tools").state == "note"


def test_a_damaged_lab_is_told(host: Path) -> None:
    digest = small_lock().digest(RECIPE)
    directory = host / "labs" / digest[:12]
    (directory / "root" / "usr").mkdir(parents=True)
    (directory / "root" / "usr" / "cc").write_text("abc")
    (directory / MARKER).write_text(json.dumps({"digest": digest, "witness": {"usr/cc": 3}}))
    assert points("lab")[0].state == "fine"
    (directory / "root" / "usr" / "cc").write_text("ab")
    found = points("lab")[0]
    assert (found.state, "has another size than when the lab was made" in found.found) == ("wrong", True)
    assert found.todo == "`worldwise lab build` makes it again"


def test_a_root_that_is_there_and_one_that_is_damaged_are_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = dict.fromkeys(ROOTS, "not built") | {"render": "", "tex": "usr/cc has another size"}
    monkeypatch.setattr(Lab, "outline_problem", lambda self: problems[self.name])
    wrong, there, later = points("roots")
    assert (wrong.state, wrong.todo) == ("wrong", "`worldwise lab build tex` makes it again")
    assert wrong.found.endswith("is damaged: usr/cc has another size")
    assert (there.state, there.found) == ("fine", "render: there")
    assert (later.state, "browser" in later.found, "render" in later.found) == ("note", True, False)


def test_what_cannot_be_looked_at_is_wrong() -> None:
    def look() -> Iterator[Point]:
        raise PermissionError(13, "Permission denied", "/somewhere")
        yield

    assert list(guarded("it", look)) == [
        Point("it", "wrong", "cannot be checked: Permission denied (/somewhere)", "see that it can be read")
    ]


# --- the command ---


def states(folder: Path) -> dict[str, tuple[int, int, int]]:
    found = {}
    for path in (folder, *folder.rglob("*")):
        entry = path.lstat()
        found[str(path)] = (entry.st_mode, entry.st_size, entry.st_mtime_ns)
    return found


def test_the_exit_status_says_whether_something_must_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    # The package has a command of the same name.
    command = importlib.import_module("worldwise.cli.doctor")
    for point, status, last in (
        (Point("disk", "fine", "found"), 0, "no action needed"),
        (Point("disk", "note", "found"), 0, "no action needed"),
        (Point("disk", "wrong", "found", "do this"), 1, "1 point needs an action"),
    ):
        monkeypatch.setattr(command, "examine", lambda _, point=point: iter([point]))
        result = CliRunner().invoke(cli.cli, ["doctor"], standalone_mode=False)
        assert result.return_value == status
        assert result.output.splitlines()[-1] == last
        assert ("       do this" in result.output.splitlines()) == (point.state == "wrong")
        result = CliRunner().invoke(cli.cli, ["doctor", "--json"], standalone_mode=False)
        assert result.return_value == status
        data = json.loads(result.output)
        assert (data["format"], data["fine"], data["points"]) == (1, not status, [vars(point)])


def test_it_changes_nothing(host: Path, tmp_path: Path) -> None:
    """If this fails, looking made a cache, a lock or a file."""
    digest = small_lock().digest(RECIPE)
    directory = host / "labs" / digest[:12]
    (directory / "root").mkdir(parents=True)
    (directory / MARKER).write_text(json.dumps({"digest": digest, "witness": {}}))
    before = states(tmp_path)
    result = CliRunner().invoke(cli.cli, ["doctor", "--json"], standalone_mode=False)
    assert json.loads(result.output)["points"]
    assert states(tmp_path) == before


def test_it_works_without_anything(tmp_path: Path) -> None:
    """If this fails, the doctor needs what it is to look for: a home, a cache, a program."""
    environment = {
        "PYTHONPATH": str(paths.REPOSITORY / "src"),
        "PATH": "/nowhere",
        "WORLDWISE_CACHE": str(tmp_path / "c"),
    }
    done = subprocess.run(
        [sys.executable, "-P", "-m", "worldwise", "doctor"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "WRONG  host packages: absent: mmdebstrap, bwrap" in done.stdout
    assert not (tmp_path / "c").exists()
