# SPDX-License-Identifier: BSD-2-Clause
"""The builds of the key cache, without its root: recipes, what is refused, what a fuzz campaign comes to."""

import shutil
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from filelock import FileLock
from rich.console import Console

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli.keycache import keycache as command
from worldwise.families.keycache import build as keycache
from worldwise.families.keycache.build import Fuzzer
from worldwise.lab.debian.lock import load_lock
from worldwise.lab.image import Recipe, recipe_file
from worldwise.lab.lab import Lab
from worldwise.lab.roots import ROOTS

GENUINE = b"HSTO" + bytes(300) + uuid.UUID(keycache.TA_UUID).bytes + bytes(100)

# As libFuzzer 19 writes it.
LOG = """INFO: Seed: 1
#13\tINITED cov: 451 ft: 600 corp: 12/1021b exec/s: 0 rss: 40Mb
#4096\tpulse  cov: 700 ft: 1200 corp: 80/7Kb lim: 43 exec/s: 2048 rss: 42Mb
#4100\tREDUCE cov: 701 ft: 1203 corp: 81/7Kb lim: 43 exec/s: 2050 rss: 42Mb L: 5/43 MS: 1 EraseBytes-
"""
FINAL = """#5000\tDONE   cov: 702 ft: 1204 corp: 82/7Kb lim: 43 exec/s: 2500 rss: 42Mb
Done 5000 runs in 2 second(s)
stat::number_of_executed_units: 5000
stat::average_exec_per_sec:     2500
"""


