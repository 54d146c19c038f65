# SPDX-License-Identifier: BSD-2-Clause
"""The launcher, the requirement files, and what must not stand anywhere in the repository."""

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from worldwise.base import paths

SCRIPTS = [
    *("worldwise", "test", "lab/host.sh", "release/wheel", "requirements/lock"),
    *("docs/examples/slurm/shards.sh", "docs/examples/scaling.sh"),
]
# Put together, so that this file does not hold what it looks for.
HOSTS = [".".join(parts) for parts in (("debian", "org"), ("pypi", "org"), ("pythonhosted", "org"), ("ubuntu", "com"))]


def locked(name: str) -> dict[str, tuple[str, int]]:
    """Version and number of digests by project, of requirements/<name>.txt."""
    text = (paths.REPOSITORY / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.split(r"^(?=[A-Za-z0-9-])", text, flags=re.MULTILINE)
    found: dict[str, tuple[str, int]] = {}
    for entry in entries:
        head = re.match(r"([A-Za-z0-9._-]+)==([^ ;\\]+)", entry)
        if head:
            found[head[1]] = (head[2], len(re.findall(r"--hash=sha256:[0-9a-f]{64}", entry)))
        elif other := re.fullmatch(r"-r ([a-z]+)\.txt\n", entry):
            found |= locked(other[1])
        else:
            assert not entry or entry.startswith("#"), entry
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_plain_posix_shell(name: str) -> None:
    shell = shutil.which("dash") or "sh"
    subprocess.run([shell, "-n", paths.REPOSITORY / name], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "-x", name], cwd=paths.REPOSITORY, check=True)


def test_programs_can_be_started() -> None:
    for name in ("worldwise", "test", ".ci/run", "release/wheel", "requirements/lock"):
        assert os.access(paths.REPOSITORY / name, os.X_OK), name


def test_every_requirement_is_hashed_and_the_files_agree() -> None:
    run, base, dask, build, test, fuzz = (locked(name) for name in ("run", "base", "dask", "build", "test", "fuzz"))
    assert base
    # What draws is most of it, and no run needs it.
    assert base.items() < run.items()
    assert run.keys() - base.keys() == {"vl-convert-python"}
    for name, (_, hashes) in (run | dask | build | test | fuzz).items():
        assert hashes > 0, name
    assert run.items() <= dask.items()
    assert "distributed" in dask
    assert (dask | build).items() <= test.items()
    assert run.items() <= fuzz.items()


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
@pytest.mark.parametrize("name", ["run", "dask", "test"])
def test_nothing_is_missing_for_any_python(name: str, python: str) -> None:
    """pip refuses a dependency without a digest, so what only another Python version needs must be there."""
    have = locked(name)
    environment: dict[str, str | set[str]] = {
        **{key: str(value) for key, value in default_environment().items()},
        "python_version": python,
        "python_full_version": f"{python}.0",
        "extra": "",
    }
    checked = 0
    for project in have:
        try:
            requires = metadata.requires(project) or []
        except metadata.PackageNotFoundError:
            continue
        checked += 1
        for text in requires:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate(environment.copy()):
                assert canonicalize_name(requirement.name) in have, f"{project} needs {text}"
    assert checked >= len(have) // 2


def test_no_registry_is_named_in_the_repository() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=paths.REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git repository")
    pattern = re.compile("|".join(re.escape(host) for host in HOSTS))
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = paths.REPOSITORY / name
        if path.is_file() and pattern.search(path.read_bytes().decode(errors="replace")):
            found.append(name)
    assert found == []


