# SPDX-License-Identifier: BSD-2-Clause
"""The wheel: it has what worldwise reads and nothing that git does not track, and works from there as from a clone."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from test_launcher import locked

from worldwise import __version__
from worldwise.base import paths
from worldwise.lab.host.facts import revision

CARRIED = "worldwise/repository"
NOTES = f"worldwise-{__version__}.dist-info"
# What is read from the repository's root in a clone alone.
CLONE_ONLY = {"docs", "worldwise"}


def built(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    # The user's own settings must not count.
    environment = {"PATH": os.environ["PATH"], "HOME": str(target)}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (paths.REPOSITORY / ".git").exists():
        pytest.skip("not a git repository")
    answer = built(paths.REPOSITORY, folder := tmp_path_factory.mktemp("wheel"))
    assert answer.returncode == 0, answer.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, as an installer lays them."""
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        for one in archive.infolist():
            path = Path(archive.extract(one, folder))
            path.chmod(one.external_attr >> 16 & 0o777)
    return folder


def tool(installed: Path, here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(here),
        "WORLDWISE_CACHE": str(here / "cache"),
        "PYTHONPATH": str(installed),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-P", "-m", "worldwise", *words]
    return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False, timeout=60)


def test_the_wheel_has_what_git_tracks_and_nothing_else(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=paths.REPOSITORY, capture_output=True, text=True, check=True)
    tracked = listed.stdout.splitlines()
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.startswith(NOTES)}
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    carried = {name.removeprefix(f"{CARRIED}/") for name in names if name.startswith(f"{CARRIED}/")}
    assert {name for name in names if not name.startswith(f"{CARRIED}/")} == package
    folders = {name.partition("/")[0] for name in carried} - {"revision"}
    assert carried - {"revision"} == {name for name in tracked if name.partition("/")[0] in folders}


def test_every_folder_that_worldwise_reads_is_in_the_wheel(installed: Path) -> None:
    """If this fails, add the folder to FOLDERS in release/hooks.py."""
    named = {name: path for name, path in vars(paths).items() if name.isupper() and isinstance(path, Path)}
    below = {name: path for name, path in named.items() if path.is_relative_to(paths.REPOSITORY)}
    assert {"LAB", "SUITES", "PORTABLE", "RECIPES", "REQUIREMENTS"} <= set(below)
    for name, path in below.items():
        if path.is_relative_to(paths.REPOSITORY / "src"):
            there = installed / path.relative_to(paths.REPOSITORY / "src")
        else:
            there = installed / CARRIED / path.relative_to(paths.REPOSITORY)
        assert there.exists(), name
    by_hand = set()
    for file in (paths.REPOSITORY / "src").rglob("*.py"):
        by_hand |= set(re.findall(r'paths\.REPOSITORY / "([^"]+)"', file.read_text(encoding="utf-8")))
    assert by_hand <= CLONE_ONLY


def test_files_are_as_in_a_clone(installed: Path) -> None:
    """Else images would have other addresses, and programs would not start."""
    for path in (installed / CARRIED).rglob("*"):
        ours = paths.REPOSITORY / path.relative_to(installed / CARRIED)
        if path.is_file() and path.name != "revision":
            assert path.read_bytes() == ours.read_bytes(), ours
            assert os.access(path, os.X_OK) == os.access(ours, os.X_OK), ours


def test_the_same_revision_gives_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    assert built(paths.REPOSITORY, tmp_path).returncode == 0
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_wheel_names_its_revision_and_its_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"{CARRIED}/revision").decode() == f"{revision()}\n"
        described = message_from_string(archive.read(f"{NOTES}/METADATA").decode())
        assert (
            archive.read(f"{NOTES}/entry_points.txt").decode() == "[console_scripts]\nworldwise = worldwise.cli:main\n"
        )
    run, dask = ({f"{name}=={version}" for name, (version, _) in locked(each).items()} for each in ("run", "dask"))
    wanted = set(described.get_all("Requires-Dist", []))
    assert {text for text in wanted if ";" not in text} == run
    assert {text for text in wanted if ";" in text} == {f"{pin}; extra == 'dask'" for pin in dask - run}
    document = tomllib.loads((paths.REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert document["build-system"]["requires"] == [f"hatchling=={locked('build')['hatchling'][0]}"]


def test_it_works_from_any_folder_as_in_a_clone(installed: Path, tmp_path: Path) -> None:
    before = sorted(installed.rglob("*"))
    ours = tool(paths.REPOSITORY / "src", tmp_path, "suites")
    assert (ours.returncode, bool(ours.stdout)) == (0, True)
    theirs = tool(installed, tmp_path, "suites")
    assert (theirs.returncode, theirs.stdout) == (0, ours.stdout)
    doctor = tool(installed, tmp_path, "doctor")
    assert f"{__version__}, revision {revision()}, installed in {installed / CARRIED} " in " ".join(
        doctor.stdout.split()
    )
    # What would change the repository's own files is refused before the network is used.
    for words in (("lab", "relock"), ("validation", "measure", "--keep")):
        refused = tool(installed, tmp_path, *words)
        assert refused.returncode == 1
        assert "installed from a wheel" in refused.stderr
    assert sorted(installed.rglob("*")) == before


def test_without_git_no_wheel_is_built(tmp_path: Path) -> None:
    """A wheel of an unknown revision would make runs that nobody can repeat."""
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "release/hooks.py",
        "requirements/base.txt",
        "requirements/run.txt",
        "requirements/dask.txt",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(paths.REPOSITORY / name, tmp_path / name)
    (tmp_path / "src" / "worldwise").mkdir(parents=True)
    shutil.copy(paths.REPOSITORY / "src" / "worldwise" / "__init__.py", tmp_path / "src" / "worldwise")
    answer = built(tmp_path, tmp_path / "dist")
    assert answer.returncode != 0
    assert "is no checkout" in answer.stderr
    assert not list(tmp_path.glob("dist/*.whl"))
