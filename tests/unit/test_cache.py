# SPDX-License-Identifier: BSD-2-Clause
"""The cache: what it has, what of it can go, and what must never. All caches here are made up."""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from worldwise import cli
from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab import cache as cache_module
from worldwise.lab import cache_locks
from worldwise.lab.cache import CleaningWish, Item, clean, survey
from worldwise.lab.debian.lock import File, Lock, Package, SourcePackage
from worldwise.lab.roots import RECIPE

NOW = 2_000_000_000.0
DAY = 86400.0
NEEDED, OLD = "a" * 64, "b" * 64


def make_lock() -> Lock:
    """A lock of one package and one source."""
    package = Package(
        name="p", version="1", architecture="amd64", source="p", file="p_1_amd64.deb", size=1, sha256=NEEDED
    )
    source = SourcePackage(name="s", version="1", files=[File(file="s_1.dsc", size=1, sha256="c" * 64)])
    return Lock(format=1, suite="trixie", lab=[package], target=[], sources=[source])


LOCKS = {"main": make_lock()}
ROOT = LOCKS["main"].digest(RECIPE)[:12]


def put(path: Path, days: float = 0, size: int = 5000) -> Path:
    """A folder with a file, or a file if its name says so, last used so many days ago."""
    if path.suffix in (".json", ".log") or len(path.name) == 64:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    else:
        path.mkdir(parents=True)
        (path / "file").write_bytes(b"x" * size)
    os.utime(path, (NOW - days * DAY,) * 2)
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A cache that has something of every kind, new and old."""
    place = tmp_path / "cache"
    for name in (ROOT, "0" * 12):
        put(place / "labs" / name)
        put(place / "labs" / f"{name}.log")
    put(place / "labs" / ".building-abcdefgh")
    put(place / "downloads/sha256" / NEEDED)
    put(place / "downloads/sha256" / OLD)
    for days in (1, 40):
        mark = str(days % 10)
        put(place / "images" / f"tf-a-{mark * 12}", days)
        put(place / "snapshots" / (mark * 12), days)
        put(place / "symbols" / f"{mark * 40}.json", days)
        put(place / "own" / f"mine-{mark * 12}", days)
        put(place / "results" / (mark * 16), days)
        put(place / "traces" / (mark * 16), days)
    put(place / "scratch" / "tmpabc")
    put(place / "venv-000000000000")
    put(place / "keycache-fuzz", 400)
    return place


def doomed(place: Path, wish: CleaningWish) -> list[Item]:
    return [item for item in survey(place, LOCKS) if wish.takes(item, NOW)]


def names(items: list[Item] | tuple[Item, ...]) -> list[str]:
    return sorted(item.path for item in items)


STALE = [
    "downloads/sha256/" + OLD,
    "labs/.building-abcdefgh",
    "labs/" + "0" * 12,
    "scratch/tmpabc",
    "venv-000000000000",
]
AGED = ["images/tf-a-" + "0" * 12, "own/mine-" + "0" * 12, "snapshots/" + "0" * 12, "symbols/" + "0" * 40 + ".json"]
MEASURED = ["results/" + "0" * 16, "traces/" + "0" * 16]


def test_what_no_lock_needs_goes_and_what_nobody_used_for_long(place: Path) -> None:
    """If this fails, `cache clean` keeps what is of no use, or removes what the next run makes again."""
    assert names(doomed(place, CleaningWish())) == sorted(STALE + AGED)
    assert names(doomed(place, CleaningWish(age=50 * DAY))) == sorted(STALE)
    assert names(doomed(place, CleaningWish(results=True))) == sorted(STALE + AGED + MEASURED)


def test_everything_spares_what_was_measured_and_what_is_not_ours(place: Path) -> None:
    """If this fails, hours of measuring are gone, or findings of fuzzing."""
    every = names(survey(place, LOCKS))
    taken = names(doomed(place, CleaningWish(everything=True)))
    kept = {name for name in every if name.startswith(("results/", "traces/"))} | {"keycache-fuzz"}
    assert set(every) - set(taken) == kept
    assert set(every) - set(names(doomed(place, CleaningWish(everything=True, results=True)))) == {"keycache-fuzz"}


def test_the_root_of_a_lock_is_known_by_its_name(place: Path) -> None:
    labels = {item.path: (item.label, item.standing) for item in survey(place, LOCKS) if item.kind == "labs"}
    assert labels == {f"labs/{ROOT}": ("main", "needed"), "labs/" + "0" * 12: ("", "unneeded")}


def test_sizes_are_what_the_disk_has(place: Path) -> None:
    item = next(item for item in survey(place, LOCKS) if item.path == f"labs/{ROOT}")
    assert item.size == (place / item.path / "file").stat().st_blocks * 512 > 0


def test_cleaning_removes_these_and_nothing_else(place: Path) -> None:
    """If this fails, more is gone than was listed."""
    before = names(survey(place, LOCKS))
    wanted = doomed(place, CleaningWish())
    done = clean(place, wanted)
    assert (names(done.gone), done.held, done.failed) == (names(wanted), (), ())
    assert names(survey(place, LOCKS)) == sorted(set(before) - set(names(wanted)))
    assert not (place / "labs" / ("0" * 12 + ".log")).exists()
    assert (place / "labs" / f"{ROOT}.log").exists()


# --- what is in use ---


def test_a_held_root_stays_and_so_does_what_is_made_with_it(place: Path) -> None:
    """If this fails, `cache clean` takes a root from under a run."""
    cache_locks.hold(place, place / "labs" / ("0" * 12))
    try:
        done = clean(place, doomed(place, CleaningWish(everything=True)))
    finally:
        cache_locks.release(place)
    held = names(done.held)
    assert "labs/" + "0" * 12 in held
    # Nobody holds this root, and nobody needs the other commands to end for it.
    assert f"labs/{ROOT}" in names(done.gone)
    assert {name.partition("/")[0] for name in held} == {
        "downloads",
        "images",
        "labs",
        "own",
        "scratch",
        "snapshots",
        "symbols",
    }
    assert (place / "labs" / ("0" * 12) / "file").exists()


def test_a_process_holds_until_it_ends_however(place: Path) -> None:
    """If this fails, a run that was killed keeps the cache from being cleaned for ever."""
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom worldwise.lab import cache_locks\n"
        f"cache_locks.hold(Path({str(place)!r}), Path({str(place / 'labs' / ROOT)!r}))\nprint('held', flush=True)\n"
        "time.sleep(600)"
    )
    environment = os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src")}
    process = subprocess.Popen([sys.executable, "-P", "-c", script], env=environment, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        for path in (place / cache_locks.CACHE_LOCK, cache_locks.root_lock(place / "labs" / ROOT)):
            with cache_locks.alone(path) as free:
                assert not free
    finally:
        process.kill()
        process.wait()
    with cache_locks.alone(place / cache_locks.CACHE_LOCK) as free:
        assert free


def test_two_commands_hold_the_same_root(place: Path) -> None:
    """If this fails, two runs cannot be at work at once."""
    cache_locks.hold(place, place / "labs" / ROOT)
    try:
        descriptor = os.open(cache_locks.root_lock(place / "labs" / ROOT), os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.close(descriptor)
    finally:
        cache_locks.release(place)


def test_what_was_used_since_it_was_listed_stays(place: Path) -> None:
    """If this fails, an image goes although somebody used it while the question was open."""
    wanted = doomed(place, CleaningWish())
    cache_locks.mark_used(place / AGED[0])
    done = clean(place, wanted)
    assert names(done.held) == [AGED[0]]
    assert (place / AGED[0]).is_dir()


def test_an_environment_in_use_stays(place: Path) -> None:
    program = place / "venv-000000000000" / "python"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "600"])
    try:
        # The kernel has the words of a process a moment after it has begun.
        while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.01)
        item = next(item for item in survey(place, LOCKS) if item.path.startswith("venv-"))
        assert names(clean(place, [item]).held) == ["venv-000000000000"]
    finally:
        process.kill()
        process.wait()


def test_a_root_that_is_being_made_is_held_by_its_lock(place: Path) -> None:
    """If this fails, `cache clean` removes what another process is just unpacking."""
    building = put(place / "labs" / f".building-{ROOT}-abcdefgh")
    assert cache_locks.lock_of(place, building) == cache_locks.root_lock(place / "labs" / ROOT)
    assert cache_locks.lock_of(place, place / "labs" / ".building-abcdefgh") == place / cache_locks.CACHE_LOCK


# --- links, and folders that are somebody's ---


def test_no_link_is_followed(place: Path, tmp_path: Path) -> None:
    """If this fails, a link in the cache leads the tool out of it."""
    precious = put(tmp_path / "precious")
    image = place / AGED[0]
    (image / "link").symlink_to(precious)
    (place / "images" / ("linked-" + "1" * 12)).symlink_to(precious)
    time_of_image = next(item for item in survey(place, LOCKS) if item.path == AGED[0])
    assert "images/linked-" + "1" * 12 not in names(survey(place, LOCKS))
    clean(place, [time_of_image])
    assert not image.exists()
    assert (precious / "file").exists()


def test_a_folder_that_is_a_link_is_not_looked_into(place: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (place / "images").rename(elsewhere)
    (place / "images").symlink_to(elsewhere)
    assert not [item for item in survey(place, LOCKS) if item.kind == "images"]
    aged = Item("images", AGED[0], 1, (elsewhere / Path(AGED[0]).name).stat().st_mtime, "by age")
    done = clean(place, [aged])
    assert [item.path for item, _ in done.failed] == [AGED[0]]
    assert (elsewhere / Path(AGED[0]).name / "file").exists()


def test_what_others_keep_in_such_a_folder_is_not_touched(place: Path) -> None:
    """If this fails, WORLDWISE_CACHE=$HOME by mistake costs the user's folder `images`."""
    put(place / "images" / "holiday", 400)
    put(place / "results" / "thesis", 400)
    assert not [item for item in survey(place, LOCKS) if item.path in ("images/holiday", "results/thesis")]