class FakeRoot(Lab):
    """A root in which the fuzz target does what the test says.

    Attributes:
        calls: the words of each run.
        status: that of the target.
        text: what it prints.
        finds: the file that it leaves in the folder for findings, if any.
    """

    def __init__(self, cache: Path) -> None:
        super().__init__(load_lock(ROOTS[keycache.ROOT].lock), cache, Console(), keycache.ROOT)
        self.calls: list[list[str]] = []
        self.status = 0
        self.text = LOG + FINAL
        self.finds = ""
        self.stopped = False

    def ensure(self) -> bool:
        return False

    def stop(self) -> None:
        self.stopped = True

    def run(self, argv: Sequence[str | Path], **words: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append([str(word) for word in argv])
        if argv[0] == "bash":  # a recipe
            out = next(host for host, inside, _ in words["binds"] if inside == "/out")
            Path(out, "fuzz_requests").write_text("program")
            return subprocess.CompletedProcess([], 0, "", "")
        with words["log"].open("a") as log:
            log.write(self.text)
        places = {inside: Path(host) for host, inside, _ in words["binds"]}
        (places["/corpus"] / "one").write_bytes(b"12345")
        if self.finds:
            (places["/findings"] / self.finds).write_bytes(b"bad")
        if "/output" in places:
            (places["/output"] / "few").write_bytes(b"1")
        return subprocess.CompletedProcess([], self.status, "", "")


@pytest.fixture
def root(tmp_path: Path) -> FakeRoot:
    return FakeRoot(tmp_path / "cache")


@pytest.fixture
def fuzzer(root: FakeRoot, tmp_path: Path) -> Fuzzer:
    return Fuzzer(tmp_path / "work", _lab=root)


def options(call: list[str]) -> dict[str, str]:
    return dict(word.lstrip("-").split("=", 1) for word in call[1:] if word.startswith("-"))


def corpus(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a copy of the program that writes and reads the inputs of the repository."""
    for name in ("corpus.py", "corpus.txt"):
        if not (folder / name).exists():
            shutil.copy(paths.KEYCACHE / "fuzz" / name, folder)
    command = [sys.executable, "-I", folder / "corpus.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_fuzzers_inputs_are_text(tmp_path: Path) -> None:
    """If this fails, fuzzing begins with other inputs than those that were kept."""
    assert corpus(tmp_path, "unpack", tmp_path / "all").returncode == 0
    files = sorted((tmp_path / "all").iterdir())
    assert len(files) >= 83
    assert all(path.stat().st_size <= 2048 for path in files)
    assert (tmp_path / "all/malformed").read_bytes() == b"\x00*2\r\n$4\r\nPING\r\n:1\r\n"
    # Bytes of all kinds come back, and the text is the one way to write them.
    every = b"\x00" + bytes(range(256)) * 2 + b'*1\r\n$3\r\n\\"+\r\n$5\r\nab'
    (tmp_path / "all/every").write_bytes(every)
    assert corpus(tmp_path, "add", tmp_path / "all/every").returncode == 0
    assert corpus(tmp_path, "unpack", tmp_path / "more").returncode == 0
    assert (tmp_path / "more/every").read_bytes() == every
    before = (paths.KEYCACHE / "fuzz/corpus.txt").read_text()
    assert [line for line in (tmp_path / "corpus.txt").read_text().splitlines() if line in before.splitlines()] == (
        before.splitlines()
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("2799b04d134c 0a", "2799b04d134c 0b"), "2799b04d134c is not the SHA-1 of its bytes"),
        (("  *2 GET alice\n", "  *2 GET alice ?\n"), "what is '?'?"),
    ],
)
def test_a_changed_input_is_refused(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    text = (paths.KEYCACHE / "fuzz/corpus.txt").read_text()
    assert change[0] in text
    (tmp_path / "corpus.txt").write_text(text.replace(*change, 1))
    answer = corpus(tmp_path, "unpack", tmp_path / "all")
    assert answer.returncode == 1
    assert words in answer.stderr


# --- recipes ---


@pytest.mark.parametrize(
    "recipe",
    [
        keycache.programs_recipe(),
        keycache.native_recipe(),
        keycache.packages_recipe(),
        keycache.fuzz_recipe(),
    ],
    ids=lambda recipe: recipe.name,
)
def test_what_a_recipe_names_is_there(recipe: Recipe, root: FakeRoot) -> None:
    assert all(recipe_file(name).is_file() for name in (recipe.script, *recipe.helpers))
    assert all(path.exists() for path in recipe.trees.values())
    assert len(recipe.digest(root)) == 64
    # What `make` leaves beside the sources must not be an input.
    assert paths.KEYCACHE not in recipe.trees.values()


def test_a_ta_makes_other_packages(root: FakeRoot, tmp_path: Path) -> None:
    ta = tmp_path / "some.ta"
    ta.write_bytes(GENUINE)
    without, one = keycache.packages_recipe().digest(root), keycache.packages_recipe(ta).digest(root)
    ta.write_bytes(GENUINE + b"2")
    assert len({without, one, keycache.packages_recipe(ta).digest(root)}) == 3


# --- what is refused ---


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (b"", "not a signed TA"),
        (b"\x7fELF" + bytes(5000), "not a signed TA"),
        (b"HSTO" + bytes(5000), "another TA"),
        (b"HSTO" + bytes(5000) + uuid.UUID(keycache.TA_UUID).bytes, "another TA"),
    ],
)
def test_a_wrong_ta_is_refused_before_anything_is_built(content: bytes | None, words: str, tmp_path: Path) -> None:
    ta = tmp_path / "some.ta"
    if content is not None:
        ta.write_bytes(content)
    with pytest.raises(WorldwiseError) as caught:
        keycache.packages(tmp_path / "new", ta)
    assert str(ta) in caught.value.message
    assert words in caught.value.message
    assert keycache.TA_UUID in caught.value.hint
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, fuzzer: Fuzzer) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(WorldwiseError) as caught:
        keycache.packages(file)
    assert str(file) in caught.value.message
    with pytest.raises(WorldwiseError) as caught:
        fuzzer.minimise(file / "folder")
    assert str(file / "folder") in caught.value.message


# --- fuzzing ---


def test_executions_are_shared_by_the_jobs(fuzzer: Fuzzer, root: FakeRoot) -> None:
    result = fuzzer.run(10_001, jobs=2)
    targets = [call for call in root.calls if call[0] != "bash"]
    assert sorted(options(call)["runs"] for call in targets) == ["5000", "5001"]
    assert all(call[-2:] == ["/corpus", "/in/corpus"] for call in targets)
    assert (result.executions, result.coverage, result.features) == (10_000, 702, 1204)
    assert (result.inputs, result.size) == (1, 5)
    assert result.findings == ()
    # Logs of before count for nothing.
    assert fuzzer.run(1).executions == 5000


def test_more_jobs_than_executions(fuzzer: Fuzzer, root: FakeRoot) -> None:
    fuzzer.run(1, jobs=3)
    assert [options(call)["runs"] for call in root.calls if call[0] != "bash"] == ["1"]


def test_a_finding_is_told_apart_from_those_of_before(fuzzer: Fuzzer, root: FakeRoot) -> None:
    root.status, root.text, root.finds = 77, LOG + "==1==ERROR: AddressSanitizer\n", "crash-aa"
    result = fuzzer.run(5000)
    assert [path.name for path in result.findings] == ["crash-aa"]
    assert result.executions == 4100, "as far as the log says"
    root.finds = "timeout-bb"
    assert [path.name for path in fuzzer.run(5000).findings] == ["timeout-bb"]


def test_a_slow_input_is_no_finding(fuzzer: Fuzzer, root: FakeRoot) -> None:
    root.finds = "slow-unit-cc"
    assert fuzzer.run(5000).findings == ()


def test_a_target_that_does_not_run_is_an_error(fuzzer: Fuzzer, root: FakeRoot) -> None:
    root.status, root.text = 1, "fuzz_requests: no TA\n"
    with pytest.raises(WorldwiseError) as caught:
        fuzzer.run(5000)
    assert "status 1" in caught.value.message
    assert "no TA" in caught.value.details
    assert root.stopped
    with pytest.raises(WorldwiseError):
        fuzzer.minimise(fuzzer.folder / "few")


def test_an_interrupt_ends_the_jobs(fuzzer: Fuzzer, root: FakeRoot) -> None:
    def progress(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fuzzer.run(5000, jobs=2, progress=progress)
    assert root.stopped


def test_one_campaign_at_a_time_writes_the_logs(fuzzer: Fuzzer, root: FakeRoot) -> None:
    del root
    fuzzer.folder.mkdir(parents=True)
    with (
        FileLock(fuzzer.folder / "lock"),
        pytest.raises(WorldwiseError, match=f"another campaign is at work in {fuzzer.folder}"),
    ):
        fuzzer.run(10)
    assert fuzzer.run(10).executions


def test_a_corpus_made_small(fuzzer: Fuzzer, root: FakeRoot, tmp_path: Path) -> None:
    assert fuzzer.minimise(tmp_path / "few") == 1
    assert options(root.calls[-1])["merge"] == "1"
    assert root.calls[-1][-3:] == ["/output", "/corpus", "/in/corpus"]


# --- the command line ---


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch, root: FakeRoot, tmp_path: Path) -> Path:
    """A cache of the test's own, and the root that is not there."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr(keycache, "open_lab", lambda **_: root)
    return tmp_path / "own"


def test_fuzz_prints_its_figures(cached: Path) -> None:
    result = CliRunner().invoke(command, ["fuzz", "--runs", "5000", "--minimise", str(cached / "few")])
    assert result.exit_code == 0, result.output
    assert "5,000 in " in result.output
    assert "702 edges, 1,204 features" in result.output
    assert "1 inputs, 5 bytes" in result.output
    assert f"1 inputs in {cached / 'few'}" in result.output


def test_fuzz_says_where_a_finding_lies(cached: Path, root: FakeRoot) -> None:
    root.status, root.finds = 77, "crash-aa"
    result = CliRunner().invoke(command, ["fuzz", "--runs", "5000"])
    assert result.exit_code == 1
    assert f"found: {cached / 'keycache-fuzz/findings/crash-aa'}" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["packages"], "--output"),
        (["packages", "--output", "x", "--ta", "y", "--demo-ta"], "choose one"),
        (["fuzz", "--runs", "0"], "--runs"),
        (["fuzz", "--jobs", "0"], "--jobs"),
        (["fuzz", "--corpus", __file__], "--corpus"),
    ],
)
def test_a_wrong_call_is_refused(words: list[str], said: str) -> None:
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2
    assert said in result.output
