# SPDX-License-Identifier: BSD-2-Clause
"""The current folder is a stranger's: an unpacked archive, a fetched clone. Nothing of it is executed.

What lies there has the names of Python's modules and of the programs that the launchers call. Each writes down that it
was executed; the variables of the environment that can be relative name the folder too.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.build_root import Making
from worldwise.lab.debian import mirrors
from worldwise.lab.debian.lock import Lock
from worldwise.lab.debian.store import Store

MODULES = (
    *("contextlib", "venv", "ensurepip", "pip", "site", "sitecustomize", "usercustomize", "encodings", "runpy", "os"),
    *("importlib", "types", "re", "sysconfig", "hatchling", "worldwise", "click", "rich", "pydantic", "json"),
)
PROGRAMS = (
    *("dirname", "readlink", "id", "ldconfig", "grep", "cat", "sha256sum", "cut", "mkdir", "rm", "flock", "mktemp"),
    *("python", "python3", "python3.11", "python3.12", "python3.13", "git", "apt-get", "sudo", "bwrap", "ssh", "sh"),
)
# What the launchers say and do on the way is theirs; this is all that the tool and hatchling do here.
STUB = "import sys; print('executed:', *sys.argv[1:])"


class Poisoned:
    """A folder of poison, and what was executed of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "strangers"
        self.folder.mkdir(parents=True)
        self.log = root / "executed"
        python = f"open({str(self.log)!r}, 'a').write(__file__ + '\\n')\n"
        for name in MODULES:
            package = self.folder / name
            if name in ("pip", "venv", "ensurepip", "encodings", "hatchling", "worldwise"):
                package.mkdir()
                for file in ("__init__.py", "__main__.py"):
                    (package / file).write_text(python)
            else:
                package.with_suffix(".py").write_text(python)
        (self.folder / "poison.pth").write_text(f"import os; {python}")
        (self.folder / "pyvenv.cfg").write_text("home = .\ninclude-system-site-packages = true\n")
        (self.folder / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
        (self.folder / ".python-version").write_text("../../strangers\n")
        for folder in (self.folder, self.folder / "bin"):
            folder.mkdir(exist_ok=True)
            for name in PROGRAMS:
                (folder / name).write_text(f'#!/bin/sh\necho "$0" >>{self.log}\nexit 1\n')
                (folder / name).chmod(0o755)

    def start(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Start a program in it, with a cache of the test's own."""
        environment = {
            "PATH": f".:bin::{os.environ['PATH']}:",
            "HOME": str(self.root),
            "WORLDWISE_CACHE": str(self.root / "cache"),
            **{name: os.environ[name] for name in ("SSL_CERT_FILE",) if name in os.environ},
            **variables,
        }
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def executed(self) -> list[str]:
        """Of the folder's files, those that were executed."""
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def poisoned(tmp_path: Path) -> Poisoned:
    return Poisoned(tmp_path)


RELATIVE = {
    "PYTHONPATH": ".",
    "PYTHONSTARTUP": "contextlib.py",
    "PYTHONUSERBASE": ".",
    "PYTHONPYCACHEPREFIX": ".",
    "PYTHONHOME": ".",
    "PYTHONWARNINGS": "error::contextlib.Poison",
}


# Makes an environment as the Python it stands for, but with a stub in pip's place: the true one takes ten seconds.
PYTHON = """\
#!/bin/sh
case "$*" in *venv*) ;; *) exec {python} "$@" ;; esac
{python} "$@" --without-pip || exit
for last; do :; done
for site in "$last"/lib/python3*/site-packages; do
    mkdir "$site/pip" "$site/hatchling"
    : >"$site/pip/__main__.py"
    echo "{stub}" | tee "$site/hatchling/__main__.py" >/dev/null
done
"""


def test_no_launcher_executes_what_lies_in_the_current_folder(poisoned: Poisoned) -> None:
    """If this fails, who starts worldwise in a folder that a stranger made has executed the stranger's code.

    The launchers are the repository's; what they install, and what they start then, is a stub.
    """
    repository = poisoned.root / "repository"
    for name in ("worldwise", "lab/host.sh", "release/wheel"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(paths.REPOSITORY / name, repository / name)
    for name in ("run", "base", "build"):
        (repository / f"requirements/{name}.txt").parent.mkdir(exist_ok=True)
        (repository / f"requirements/{name}.txt").write_text("# Nothing is to be installed.\n")
    (repository / "src/worldwise").mkdir(parents=True)
    (repository / "src/worldwise/__main__.py").write_text(STUB)
    python = poisoned.root / "python"
    python.write_text(PYTHON.format(python=sys.executable, stub=STUB))
    python.chmod(0o755)
    chosen = {"WORLDWISE_PYTHON": str(python)}
    first = poisoned.start(repository / "worldwise", "--help", **chosen)
    assert poisoned.executed() == []
    assert (first.returncode, first.stdout) == (0, "executed: --help\n"), first.stderr
    assert "making the Python environment" in first.stderr
    second = poisoned.start(repository / "worldwise", "--help", **chosen, **RELATIVE)
    assert (second.stdout, second.stderr) == (first.stdout, "")
    # In the same environment, since both ask for nothing.
    wheel = poisoned.start(repository / "release/wheel", **chosen, **RELATIVE)
    target = poisoned.folder / "dist"
    assert wheel.stdout == f"executed: build --target wheel --directory {target}\n", wheel.stderr
    assert poisoned.executed() == []


def test_a_python_of_the_current_folder_is_not_found(poisoned: Poisoned) -> None:
    """If this fails, `python3` is whatever lies in the folder, as soon as PATH has an empty word."""
    text = f'repository={paths.REPOSITORY}\n. "$repository/lab/host.sh"\nfind_python; echo "$host_python"; echo "$PATH"'
    answer = poisoned.start("/bin/sh", "-euc", text)
    python, path = answer.stdout.splitlines()
    assert Path(python).is_absolute() and not Path(python).is_relative_to(poisoned.folder)
    assert path == os.environ["PATH"]
    assert poisoned.executed() == []


@pytest.mark.parametrize(
    "words",
    [("--help",), ("suites",), ("doctor",), ("list",)],
    ids=lambda words: words[0],
)
def test_the_tool_executes_nothing_of_the_current_folder(poisoned: Poisoned, words: tuple[str, ...]) -> None:
    """If this fails, a wheel's worldwise, which no launcher starts, imports or starts what lies there."""
    answer = poisoned.start(
        sys.executable, "-P", "-m", "worldwise", *words, PYTHONPATH=str(paths.REPOSITORY / "src"), COLUMNS="200"
    )
    assert "Traceback" not in answer.stderr
    assert answer.stdout or answer.stderr
    assert poisoned.executed() == []


@pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="no mmdebstrap here")
def test_mmdebstrap_takes_no_hook_of_the_current_folder(poisoned: Poisoned, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a program in the folder runs as root: mmdebstrap executes a hook that is the name of one."""
    hook = mirrors.MIRROR_HOOK
    program = poisoned.folder / hook
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho hook >>{poisoned.log}\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.chdir(poisoned.folder)
    assert mirrors.mmdebstrap_mirror("trixie") or os.geteuid() != 0
    assert poisoned.executed() == []


def test_mmdebstrap_takes_no_options_of_the_current_folder(
    poisoned: Poisoned, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If this fails, a file called force-unsafe-io is dpkg's configuration, as root: it can name programs."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mmdebstrap").write_text(f"#!/bin/sh\npwd >{tmp_path}/where\nexit 1\n")
    (tmp_path / "bin" / "mmdebstrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.chdir(poisoned.folder)
    empty = Lock(format=1, suite="trixie", lab=[], target=[], sources=[])
    making = Making("main", "a lab", empty, "0" * 64, tmp_path, Store(tmp_path, "trixie"), Console(quiet=True))
    with pytest.raises(WorldwiseError):
        making.make(tmp_path / "made")
    assert (tmp_path / "where").read_text() == "/\n"


def test_every_python_that_the_tool_starts_leaves_the_current_folder_out() -> None:
    """If this fails, a Python that the tool starts takes modules from the folder it was called in."""
    found = []
    for file in (paths.REPOSITORY / "src").rglob("*.py"):
        for use in re.finditer(r"sys\.executable\b(.{0,12})", file.read_text(encoding="utf-8")):
            if not re.match(r'(?:, "-[IP]"|\} -[IP] |, \[sys|\)\}"\])', use[1]):
                found.append(f"{file.name}: {use[0]}")
    assert found == []