def test_a_cache_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    assert survey(tmp_path / "none", LOCKS) == []


def test_folders_without_permissions_go_too(tmp_path: Path) -> None:
    """If this fails, what a sandbox left cannot be removed."""
    inner = put(tmp_path / "tree" / "locked" / "inner")
    inner.chmod(0)
    inner.parent.chmod(0)
    # Root may do without, so it is looked at for itself.
    with files.folder(tmp_path) as descriptor:
        files.open_up("tree", descriptor)
    assert [path.stat().st_mode & 0o777 for path in (inner.parent, inner)] == [0o700, 0o700]
    inner.chmod(0)
    inner.parent.chmod(0)
    files.remove(tmp_path, "tree")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_is_an_error_when_all_else_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "tree" / "one")
    put(tmp_path / "tree" / "two")
    original: Callable[..., None] = os.unlink

    def unlink(path: str, *, dir_fd: int | None = None) -> None:
        if Path(f"/proc/self/fd/{dir_fd}").readlink().name == "one":
            raise PermissionError(1, "Operation not permitted", path)
        original(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(PermissionError):
        files.remove(tmp_path, "tree")
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["one"]


def test_environments_have_the_names_that_the_start_script_gives() -> None:
    """If this fails, `cache clean` removes the environment that the next start needs."""
    command = r"""
python_version=$("$1" -c 'import sys; print(sys.version, sys.base_prefix)')
repository=$3
. "$repository/lab/host.sh"
{ printf '%s\n' "$python_version"; whole_requirements "$2"; } | sha256sum | cut -c 1-12
"""
    for requirements in ("run", "dask", "test"):
        words = ["sh", "-c", command, "sh", sys.executable, requirements, str(paths.REPOSITORY)]
        key = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
        assert f"venv-{key}" in cache_module.used_environments()
    script = (paths.LAB / "host.sh").read_text()
    assert "printf '%s\\n' \"$python_version\"" in script
    assert "sha256sum | cut -c 1-12" in script


# --- the command ---


@pytest.fixture
def call(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Calls the command with that cache, at that time."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(place))
    monkeypatch.setattr(time, "time", lambda: NOW)
    monkeypatch.setattr(cache_module, "load_lock", lambda _: make_lock())

    def call(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli.cli, ["cache", *words], standalone_mode=False)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.return_value or 0, result.output

    return call


Call = Callable[..., tuple[int, str]]


def test_the_command_shows_every_kind(call: Call) -> None:
    status, output = call()
    assert status == 0
    for name in ("labs", "downloads", "images", "snapshots", "symbols", "own", "results", "traces", "environments"):
        assert f"\n{name} " in output
    assert f"  {ROOT} " in output
    assert "`worldwise cache clean` removes what can go" in output


def test_json_has_every_item_and_the_sums(call: Call, place: Path) -> None:
    data = json.loads(call("--json")[1])
    assert data["cache"] == str(place)
    assert data["bytes"] == sum(item["bytes"] if "bytes" in item else item["size"] for item in data["items"])
    assert data["can_go"] == sum(item["size"] for item in data["items"] if item["can_go"])
    assert {item["path"] for item in data["items"] if item["can_go"]} == {*STALE, *AGED}


def test_nothing_goes_without_a_yes(call: Call, place: Path) -> None:
    """If this fails, a script that only meant to look has removed something."""
    before = names(survey(place, LOCKS))
    with pytest.raises(WorldwiseError, match="there is no terminal to ask on") as caught:
        call("clean")
    assert "--yes" in caught.value.hint
    assert names(survey(place, LOCKS)) == before


def test_yes_removes_what_is_listed(call: Call, place: Path) -> None:
    status, output = call("clean", "--yes")
    assert status == 0
    for name in (*AGED[:3], "labs/" + "0" * 12):
        assert f"{name}: " in output
    assert "downloads: 1 thing, " in output
    assert "removed 9 things: " in output
    assert names(doomed(place, CleaningWish())) == []
    assert call("clean", "--yes")[1] == "nothing to remove\n"


@pytest.mark.parametrize("age", ["30", "d", "-3d", "1.5d", "1y", "9999999d", ""])
def test_an_age_that_is_none_is_refused(call: Call, age: str) -> None:
    with pytest.raises(Exception, match="is not an age: give a whole number and h, d or w"):
        call("clean", "--older-than", age, "--yes")


def test_an_age_is_taken(call: Call) -> None:
    assert "images/tf-a-" + "1" * 12 in call("clean", "--older-than", "12h", "--yes")[1]
