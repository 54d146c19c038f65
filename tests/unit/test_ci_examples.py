# SPDX-License-Identifier: BSD-2-Clause
"""The workflows of docs/use/in-your-repository.md: their steps run with a stand-in for worldwise, by valid calls."""

import re
import subprocess
from pathlib import Path
from typing import Any

import check_jsonschema
import click
import pytest
import yamllint.cli
from click.testing import CliRunner
from ruamel.yaml import YAML

from worldwise import cli
from worldwise.base import paths
from worldwise.cli.lab.root import lab
from worldwise.lab.debian.sources import KINDS

CI = paths.REPOSITORY / "docs" / "examples" / "ci"
# Notes its arguments, and leaves what worldwise would leave. Merging says that a case failed.
STAND_IN = """#!/bin/sh
set -eu
(IFS='\x1f'; printf '%s\\n' "$*") >>"$CALLS"
for word in "$@"; do last=$word; done
case $1 in
lab) shift 4; exec "$@" ;;
run) mkdir -p "$last/20260102T030405Z-mcu-shard-1-of-2"; exit 1 ;;
merge) mkdir -p "$last/20260102T030406Z-mcu"; exit 1 ;;
compare) for word in "$@"; do case $word in *=*) echo it >"${word#*=}" ;; esac; done; exit 3 ;;
site) mkdir -p "$2" ;;
esac
"""
COLLECT = '#!/bin/sh\nmkdir "$1" && echo >"$1/implementation.toml"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the checkouts of a library and the stand-in."""
    for side in ("baseline", "proposed"):
        (tmp_path / side / "worldwise").mkdir(parents=True)
        (tmp_path / side / "worldwise" / "collect.sh").write_text(COLLECT)
        (tmp_path / side / "worldwise" / "collect.sh").chmod(0o755)
        (tmp_path / side / "link").symlink_to("/nothing")
    (tmp_path / "worldwise").mkdir()
    (tmp_path / "worldwise" / "worldwise").write_text(STAND_IN)
    (tmp_path / "worldwise" / "worldwise").chmod(0o755)
    # A name that the shell would put in the pattern's place.
    (tmp_path / "my-library-x").touch()
    return tmp_path


def step(place: Path, *words: str) -> int:
    choice = "--target nucleo-f446re --variant my-library-*"
    environment = {"PATH": "/usr/bin:/bin", "CALLS": str(place / "calls"), "SUITE": "mcu", "CHOICE": choice}
    return subprocess.run([CI / "ci.sh", *words], cwd=place, env=environment, check=False, timeout=60).returncode


def test_the_steps_run_and_worldwise_knows_their_words(place: Path) -> None:
    """If this fails, a maintainer's first pipeline ends at a typing error of ours."""
    for shard in ("1/2", "2/2"):
        for side in ("baseline", "proposed"):
            # A failed case is for the comparison to tell.
            assert step(place, "measure", side, shard) == 0
            assert (place / f"{side}-collected" / "library" / "implementation.toml").is_file()
    assert step(place, "gate") == 3
    assert (place / "summary.md").is_file()
    assert (place / "gate.xml").is_file()
    assert step(place, "history", "history") == 0
    assert [path.name for path in (place / "history" / "runs").iterdir()] == ["20260102T030406Z-mcu"]
    calls = [line.split("\x1f") for line in (place / "calls").read_text().splitlines()]
    assert [words[0] for words in calls] == ["lab", "run"] * 4 + ["merge"] * 2 + ["compare", "site"]
    # The library's own script is called by nothing but the lab, which sees the copy.
    assert calls[0][:5] == ["lab", "enter", "--lend", "baseline-collected", "sh"]
    assert "my-library-*" in calls[1]
    assert calls[8][1:] == ["./baseline-runs/20260102T030405Z-mcu-shard-1-of-2", "--runs", "baseline-merged"]
    for words in calls:
        command = cli.cli.get_command(None, words[0])  # type: ignore[arg-type] # a name alone is looked up
        assert command
        # A word that the command does not know raises here. Below the tool's own context, since click keeps the names
        # of a command's help option from the first one.
        above = click.Context(cli.cli, **cli.cli.context_settings)
        command.make_context(words[0], words[1:], parent=above)
    assert step(place, "measure-all") == 2


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
def test_the_workflows_call_steps_that_there_are(name: str) -> None:
    text = (CI / name).read_text(encoding="utf-8")
    called = re.findall(r"worldwise/docs/examples/ci/ci\.sh (\w+)", text)
    assert called == ["measure", "measure", "gate", "history"]
    known = re.findall(r"^(\w+)\)$", (CI / "ci.sh").read_text(encoding="utf-8"), re.MULTILINE)
    assert known == ["measure", "gate", "history"]
    assert {"REVISION", "WORLDWISE_REPOSITORY"} <= set(re.findall(r"\w+", text))
    for path in re.findall(r"'worldwise/([\w./*-]+)'|worldwise/(lab/[\w.-]+) /etc", text):
        assert list(paths.REPOSITORY.glob(next(filter(None, path)))), path


