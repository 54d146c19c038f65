# SPDX-License-Identifier: BSD-2-Clause
"""Kept answers of slow tests: a test runs again when a file changes that it could have seen, and only then."""

from pathlib import Path

import pytest

from kept_answers import Kept, digests

pytest_plugins = ["pytester"]

# File -> content, of a repository that has a bit of everything.
FILES = {
    "tests/machine/test_one.py": "import helper\nfrom worldwise.run import start\n",
    "tests/machine/test_two.py": "def test(tool): pass\n",
    "tests/machine/test_pages.py": "import doc_blocks\n",
    "tests/browser/test_page.py": 'PAGE = ROOT / "docs" / "use"\n',
    "tests/helper.py": "def f():\n    import lazily\n",
    "tests/lazily.py": "",
    "tests/unheard.py": "",
    "tests/doc_blocks.py": "",
    "tests/unit/test_three.py": "",
    "tests/unit/test_sampling.py": "",
    "src/worldwise/__init__.py": "",
    "src/worldwise/run/__init__.py": "",
    "src/worldwise/run/start.py": "from worldwise.base.stages import declared\nTABLES = declared('tables', str)\n",
    "src/worldwise/base/stages.py": "",
    "src/worldwise/families/aes/tables.py": "",
    "src/worldwise/families/aes/readings.py": "",
    "src/worldwise/report/page.py": "",
    "src/worldwise/recipes/one.py": "",
    "guest/one.c": "",
    "README.md": "",
    "docs/use/own.md": "",
    "docs/examples/ci/ci.sh": "",
    "keycache/tests/server/redis.py": "",
}
ALL = {"test_one", "test_two", "test_pages", "test_page", "test_sampling"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "runs"),
    [
        ("tests/machine/test_one.py", {"test_one"}),
        ("tests/helper.py", {"test_one"}),
        ("tests/lazily.py", {"test_one"}),
        ("tests/unheard.py", set()),
        ("tests/unit/test_three.py", set()),
        ("tests/unit/test_sampling.py", {"test_sampling"}),
        ("docs/use/own.md", {"test_pages", "test_page"}),
        ("tests/doc_blocks.py", {"test_pages"}),
        ("src/worldwise/report/page.py", {"test_two"}),
        ("src/worldwise/run/__init__.py", {"test_one", "test_two"}),
        ("src/worldwise/base/stages.py", {"test_one", "test_two"}),
        ("src/worldwise/families/aes/tables.py", {"test_one", "test_two"}),
        ("src/worldwise/families/aes/readings.py", {"test_two"}),
        ("src/worldwise/recipes/one.py", ALL),
        ("guest/one.c", ALL),
        ("README.md", ALL),
        ("docs/examples/ci/ci.sh", ALL),
        ("keycache/tests/server/redis.py", ALL),
        ("guest/new.c", ALL),
    ],
)
def test_what_a_test_could_see_decides(repository: Path, changed: str, runs: set[str]) -> None:
    """If this fails, a test is not run although what it tests has changed, or runs for nothing."""
    before = digests(repository, FILES)
    (repository / changed).write_text(FILES.get(changed, "") + "# changed\n")
    after = digests(repository, [*FILES, changed])
    assert {Path(name).stem for name in after if before[name] != after[name]} == runs


def test_a_file_that_is_gone_counts(repository: Path) -> None:
    """If this fails, a removed header goes unnoticed."""
    before = digests(repository, FILES)
    (repository / "guest/one.c").unlink()
    assert all(digest != before[name] for name, digest in digests(repository, FILES).items())


def _report(outcome: str, stage: str) -> pytest.TestReport:
    return pytest.TestReport("tests/machine/test_a.py::t", ("", 0, ""), {}, outcome, None, stage)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stages", "is_kept"),
    [
        ({"setup": "passed", "call": "passed", "teardown": "passed"}, True),
        ({"setup": "passed", "call": "failed", "teardown": "passed"}, False),
        ({"setup": "passed", "call": "passed", "teardown": "failed"}, False),
        ({"setup": "skipped", "teardown": "passed"}, False),
        ({"setup": "passed", "call": "passed"}, False),
    ],
)
def test_only_what_passed_is_kept(tmp_path: Path, stages: dict[str, str], is_kept: bool) -> None:
    """If this fails, a failure is forgotten."""
    kept = Kept(tmp_path / "answers", {"tests/machine/test_a.py": "1"})
    for stage, outcome in stages.items():
        kept.hear(_report(outcome, stage))
    kept.write()
    assert kept.has("tests/machine/test_a.py::t") is is_kept
    assert not Kept(tmp_path / "answers", {"tests/machine/test_a.py": "2"}).has("tests/machine/test_a.py::t")


@pytest.fixture
def small(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A repository of its own with two slow tests that pass and one that does not, and a cache of its own."""
    monkeypatch.delenv("WORLDWISE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "cache"))
    monkeypatch.setattr("worldwise.base.paths.REPOSITORY", pytester.path)
    folder = pytester.path / "tests" / "machine"
    folder.mkdir(parents=True)
    text = "import pytest\n@pytest.fixture(scope='module')\ndef one():\n    yield\n    print('ended')\n"
    (folder / "test_a.py").write_text(f"{text}def test_1(one): pass\ndef test_2(one): assert VALUE\nVALUE = 0\n")
    (folder / "test_b.py").write_text(f"{text}def test_3(one): print('ran')\n")
    pytester.makeini("[pytest]\ntestpaths = tests\n")
    (pytester.path / ".gitignore").write_text("__pycache__/\ncache/\n")
    pytester.run("git", "init", "-q", ".")
    # conftest's own options are not there.
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p spread")
    return pytester


WORDS = ("-p", "kept_answers", "-p", "no:cacheprovider", "-s", "-n0")


def test_a_kept_answer_passes_and_is_told(small: pytest.Pytester) -> None:
    """If this fails, kept tests vanish from the sum, or fixtures of the tests around them are not ended."""
    small.runpytest_inprocess(*WORDS).assert_outcomes(passed=2, failed=1)
    second = small.runpytest_inprocess(*WORDS)
    second.assert_outcomes(passed=2, failed=1)
    assert "ran" not in second.stdout.str()
    second.stdout.fnmatch_lines("kept: 2 of those that passed were not run*")
    assert "ran" in small.runpytest_inprocess(*WORDS, "--anew").stdout.str()
    assert "ran" in small.runpytest_inprocess(*WORDS, "tests/machine/test_b.py").stdout.str()


def test_a_folder_that_cannot_be_written_hides_no_result(small: pytest.Pytester) -> None:
    """If this fails, on a full disk nobody reads which tests failed."""
    place = small.path / "cache" / "worldwise" / "again"
    place.parent.mkdir(parents=True)
    place.write_text("")
    result = small.runpytest_inprocess(*WORDS)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines("no answer of these tests is kept: *")