def host_shell(script: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a few lines of shell after sourcing lab/host.sh, with an empty cache."""
    text = f'set -eu\nrepository={paths.REPOSITORY}\n. "$repository/lab/host.sh"\n{script}\n'
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "WORLDWISE_CACHE": str(tmp_path / "cache"),
    }
    return subprocess.run(
        ["sh", "-c", text],
        env=variables | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_missing_is_named_with_its_reason(tmp_path: Path) -> None:
    script = 'have() { false; }\nfind_python() { return 1; }\nfind_missing\necho "$missing"; echo "$reasons"'
    result = host_shell(script, tmp_path)
    assert result.returncode == 0, result.stderr
    for package in ("python3", "python3-venv", "mmdebstrap", "bubblewrap", "apt"):
        assert f"  {package}: " in result.stdout


@pytest.mark.parametrize(
    ("variables", "made"),
    [({}, "run"), ({"WORLDWISE_WITH": "dask"}, "dask"), ({"WORLDWISE_TEST": "1", "WORLDWISE_WITH": "dask"}, "test")],
)
def test_what_is_asked_for_decides_the_environment(variables: dict[str, str], made: str, tmp_path: Path) -> None:
    """If this fails, the way out that `run --on` tells leads nowhere."""
    script = (
        "find_missing() { missing=; }\ninstall_missing_of_tests() { :; }\n"
        'make_environment() { echo "$1"; }\nprepare_host'
    )
    result = host_shell(script, tmp_path, **variables)
    assert (result.returncode, result.stdout) == (0, f"{made}\n"), result.stderr


def test_a_word_that_names_no_environment_is_refused(tmp_path: Path) -> None:
    script = "find_missing() { missing=; }\nmake_environment() { exit 9; }\nprepare_host"
    result = host_shell(script, tmp_path, WORLDWISE_WITH="dusk")
    assert result.returncode == 1
    assert "WORLDWISE_WITH=dusk" in result.stderr


def test_without_root_the_packages_are_listed(tmp_path: Path) -> None:
    script = (
        'missing=" mmdebstrap"; reasons="(why)"\n'
        'id() { echo 1000; }\nhave() { [ "$1" != sudo ]; }\ninstall_missing; echo went on'
    )
    result = host_shell(script, tmp_path)
    assert result.returncode == 1
    assert "mmdebstrap" in result.stderr
    assert "went on" not in result.stdout


def test_the_other_pythons_are_found(tmp_path: Path) -> None:
    """If this fails, `.ci/run` tries one Python, and the others' words are somebody else's surprise."""
    (tmp_path / "bin").mkdir()
    for name, version, able in (
        ("python3.11", "3.11", True),
        ("python3.12", "3.12", True),
        ("python3.13", "3.13", False),
        ("python3.14", "", False),
        ("python3.15", "3.10", True),
    ):
        able_to, says = "" if able else "exit 1", f"echo {version}" if version else "exit 127"
        text = f"case $3 in *ensurepip*) echo {name}; {able_to} ;; *) {says} ;; esac"
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "bin" / "python3").symlink_to("python3.11")
    script = 'have() { false; }\nfind_python; find_other_pythons; echo "$others"; echo "$host_python $python_version"'
    answer = host_shell(script, tmp_path, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert answer.stdout == f" {tmp_path}/bin/python3.12\n{tmp_path}/bin/python3 python3.11\n", answer.stderr
    assert "Python 3.13" in answer.stderr and "python3.13-venv" in answer.stderr
    assert "3.14" not in answer.stderr


# A system without the compiler and LLVM, and an apt-get that has the one and not the other.
WITHOUT = """\
have() {{ case $1 in cc | gcc | clang) [ -e "$HOME/gcc" ] ;; llvm-mc-19) false ;; sudo) {sudo} ;; esac; }}
id() {{ echo {user}; }}
know_system() {{ :; }}
env() {{
    for last; do :; done
    echo "$last" >>"$HOME/asked"
    case $* in *llvm*) return 100 ;; *gcc*) : >"$HOME/gcc" ;; esac
}}
install_missing_of_tests
echo went on
"""


@pytest.fixture
def no_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An apt-get that does nothing."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")


@pytest.mark.usefixtures("no_update")
def test_what_the_tests_use_is_installed_once_or_told(tmp_path: Path) -> None:
    """If this fails, tests are skipped for want of what ./test could bring, or a system without it has no tests."""
    script = WITHOUT.format(user=0, sudo="false")
    first = host_shell(script, tmp_path)
    assert (first.returncode, first.stdout) == (0, "went on\n"), first.stderr
    assert "  gcc: compiles" in first.stderr
    assert "could not install these" in first.stderr.splitlines()[-2]
    assert first.stderr.splitlines()[-1].startswith("  llvm-19: ")
    asked = (tmp_path / "asked").read_text()
    second = host_shell(script, tmp_path)
    assert second.stdout == "went on\n"
    assert second.stderr.endswith("are skipped; install them once as root: llvm-19\n")
    assert (tmp_path / "asked").read_text() == asked


def test_without_root_the_tests_begin_all_the_same(tmp_path: Path) -> None:
    answer = host_shell(WITHOUT.format(user=1000, sudo="false"), tmp_path)
    assert (answer.returncode, answer.stdout) == (0, "went on\n")
    assert "install them once as root: gcc llvm-19" in answer.stderr
    assert not (tmp_path / "asked").exists()


def test_a_second_start_asks_no_python_until_something_changes(tmp_path: Path) -> None:
    """If this fails, each start waits for a Python, or one takes an environment whose Python or packages are others."""
    fake = tmp_path / "bin" / "python-fake"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\n[ "$2" = -c ] && { echo fake; echo asked >>"$HOME/asked"; exit; }\n'
        '[ "$3" = venv ] || exit 0\nfor last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"\n'
    )
    fake.chmod(0o755)
    prepare = 'have() { :; }\nfind_missing() { find_python; missing=; }\nprepare_host; echo "$python $PYTHONPATH"'
    arguments = {"WORLDWISE_PYTHON": str(fake)}

    def asked(**changed: str) -> int:
        answer = host_shell(prepare, tmp_path, **arguments | changed)
        assert answer.returncode == 0, answer.stderr
        python, modules = answer.stdout.split()[-2:]
        assert (Path(python).name, modules) == ("python", f"{paths.REPOSITORY}/src")
        return (tmp_path / "asked").read_text().count("asked")

    assert [asked(), asked(), asked()] == [1, 1, 1]
    assert [asked(PATH=f"{os.environ['PATH']}:/none"), asked(), asked()] == [2, 3, 3]
    (environment,) = (tmp_path / "cache").glob("venv-*")
    # As an upgrade of the host's Python does.
    python = environment / "bin" / "python"
    python.rename(python.with_suffix(".old"))
    python.write_bytes(python.with_suffix(".old").read_bytes())
    python.chmod(0o755)
    assert [asked(), asked()] == [4, 4]
    (environment / "requirements").write_text("click==1\n")
    assert [asked(), asked()] == [5, 5]
    (environment / "complete").unlink()
    assert [asked(), asked()] == [6, 6]


@pytest.mark.parametrize(("name", "first"), [("run", "base"), ("dask", "dask")])
def test_a_run_begins_without_what_draws(name: str, first: str, tmp_path: Path) -> None:
    """If this fails, a first run waits for packages that it does not need, or another environment lacks some."""
    fake = tmp_path / "bin" / "python-fake"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\n[ "$2" = -c ] && { echo fake; exit; }\necho "$@" >>"$HOME/called"\n'
        '[ "$3" = venv ] || exit 0\nfor last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"\n'
    )
    fake.chmod(0o755)
    done = host_shell(f"find_python; make_environment {name}", tmp_path, WORLDWISE_PYTHON=str(fake))
    assert done.returncode == 0, done.stderr
    made, installed = (tmp_path / "called").read_text().splitlines()
    assert f"-r {paths.REPOSITORY}/requirements/{first}.txt " in installed
    assert "--require-hashes" in installed
    # Without a pip of the host's it is unpacked, as for any other environment.
    assert ("--without-pip" in made) == ("-m pip" not in installed)


@pytest.mark.parametrize("fails", ["", "half-0", "half-1"])
def test_two_pips_install_what_a_run_begins_with(fails: str, tmp_path: Path) -> None:
    """If this fails, a first run lacks a package, has one whose digest nobody checked, or goes on without one."""
    fake = tmp_path / "bin" / "python-fake"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\n[ "$2" = -c ] && {{ echo 3.11.2 "$HOME/prefix"; exit; }}\n'
        '[ "$3" = venv ] && { for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; exit; }\n'
        'echo "$@" >>"$HOME/called"\n'
        f'case "$*" in *{fails or "nothing"}*) exit 1 ;; esac\n'
    )
    fake.chmod(0o755)
    pip = tmp_path / "prefix/lib/python3.11/ensurepip/_bundled/pip-1-py3-none-any.whl"
    pip.parent.mkdir(parents=True)
    pip.touch()
    done = host_shell('find_python; make_environment run; echo "$environment"', tmp_path, WORLDWISE_PYTHON=str(fake))
    environments = [marker.parent for marker in tmp_path.glob("cache/venv-*/complete")]
    assert (done.returncode == 0, len(environments)) == ((False, 0) if fails else (True, 1)), done.stderr
    calls = (tmp_path / "called").read_text().splitlines()
    assert len(calls) == 2
    for call in calls:
        assert f"{pip}/pip install" in call
        assert "--require-hashes" in call
    (folder,) = tmp_path.glob("cache/venv-*/bin")
    halves = [folder.parent.joinpath(f"half-{number}.txt").read_text().splitlines() for number in (0, 1)]
    whole = (paths.REPOSITORY / "requirements/base.txt").read_text().splitlines()
    assert sorted(halves[0] + halves[1]) == sorted(whole)
    assert abs(len([one for one in halves[0] if "==" in one]) - len([one for one in halves[1] if "==" in one])) <= 1


def test_a_half_made_environment_is_made_again(tmp_path: Path) -> None:
    # A Python that makes an environment whose pip does nothing: what counts here is the order of things.
    fake = tmp_path / "bin" / "python-fake"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\n[ "$1" = -I ] || exit 9\n[ "$2" = -c ] && { echo fake; exit; }\n[ "$3" = venv ] || exit 0\n'
        'echo made >>"$HOME/count"; for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"\n'
    )
    fake.chmod(0o755)
    prepare = 'find_python; make_environment run; echo "$environment"'
    arguments = {"WORLDWISE_PYTHON": str(fake)}
    first = host_shell(prepare, tmp_path, **arguments)
    assert first.returncode == 0, first.stderr
    environment = Path(first.stdout.strip().splitlines()[-1])
    assert (environment / "complete").exists()
    second = host_shell(prepare, tmp_path, **arguments)
    assert second.stderr == ""
    assert (tmp_path / "count").read_text() == "made\n"
    (environment / "complete").unlink()
    (environment / "rubbish").touch()
    host_shell(prepare, tmp_path, **arguments)
    assert (environment / "complete").exists()
    assert not (environment / "rubbish").exists()
    both = f"({prepare}) & ({prepare}) & wait"
    (environment / "complete").unlink()
    host_shell(both, tmp_path, **arguments)
    assert (tmp_path / "count").read_text() == "made\n" * 3


def test_this_python_is_one_the_launcher_would_take(tmp_path: Path) -> None:
    result = host_shell('find_python && echo "$host_python"', tmp_path, WORLDWISE_PYTHON=sys.executable)
    assert result.returncode == 0, result.stderr