@pytest.mark.parametrize("path", sorted(CI.glob("*.yml")), ids=lambda path: path.name)
def test_the_workflows_are_what_their_services_take(path: Path) -> None:
    """By the services' own JSON schemas, which check-jsonschema brings, and by yamllint. A typing error in a key."""
    schema = f"vendor.{'gitlab-ci' if 'gitlab' in path.name else 'github-workflows'}"
    rules = "{extends: default, rules: {line-length: {max: 160}}}"
    answer = CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", schema, str(path)])
    assert answer.exit_code == 0, answer.output
    with pytest.raises(SystemExit) as ended:
        yamllint.cli.run(["--strict", "-d", rules, str(path)])
    assert ended.value.code == 0


@pytest.mark.parametrize("name", ["mirrors.yml", "mirrors-gitlab.yml"])
def test_the_scheduled_jobs_call_a_command_that_there_is(name: str) -> None:
    text = (CI / name).read_text(encoding="utf-8")
    assert re.findall(r" worldwise/worldwise (.*)$", text, re.MULTILINE) == ["lab mirrors"]
    assert "mirrors" in lab.commands
    assert {"REVISION", "WORLDWISE_REPOSITORY"} <= set(re.findall(r"\w+", text))


@pytest.mark.parametrize("name", ["sources.yml", "sources-gitlab.yml"])
def test_the_nightly_jobs_call_commands_that_there_are(name: str) -> None:
    """Each kind of source alone, and the words of each call are the command's own."""
    text = (CI / name).read_text(encoding="utf-8")
    calls = re.findall(r"worldwise lab (.*?)(?:; fi)?$", text, re.MULTILINE)
    assert [call.split()[0] for call in calls] == ["build", "yanked", "relock"]
    assert f"[{', '.join(KINDS)}]" in text
    for call in calls:
        words = call.replace('"$SOURCE"', "snapshots").split()
        above = click.Context(lab, info_name="lab")
        lab.commands[words[0]].make_context(words[0], words[1:], parent=above).close()


@pytest.mark.parametrize("made", ["ln -s /etc library", "touch library", "true"])
def test_what_a_script_leaves_is_a_folder(place: Path, made: str) -> None:
    """A link would have another folder measured in the library's place."""
    (place / "proposed" / "worldwise" / "collect.sh").write_text(f"#!/bin/sh\n{made}\n")
    assert step(place, "measure", "proposed", "1/2") == 2
    assert not (place / "proposed-runs").exists()


def test_the_gate_reads_a_folder_of_its_own(place: Path) -> None:
    """What jobs hand over lies beside nothing that runs."""
    for side in ("baseline", "proposed"):
        (place / "received" / f"{side}-runs" / "20260102T030405Z-mcu-shard-1-of-1").mkdir(parents=True)
    assert step(place, "gate", "received") == 3
    calls = [line.split("\x1f") for line in (place / "calls").read_text().splitlines()]
    assert calls[0][1] == "received/baseline-runs/20260102T030405Z-mcu-shard-1-of-1"
    (place / "received" / "proposed-merged" / "20260102T030406Z-mcu").mkdir(parents=True)
    assert step(place, "history", "history", "received") == 0
    assert (place / "history" / "runs" / "20260102T030406Z-mcu").is_dir()


# --- what a proposal from a stranger can do ---

# What GitHub puts into a script before a shell reads it; only what nobody outside can choose.
PUT_IN = re.compile(r"\$\{\{(.*?)\}\}")


def github() -> list[tuple[str, str]]:
    """Every workflow for GitHub in the documents: name, text."""
    found = [(path.name, path.read_text(encoding="utf-8")) for path in sorted(CI.glob("*.yml"))]
    for page in sorted((paths.REPOSITORY / "docs").glob("*/*.md")):
        blocks = re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        found += [(page.name, block) for block in blocks]
    return [(name, text) for name, text in found if "runs-on:" in text]


def jobs_of(text: str) -> dict[str, Any]:
    """The jobs of a workflow, and what every one of them may do in it."""
    workflow = YAML(typ="safe").load(text)
    assert "pull_request_target" not in str(workflow["on"])
    return {name: {"permissions": workflow.get("permissions", "all"), **job} for name, job in workflow["jobs"].items()}


def test_every_workflow_for_github_is_looked_at() -> None:
    """If this fails, the tests below look at fewer workflows than a reader finds."""
    assert {name for name, _ in github()} >= {"github.yml", "mirrors.yml", "one-job.yml"}


@pytest.mark.parametrize(("name", "text"), github(), ids=[name for name, _ in github()])
def test_a_stranger_gets_no_token_and_no_shell(name: str, text: str) -> None:
    """If this fails, who opens a pull request runs words of the own choice, or reads a token."""
    actions = re.findall(r"uses: (.*)", text)
    assert actions
    for action in actions:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} +# v\d+\.\d+\.\d+", action), action
    for job, rules in jobs_of(text).items():
        allowed = rules["permissions"]
        assert isinstance(allowed, dict), job
        writes = {what for what, right in allowed.items() if right != "read"}
        measures = any(one in str(rules) for one in ("ci.sh measure", "collect.sh", "repository.sh"))
        assert not (writes and measures), job
        # Who may write to a pull request runs no file at all.
        if "pull-requests" in writes:
            assert not re.search(r"checkout|ci\.sh|repository\.sh|worldwise/", str(rules["steps"])), job
        for each in rules["steps"]:
            given = each.get("with", {})
            if "actions/checkout@" in each.get("uses", ""):
                assert given["persist-credentials"] is False, (name, each)
                assert given["path"], each
            if "actions/download-artifact@" in each.get("uses", ""):
                assert given["path"] == "received", each
            assert not PUT_IN.search(each.get("run", "")), each
            if "token" in str(each):
                assert not re.search(r"ci\.sh|worldwise/|collect", each["run"]), each


def test_the_actions_of_one_name_are_of_one_commit() -> None:
    """A commit that stands beside another tag than elsewhere is a mistake, or worse."""
    pinned: dict[str, set[str]] = {}
    for _, text in github():
        for action, commit in re.findall(r"uses: (.*?)@(\S+ +# \S+)", text):
            pinned.setdefault(action, set()).add(" ".join(commit.split()))
    assert all(len(commits) == 1 for commits in pinned.values()), pinned


@pytest.mark.parametrize("path", [CI / "ci.sh", CI / "one-job.yml"], ids=lambda path: path.name)
def test_a_librarys_script_runs_in_the_lab_alone(path: Path) -> None:
    """If this fails, a proposal's script reads the runner's files, and writes the figures it likes."""
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    calls = [line for line in text.splitlines() if re.search(r"[/\"]collect\.sh\b(?! DIR)", line) and "$" in line]
    assert calls
    assert all(re.search(r"lab enter --lend \S+ +\t*sh -c '", line) for line in calls), calls


def test_gitlab_takes_no_file_of_a_proposal_for_its_own() -> None:
    """The cache has programs that the jobs run: a proposal with such a file in its tree must not become it."""
    text = (CI / "gitlab.yml").read_text(encoding="utf-8")
    jobs = YAML(typ="safe").load(text)
    first, *rest = jobs[".worldwise"]["before_script"]
    assert "git ls-tree --name-only HEAD -- .worldwise" in first
    assert rest[0] == "mkdir -p .worldwise && cd .worldwise"
    assert rest[1].startswith("rm -rf worldwise && git clone")
    assert jobs["variables"]["WORLDWISE_CACHE"].startswith("$CI_PROJECT_DIR/.worldwise/")
    for name in ("measure", "gate", "pages"):
        assert ".worldwise" in jobs[name]["extends"], name
        kept = [*jobs[name].get("cache", {}).get("paths", []), *jobs[name]["artifacts"]["paths"]]
        assert all(path == "public" or path.startswith(".worldwise/") for path in kept), kept


# --- a repository with a worldwise.toml ---

# Notes its arguments; the first run makes the baseline, the second one is above it.
REPOSITORY_STAND_IN = """#!/bin/sh
set -eu
printf '%s\\n' "$*" >>"$CALLS"
case "$1 $3" in
"run --save-baseline") mkdir -p "$2/baselines" "$6/1"; echo it >"$2/baselines/$4.toml" ;;
"run --baseline") grep -q it "$2/baselines/$4.toml"; mkdir -p "$6/1"; echo marks >"$8"; exit "$ENDS" ;;
compare*) for word in "$@"; do case $word in
	markdown=*) echo moved >"${word#*=}" ;;
	csv=*) printf '%s\\n' "case,$FILL,ratio,exceeds" "$ROWS" >"${word#*=}" ;;
	esac; done; exit "$ENDS" ;;
explain*|report*) for word in "$@"; do last=$word; done; echo it >"$last" ;;
esac
"""


@pytest.mark.parametrize("ends", ["0", "3"])
def test_the_steps_of_a_repository_compare_with_where_it_left(tmp_path: Path, ends: str) -> None:
    """The merge-base is measured, not the branch's newest commit; the status is the comparison's."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path / "proposed")]
    subprocess.run(["git", "init", "--quiet", "-b", "main", tmp_path / "proposed"], check=True)
    for step_of in ("old", "left", "newer", "proposal"):
        if step_of == "proposal":
            subprocess.run([*git, "checkout", "--quiet", "-b", "other", "HEAD~1"], check=True)
            # A proposal's own folder may lead anywhere.
            (tmp_path / "proposed" / "baselines").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "proposed" / "file").write_text(step_of)
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", step_of], check=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "worldwise").mkdir()
    (tmp_path / "worldwise" / "worldwise").write_text(REPOSITORY_STAND_IN)
    (tmp_path / "worldwise" / "worldwise").chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "CALLS": str(tmp_path / "calls"), "ENDS": ends, "HOME": str(tmp_path)}
    # Columns as `compare` writes them: the row that grew most is not the first, and one that shrank is none.
    fill = ",".join("x" * 11)
    exceeds = "true" if ends == "3" else "false"
    rows = [f"own/{name},{fill},{ratio},,,,,,,,{exceeds}" for name, ratio in (("a/f", 1.5), ("b/g", 12.25), ("c/h", 2))]
    environment |= {"FILL": fill, "ROWS": "\n".join(rows), "LINK": "https://example.org/job/7"}
    command: list[str | Path] = [CI / "repository.sh", "main"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, timeout=60)
    assert done.returncode == int(ends)
    graph = "`difference.svg`, the differential flame graph of own/b/g; " if ends == "3" else ""
    assert (tmp_path / "report" / "comment.md").read_text() == (
        f"moved\n\n[Artefacts](https://example.org/job/7): {graph}`report.html`, all counts of the proposal.\n"
    )
    # A SARIF file beside it, written by the run that knows the limits too.
    assert (tmp_path / "report" / "marks.sarif").read_text() == "marks\n"
    assert (tmp_path / "was" / "file").read_text() == "left"
    assert not any((tmp_path / "elsewhere").iterdir())
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    pictures = ["diff"] if ends == "3" else []
    assert [words[0] for words in calls] == ["run", "run", "compare", *pictures, "report"]
    drawn = "runs-was/1 runs-proposed/1 --case own/b/g --format flame --output report/difference.svg"
    assert not pictures or " ".join(calls[3][1:]) == drawn
    for words in calls:
        command_of = cli.cli.get_command(None, words[0])  # type: ignore[arg-type] # a name alone is looked up
        assert command_of
        above = click.Context(cli.cli, **cli.cli.context_settings)
        command_of.make_context(words[0], words[1:], parent=above)


@pytest.mark.parametrize("name", ["repository.yml", "repository-gitlab.yml"])
def test_a_repositorys_workflow_is_short_and_calls_the_steps(name: str) -> None:
    """Under 40 lines: who has a worldwise.toml copies it and replaces two words."""
    text = (CI / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    assert text.count("worldwise/docs/examples/ci/repository.sh ") == 1
    assert {"REVISION", "WORLDWISE_REPOSITORY"} <= set(re.findall(r"\w+", text))


def test_lines_are_marked_by_the_job_that_runs_nothing_of_the_proposal() -> None:
    """If this fails, a stranger's code runs with a token that writes to code scanning."""
    text = (CI / "repository.yml").read_text(encoding="utf-8")
    jobs = jobs_of(text)
    (job,) = [name for name, rules in jobs.items() if rules["permissions"].get("security-events") == "write"]
    steps = jobs[job]["steps"]
    assert [one.get("uses", "").partition("@")[0] for one in steps] == ["actions/download-artifact", "", ""]
    assert not re.search(r"checkout|repository\.sh|worldwise/", str(steps))
    # A fork's pull request has no such token; which commit is marked is GitHub's word, not the artefact's.
    assert "head.repo.full_name == github.repository" in jobs[job]["if"]
    assert '-f "commit_sha=$GITHUB_SHA" -f "ref=$GITHUB_REF" -F sarif=@-' in steps[-1]["run"]
    assert all("security-events" not in str(rules["permissions"]) for name, rules in jobs.items() if name != job)
