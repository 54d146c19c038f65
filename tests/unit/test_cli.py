# SPDX-License-Identifier: BSD-2-Clause
"""The command line as a user meets it: help, refusals, exit statuses, what goes to which stream."""

import csv
import gc
import importlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import click
import pytest
from click.testing import CliRunner

from command_line import Call
from synthetic import RecordList, find, new_writer, write_run
from worldwise import __version__, cli
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.cli.common import options
from worldwise.cli.common.lazy_group import LazyGroup
from worldwise.lab.sandbox.identity import Confinement
from worldwise.plan.case import Case
from worldwise.plan.selection import curve_names
from worldwise.plan.suite_list import listed_suites
from worldwise.report.report import EXPORTERS
from worldwise.run.folder.rundir import Run

cli_lab = importlib.import_module("worldwise.cli.lab.root")
cli_session = importlib.import_module("worldwise.cli.run_command.measurement")

FAST = Case("optee", "mbedtls-nist", "O2", "attestdiv", 4, 2)
SLOW = Case("optee", "libtomcrypt", "Os", "attestdiv", 4, 2)
EMPTY = Case("optee", "mbedtls-nist", "O2", "empty-invoke", 4, 2)


@pytest.fixture
def call(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Calls the tool as `./worldwise` does, with output that is no terminal, and without a lab."""

    def no_lab(*_: object) -> NoReturn:
        raise AssertionError("the lab was asked for")

    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS", "TERM"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(cli_session, "open_lab", no_lab)
    return call


def test_the_collector_of_garbage_seldom_runs(call: Call) -> None:
    """If this fails, reading a large trace takes half as long again."""
    gc.set_threshold(700, 10, 10)
    assert call("--version").status == 0
    assert gc.get_threshold()[0] >= 100_000


def commands(group: click.Group, *above: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command of a group and of the groups in it, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)


COMMANDS = dict(commands(cli.cli))


# --- help ---


def test_every_command_is_there() -> None:
    """If this fails, a command was dropped, or forgotten in the group."""
    known = {"run", "explain", "report", "compare", "plot", "list", "suites", "schema", "lab", "keycache"}
    known |= {"diff", "vary"} | {"cache", "cite", "doctor", "merge", "predict", "site", "validation"}
    known |= {"judge", "calibrate", "contribute", "scheduler", "stack", "worker", "init", "exec"}
    assert {words[0] for words in COMMANDS} == known
    below = {words for words in COMMANDS if len(words) > 1}
    of_lab = {"build", "status", "check", "drift", "enter", "export", "image", "import", "mirrors", "relock", "clean"}
    of_lab |= {"yanked"}
    assert {two for one, two in below if one == "lab"} == of_lab
    assert {two for one, two in below if one == "cache"} == {"clean"}
    assert {two for one, two in below if one == "validation"} == {"measure", "show", "check", "stacks", "slow-down"}
    assert {two for one, two in below if one == "stack"} == {"check"}
    assert {two for one, two in below if one == "keycache"} == {"demo", "packages", "fuzz"}


@pytest.mark.parametrize("words", list(COMMANDS), ids=" ".join)
def test_help_tells_every_option(words: tuple[str, ...], call: Call) -> None:
    """If this fails, an option is secret, or has no word of explanation."""
    answer = call(*words, "--help")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"Usage: worldwise {' '.join(words)} ")
    command = COMMANDS[words]
    assert command.help and command.help.split("\n")[0].split()[0] in answer.out
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            for option in parameter.opts:
                assert f" {option}" in answer.out
        elif isinstance(parameter, click.Argument):
            assert parameter.make_metavar(click.Context(command)) in answer.out
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            assert f"\n  {name} " in answer.out


def test_git_ignores_every_folder_that_a_command_makes_unasked() -> None:
    """If this fails, `git status` shows a user's figures, or `git add .` takes a demo's private keys along."""
    named = {
        str(parameter.default)
        for command in COMMANDS.values()
        for parameter in command.params
        if isinstance(parameter, click.Option)
        and isinstance(parameter.type, click.Path)
        and isinstance(parameter.default, str | Path)
        and not Path(parameter.default).is_absolute()
    }
    made = {*named, str(importlib.import_module("worldwise.cli.plot").PLOTS)}
    assert {"runs", "plots", "keycache-demo"} <= made
    lines = (paths.REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {f"/{folder}/" for folder in made} <= set(lines)


def test_the_first_words(call: Call) -> None:
    """If this fails, who types only the name, or asks for the version, is not helped."""
    for arguments in (("--help",), ("-h",), ()):
        answer = call(*arguments)
        text = answer.out + answer.err
        assert "What does it cost? (the main job)           worldwise run\n" in text
        for name in ("run", "report", "list", "suites", "lab"):
            assert f"\n  {name} " in text
        assert "schema" in text
    assert call("--version").out == f"worldwise, version {__version__}\n"


# --- what is refused before anything starts ---


def test_a_wrong_suite_is_refused_with_file_and_line(call: Call, tmp_path: Path) -> None:
    """If this fails, a typing error costs minutes, or leaves the user to search for it."""
    text = (paths.SUITES / "quick.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('["mbedtls-nist"]', '["mbedtls-nits"]', 1), encoding="utf-8")
    line = next(number for number, words in enumerate(path.read_text().splitlines(), 1) if "nits" in words)
    answer = call("run", path, "--runs", tmp_path / "runs")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"worldwise: {path}:{line}: ")
    assert "libtomcrypt, libtomcrypt-ce, mbedtls, mbedtls-ce, mbedtls-nist" in answer.err
    assert "did you mean 'mbedtls-nist'?" in answer.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["atestation"],
            [
                "suite 'atestation'",
                "Allowed: attestation, boards, cores, fastest, findings, keycache, linux-armv7, linux-armv8, mcu, "
                "mqtt, options, pkcs11, pkcs11-openssl, pqc, pqc-tail, quick, sha256, storage, tee, tz-m.",
                "did you mean 'attestation'?",
            ],
        ),
        (["quick", "--variant", "mbedtls-O3"], ["variant 'mbedtls-O3'", "Allowed: mbedtls-nist-O2."]),
        (["quick", "--operation", "attestdvi"], ["operation 'attestdvi'", "did you mean 'attestdiv'?"]),
        (["quick", "--target", "optee3"], ["target 'optee3'", "Allowed: optee, linux."]),
        (["quick", "--target", "linux", "--operation", "empty-invoke"], ["no case of this suite is", "at once"]),
        (["quick", "--budget", "5ms"], ["budget '5ms': no clock", "try '5ms@2GHz'"]),
        (["quick", "--budget", "5m@2GHz"], ["the unit 'm' is not known", "Allowed: s, ms, us, ns."]),
        (["quick", "--budget", "0ms@2GHz"], ["is zero"]),
        (["quick", "--target", "linux", "--budget", "5ms@2GHz"], ["judges nothing"]),
        (["quick", "--samples", "0"], ["--samples"]),
        (["quick", "--jobs", "0"], ["--jobs"]),
        (["quick", "--silence", "1"], ["--silence"]),
        (["quick", "--format", "xml"], ["--format", "'markdown'"]),
        (["--verify", "--resume"], ["does not accept --verify"]),
        (["quick", "--resume"], ["does not accept suite"]),
        (["quick", "--option-sweep"], ["suite quick has no case of a library with build options"]),
        (["--option-sweep", "--resume"], ["does not accept --option-sweep"]),
        (["quick", "--vrify"], ["--vrify", "--verify"]),
        (["quick", "--shard", "4/3"], ["--shard 4/3: not a shard", "the first of eight is --shard 1/8"]),
        (["quick", "--shard", "1/4"], ["3 cases are too few for 4 shards", "take at most 3 shards"]),
        (["quick", "--costs", "latest"], ["--costs balances shards or workers, so it needs --shard or --on"]),
        (["quick", "--shard", "1/2", "--costs", "latest"], ["there is no run yet in "]),
        (["--resume", "--shard", "1/2"], ["does not accept --shard"]),
        (["--resume"], ["there is no run yet in "]),
        (["--resume", "2026"], ["there is no run '2026' in "]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value[0][0] != "v" else "",
)
def test_a_wrong_call_is_refused_before_it_starts(
    arguments: list[str], says: list[str], call: Call, tmp_path: Path
) -> None:
    """If this fails, a wrong word builds a lab first, or is not explained."""
    answer = call("run", *arguments, "--runs", tmp_path / "runs")
    assert answer.out == "" and answer.status in (1, 2)
    for words in says:
        assert words in answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "runs").exists()


def test_the_budget_of_a_report_is_checked(call: Call, whole_run: Run) -> None:
    """If this fails, a wrong budget on an old run is a traceback, or passes."""
    answer = call("report", whole_run.path, "--budget", "5ms@fast")
    assert (answer.status, answer.out) == (1, "")
    assert "budget '5ms@fast': 'fast' is not a" in answer.err


def test_a_run_whose_suite_was_changed_does_not_go_on(call: Call, runs_dir: Path) -> None:
    """If this fails, a run is resumed with other cases than it was begun with, or with a traceback."""
    with new_writer(runs_dir, [FAST]) as writer:
        path = writer.run.path / "suite.toml"
    path.write_text(path.read_text().replace('"attestdiv", ', ""))
    answer = call("run", "--resume", "--runs", runs_dir)
    assert (answer.status, answer.out) == (1, "")
    assert f"run.json lists the case '{FAST.id}', but suite.toml beside it lacks it" in answer.err


# --- reports ---


def test_a_report_in_each_format(call: Call, whole_run: Run, tmp_path: Path) -> None:
    """If this fails, a format is broken, or is not the same in a file as on the screen."""
    answers = {
        form: call("report", whole_run.path, "--all", "--format", form)
        for form in ("table", "html", "json", "csv", "markdown", "latex")
    }
    for form, answer in answers.items():
        assert (answer.status, answer.err) == (0, ""), form
        path = tmp_path / form
        written = call("report", whole_run.path, "--format", form, "--output", path)
        assert (written.status, written.out, written.err) == (0, "", "")
        assert path.read_text(encoding="utf-8") == answer.out
    assert answers["table"].out.startswith(f"A synthetic run (run {whole_run.id}, complete)\n")
    reading = json.loads(answers["json"].out)
    assert reading["run"]["id"] == whole_run.id
    rows = list(csv.DictReader(io.StringIO(answers["csv"].out)))
    assert len(rows) == len(reading["rows"])
    assert answers["markdown"].out.startswith("# ")


def test_full_shows_more(call: Call, whole_run: Run) -> None:
    """If this fails, `--full` does nothing."""
    assert len(call("report", whole_run.path, "--full").out) > len(call("report", whole_run.path, "--all").out)


def test_the_exit_status_is_the_budgets_verdict(call: Call, runs_dir: Path) -> None:
    """If this fails, a budget that is not met passes in a script, or one that is met fails."""
    write_run(runs_dir, [FAST], second=1)
    write_run(runs_dir, [FAST, SLOW], second=2)
    fits = call("report", "20260102T030401Z", "--runs", runs_dir, "--budget", "5ms@2GHz", "--all")
    assert (fits.status, fits.err) == (0, "")
    assert "EXCEEDS" not in fits.out
    over = call("report", "20260102T030402Z", "--runs", runs_dir, "--budget", "5ms@2GHz", "--all")
    assert (over.status, over.err) == (3, "")
    assert "EXCEEDS" in over.out
    # The same count at another clock.
    assert call("report", "20260102T030401Z", "--runs", runs_dir, "--budget", "5ms@1GHz").status == 0
    assert call("report", "20260102T030401Z", "--runs", runs_dir, "--budget", "5ms@0.5GHz").status == 3
    # The status does not depend on the format, and without a budget nothing is judged.
    assert call("report", "latest", "--runs", runs_dir, "--budget", "5ms@2GHz", "--format", "csv").status == 3
    assert call("report", "latest", "--runs", runs_dir).status == 0


def test_a_run_with_holes_is_exit_status_1(call: Call, runs_dir: Path) -> None:
    """If this fails, a script takes a run that was killed for a whole one."""
    new_writer(runs_dir, [FAST]).close()
    answer = call("report", "latest", "--runs", runs_dir, "--all")
    assert answer.status == 1
    assert FAST.id in answer.out
    first = call("report", "latest", "--runs", runs_dir)
    assert first.status == 1 and "1 not measured" in first.out


def one_less(_: Case, records: RecordList) -> None:
    """Spoil the first count."""
    find(records, type="sample")["count"] -= 1


def test_spoilt_records_are_not_reported(call: Call, runs_dir: Path) -> None:
    """If this fails, a figure is printed from records that are not those of the machine."""
    path = write_run(runs_dir, [FAST], one_less).records_path(FAST.id)
    answer = call("report", "latest", "--runs", runs_dir)
    assert (answer.status, answer.out) == (1, "")
    assert f"{path}:4: " in answer.err


@pytest.mark.parametrize("reference", ["2025", "nonsense", "no/such/directory", "20260102T030400Z-synthetics"])
def test_an_unknown_run_is_told(reference: str, call: Call, runs_dir: Path) -> None:
    """If this fails, a slip in a run's name is a traceback, or another run's report."""
    write_run(runs_dir, [EMPTY])
    answer = call("report", reference, "--runs", runs_dir)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("worldwise: ")
    assert reference in answer.err


def test_an_output_that_cannot_be_written_is_told(call: Call, whole_run: Run, tmp_path: Path) -> None:
    """If this fails, a wrong `--output` is a traceback."""
    answer = call("report", whole_run.path, "--output", tmp_path / "none" / "x.txt")
    assert answer.status in (1, 2)
    assert f"the directory {tmp_path / 'none'} does not exist" in answer.err
    assert call("report", whole_run.path, "--output", tmp_path).status == 2


# --- lists ---


def test_list_has_every_run(call: Call, runs_dir: Path, tmp_path: Path) -> None:
    """If this fails, a run is not found again."""
    assert (
        call("list", "--runs", tmp_path / "none").out == f"no runs in {tmp_path / 'none'}; `worldwise run` makes one\n"
    )
    one = write_run(runs_dir, [EMPTY], second=1)
    two = write_run(runs_dir, [EMPTY, FAST], second=2)
    new_writer(runs_dir, [EMPTY], second=3).close()
    answer = call("list", "--runs", runs_dir)
    assert (answer.status, answer.err) == (0, "")
    lines = [line.split() for line in answer.out.splitlines()]
    assert lines[0] == ["run", "state", "cases", "lab"]
    assert lines[1] == [one.id, "complete", "1", "of", "1", "a" * 12]
    assert lines[2] == [two.id, "complete", "2", "of", "2", "a" * 12]
    assert lines[3] == ["20260102T030403Z-synthetic", "killed", "0", "of", "1", "a" * 12]


@pytest.mark.parametrize(
    "file", ["run.json", "finished.json", f"cases/{EMPTY.id}/case.json"], ids=["run", "finished", "case"]
)
def test_list_goes_past_a_corrupt_run(file: str, call: Call, runs_dir: Path) -> None:
    """If this fails, one damaged file hides every other run, or it is not told which file it is."""
    bad = write_run(runs_dir, [EMPTY], second=1)
    good = write_run(runs_dir, [EMPTY], second=2)
    (bad.path / file).write_text('{"format": 1')
    answer = call("list", "--runs", runs_dir)
    assert (answer.status, answer.err) == (0, "")
    _, first, second = answer.out.splitlines()
    assert first.startswith(bad.id)
    # Whole, however long the path is.
    assert f"{bad.path / file}: corrupt: not a JSON object" in first
    assert second.split()[:2] == [good.id, "complete"]


def test_list_shows_brackets_as_they_are(call: Call, tmp_path: Path) -> None:
    """If this fails, part of a path is taken for a colour and lost."""
    runs = tmp_path / "[bold]runs[0]"
    run = write_run(runs, [EMPTY])
    (run.path / "run.json").write_text("")
    assert f"{runs}/" in call("list", "--runs", runs).out


def test_suites_and_schema(call: Call) -> None:
    """If this fails, nobody learns what can be run, or what a record is."""
    answer = call("suites")
    assert (answer.status, answer.err) == (0, "")
    # A title that goes on in the next line stands below its beginning.
    assert [line.split()[0] for line in answer.out.splitlines() if line[0] != " "] == [
        "attestation",
        "boards",
        "cores",
        "fastest",
        "findings",
        "keycache",
        "linux-armv7",
        "linux-armv8",
        "mcu",
        "mqtt",
        "options",
        "pkcs11",
        "pkcs11-openssl",
        "pqc",
        "pqc-tail",
        "quick",
        "sha256",
        "storage",
        "tee",
        "tz-m",
    ]
    schema = json.loads(call("schema").out)
    assert "Sample" in schema["$defs"]


# --- streams ---


def test_plain_text_when_not_on_a_terminal(call: Call, whole_run: Run, runs_dir: Path) -> None:
    """If this fails, logs and files are full of escape codes."""
    (write_run(runs_dir, [EMPTY]).path / "run.json").write_text("")
    for arguments in (
        ("report", whole_run.path, "--budget", "5ms@2GHz"),
        ("list", "--runs", whole_run.path.parent),
        ("list", "--runs", runs_dir),
        ("suites",),
        ("schema",),
        ("--help",),
        ("run", "nonsense"),
        ("report", "nonsense"),
        ("report", "--nonsense"),
    ):
        answer = call(*arguments)
        assert "\x1b" not in answer.out + answer.err
        assert answer.out + answer.err


def test_a_colour_in_a_name_is_only_text(call: Call) -> None:
    """If this fails, what a user typed is taken for markup."""
    answer = call("run", "[red]x")
    assert "suite '[red]x' is not in" in answer.err


def test_details_and_hint_of_an_error(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the compiler's words or the way out are lost; the message must not be far above."""

    def fail(*_: object) -> NoReturn:
        raise WorldwiseError("the build of optee failed", "see the log", "core.c:7: error: [no]\n" + "x" * 300)

    monkeypatch.setattr(cli_session, "open_lab", fail)
    answer = call("run", "quick")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == (f"core.c:7: error: [no]\n{'x' * 300}\nworldwise: the build of optee failed\n  see the log\n")


def test_a_folder_elsewhere_is_not_lent(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `lab enter --lend ..` gives all that is beside the current directory away."""
    (tmp_path / "here/in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    for folder in ("..", "/etc", "in/../.."):
        answer = call("lab", "enter", "--lend", folder, "true")
        assert (answer.status, "or a folder of it" in answer.err) == (2, True), folder


def test_a_folder_with_what_the_host_starts_is_not_lent(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, what runs in the lab changes worldwise, its cache, or what a shell reads at its start."""
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    for here, folder, what in (
        (home, ".", "your home folder"),
        (tmp_path, "home", "your home folder"),
        (Path("/"), ".", "the whole system"),
        (paths.REPOSITORY, ".", "worldwise"),
        (paths.REPOSITORY.parent, paths.REPOSITORY.name, "worldwise"),
    ):
        monkeypatch.chdir(here)
        answer = call("lab", "enter", "--lend", folder, "true")
        assert (answer.status, f": {what} is in it" in answer.err) == (1, True), (here, answer.err)
    (tmp_path / "cache").mkdir()
    monkeypatch.chdir(tmp_path / "cache")
    assert "worldwise's cache is in it" in call("lab", "enter", "--lend", ".", "true").err


@dataclass
class Entered:
    """A lab in whose place the host's programs are called, and what was asked of it."""

    title: str = "the lab"
    asked: list[tuple[str, ...]] = field(default_factory=list)
    options: list[dict[str, object]] = field(default_factory=list)

    def ensure(self) -> bool:
        return False

    def command(self, argv: Sequence[str], **options: object) -> list[str]:
        self.asked.append(tuple(argv))
        self.options.append(options)
        return ["true"]


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> Entered:
    made = Entered()
    monkeypatch.setattr(cli_lab, "open_lab", lambda **_: made)
    return made


@pytest.mark.parametrize(
    "words", ["arm-none-eabi-gcc -mthumb -O2 -c x.c", "ls -h", "prog --help", "prog --lend . --root x", "-- -h"]
)
def test_what_stands_behind_a_program_is_its_own(words: str, call: Call, entered: Entered) -> None:
    """If this fails, a compiler's -mthumb prints our help, and its call counts as done."""
    answer = call("lab", "enter", *words.split())
    assert (answer.status, answer.out) == (0, "")
    assert entered.asked == [tuple(words.removeprefix("-- ").split())]
    assert "lab enter" in call("lab", "enter", "-h").out
    answer = call("lab", "enter", "--netwrok", "true")
    assert answer.status == 2 and "--netwrok" in answer.err and len(entered.asked) == 1


def test_the_current_directory_is_lent(
    call: Call, entered: Entered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, root's program cannot write beside what it reads; or it is another user each time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    assert call("lab", "enter", "--lend", ".", "true").status == 0
    assert call("lab", "enter", "--lend", "in", "true").status == 0
    assert [one["binds"] for one in entered.options] == [
        [(tmp_path, "/work", "rw")],
        [(tmp_path / "in", "/work/in", "rw")],
    ]
    assert all(one["steady"] for one in entered.options)


@pytest.mark.usefixtures("entered")
@pytest.mark.parametrize(
    ("mode", "said"),
    [(0o755, "may not write here; --lend . lends"), (0o700, "may not read or write here"), (0o777, ""), (0o1777, "")],
)
def test_a_folder_out_of_reach_is_told(
    mode: int, said: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, `Permission denied` is all that root's program says."""
    tmp_path.chmod(mode)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli_lab, "confinement", lambda **_: Confinement("another user", 4711))
    answer = call("lab", "enter", "true")
    assert answer.status == 0
    assert (said in answer.err) if said else (answer.err == "")
    monkeypatch.setattr(cli_lab, "confinement", lambda **_: Confinement("user namespace", 4711))
    assert call("lab", "enter", "true").err == ""


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_is_status_130(kind: signal.Signals, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, Ctrl-C or a service manager's stop is a traceback, or counts as a result."""

    def interrupt(*_: object) -> None:
        signal.raise_signal(kind)

    monkeypatch.setattr(cli_session, "open_lab", interrupt)
    answer = call("run", "quick")
    assert (answer.status, answer.out) == (130, "")
    assert answer.err.strip() == "worldwise: interrupted"


def test_an_interrupt_while_an_error_is_told_is_no_traceback(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a build that a service manager's stop ends together with the tool ends it with a traceback."""

    def fail(*_: object) -> None:
        raise WorldwiseError("make in the lab failed with status -15")

    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(cli_session, "open_lab", fail)
    monkeypatch.setattr(cli, "print_error", interrupt)
    answer = call("run", "quick")
    assert (answer.status, answer.out, answer.err.strip()) == (130, "", "worldwise: interrupted")


def test_a_reader_may_hang_up(whole_run: Run) -> None:
    """If this fails, `worldwise report | head -1` ends with a traceback."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "worldwise", "report", str(whole_run.path), "--format", "json"],
            stdout=writer,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(paths.REPOSITORY / "src")},
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert ended.stderr == b""
    assert ended.returncode != 0


# --- what is loaded, and when ---

# Each takes long to load, and neither a list of commands nor the answer to a typing error needs it.
HEAVY = {"rich", "pydantic", "cryptography", "elftools", "vl_convert", "qemu", "asyncio", "ssl", "worldwise.plan"}
# What measures, explains or reads a run: choosing cases needs none of it.
MEASURING = (
    "cryptography",
    "elftools",
    "vl_convert",
    "qemu",
    "asyncio",
    "worldwise.run.measure",
    "worldwise.lab",
)


def loaded_by(*arguments: str) -> set[str]:
    """The modules that are loaded when a call ends, in a process of its own."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: sys.stderr.write('\\n'.join(['loaded:', *sys.modules])))\n"
        "from worldwise import cli\n"
        "cli.main()"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        env=os.environ | {"PYTHONPATH": str(paths.REPOSITORY / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    return set(ended.stderr.partition("loaded:\n")[2].split("\n"))


@pytest.mark.parametrize("arguments", [("--help",), (), ("--version",), ("rnu",), ("--hlep",)], ids=" ".join)
def test_help_and_typing_errors_load_no_command(arguments: tuple[str, ...]) -> None:
    """If this fails, who asks for help or mistypes a command waits for libraries that neither needs."""
    loaded = loaded_by(*arguments)
    assert {"click", "worldwise.cli"} <= loaded
    assert loaded.isdisjoint(HEAVY)
    assert {name for name in loaded if name.startswith("worldwise.cli.")} <= {
        "worldwise.cli.common",
        "worldwise.cli.common.process",
        "worldwise.cli.common.help_screen",
        "worldwise.cli.common.lazy_group",
    }


@pytest.mark.parametrize(
    "arguments",
    [("run", "--help"), ("run", "quikc"), ("run", "quick", "--target", "x"), ("list",), ("suites",)],
    ids=" ".join,
)
def test_what_measures_nothing_loads_no_machine(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """If this fails, a list, or a suite's name with a typing error, loads what boots machines first."""
    runs = ("--runs", str(tmp_path / "runs")) if arguments[0] in ("run", "list") else ()
    assert loaded_by(*arguments, *runs).isdisjoint({*MEASURING})


def test_a_list_of_suites_is_kept_until_something_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, `suites` reads every suite each time, or lists suites that are not there any more."""
    monkeypatch.setenv("WORLDWISE_CACHE", str(tmp_path / "cache"))
    first = listed_suites()
    assert [one.name for one in first][:2] == ["attestation", "boards"]
    assert loaded_by("suites").isdisjoint(HEAVY - {"worldwise.plan"} | {"worldwise.plan.suite"})
    (kept,) = (tmp_path / "cache" / "suites").iterdir()
    for spoilt in (b"", b"[[1, 2, 3]]", b'[["a"]]', b'{"a": 1}', b"[" * 5000):
        kept.write_bytes(spoilt)
        assert listed_suites() == first
    suites = tmp_path / "suites"
    shutil.copytree(paths.SUITES, suites)
    monkeypatch.setattr(paths, "SUITES", suites)
    (suites / "mcu.toml").unlink()
    assert "mcu" not in [one.name for one in listed_suites()]
    (suites / "quick.toml").write_text((suites / "quick.toml").read_text().replace('title = "', 'title = "Very '))
    assert next(one for one in listed_suites() if one.name == "quick").title.startswith("Very ")
    # Where the cache cannot be written the list is made each time.
    monkeypatch.setenv("WORLDWISE_CACHE", "/proc/none")
    assert len(listed_suites()) == len(first) - 1


def test_a_report_loads_no_machine(whole_run: Run) -> None:
    """If this fails, who reads a run again waits for the emulator, the lab and the sandbox, and starts none of them."""
    loaded = loaded_by("report", str(whole_run.path))
    assert "worldwise.families.attestation.tables" in loaded
    assert loaded.isdisjoint({"worldwise.machine", "worldwise.targets", "worldwise.lab.lab", "qemu"})


def test_the_list_of_commands_says_what_they_say_of_themselves() -> None:
    """If this fails, the group's help promises a command that is not there, or of another name."""
    context = click.Context(cli.cli)
    group = cli.cli
    assert isinstance(group, LazyGroup)
    for heading in group.headings.values():
        for listed in heading:
            command = cli.cli.get_command(context, listed.name)
            assert command is not None and command.name == listed.name
            assert not listed.summary.endswith(".") and len(listed.summary) < 80


def test_the_formats_are_those_that_reports_can_be_printed_in() -> None:
    """If this fails, `--format` offers what there is not, or hides what there is."""
    assert ("table", "html", *EXPORTERS) == options.FORMATS


# Of a terminal that most have.
LINES, COLUMNS, FIRST = 40, 100, 25


def _sections(shown: str, *headings: str) -> str:
    """The lines of some sections of a help."""
    parts = re.split(r"^(\S.*)$", shown, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    # Behind an empty line stands a text.
    return "".join(found[head].split("\n\n")[0] for head in headings if head in found)


@pytest.mark.parametrize("words", [(), *COMMANDS], ids=" ".join)
def test_every_help_is_one_screen_with_the_essentials_first(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, what most calls need is above the top of the terminal, or beyond its edge."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    shown = CliRunner().invoke(cli.cli, [*words, "--help"], prog_name="worldwise").output
    lines = shown.splitlines()
    assert len(lines) <= LINES, len(lines)
    assert max(map(len, lines)) <= COLUMNS
    whole = CliRunner().invoke(cli.cli, [*words, "--help-all"], prog_name="worldwise").output
    if "--help-all" in shown:
        assert max(map(len, whole.splitlines())) <= COLUMNS
    else:
        assert "No such option: --help-all" in whole or "No such option '--help-all'" in whole
        whole = shown
    # The first part: what it does, an example, and each option or command that is explained at all.
    command = COMMANDS[words] if words else cli.cli
    first = "\n".join(lines[:FIRST])
    assert first.startswith("Usage: worldwise")
    assert isinstance(command, click.Group) or f"\n    worldwise {' '.join(words)}" in first
    explained = re.findall(r"^  (?:(-+[\w-]+,?)|([a-z]+)  )", _sections(shown, "Options:", "Commands:"), re.MULTILINE)
    for name in map("".join, explained):
        if name not in ("-h,", "--help-all", "--version"):
            assert f"\n  {name}" in first, name
    # The rest is named, and explained by --help-all.
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in shown
            assert re.search(rf"^  (-\w, )?{parameter.opts[0]}\b", whole, re.MULTILINE), parameter.opts
    for name in command.commands if isinstance(command, click.Group) else ():
        assert re.search(rf"^  {name}\b", whole, re.MULTILINE)


@pytest.mark.parametrize(
    "words", [words for words, one in COMMANDS.items() if not isinstance(one, click.Group)], ids=" ".join
)
def test_every_command_shows_an_example(words: tuple[str, ...], call: Call) -> None:
    """If this fails, somebody has to guess how the parts of a call stand together."""
    assert f"\n    worldwise {' '.join(words)}" in call(*words, "--help").out


def test_the_five_questions_are_in_the_help(call: Call) -> None:
    """If this fails, a stranger does not learn what worldwise is for."""
    said = call("--help").out
    for question in (
        "What does it cost?",
        "Where do the instructions go?",
        "Will it fit",
        "Did this commit make it slower?",
        "Which library is best on which core?",
    ):
        assert question in said


# --- choosing cases ---


@pytest.mark.parametrize("name", ["p256", "P-256", "prime256v1", "secp256r1"])
def test_a_curve_has_several_names(name: str) -> None:
    """If this fails, who knows a curve as P-256 finds nothing."""
    assert curve_names([name]) == ("secp256r1",)


def test_other_names_of_curves() -> None:
    """If this fails, a name stands for another curve, or a pattern is changed."""
    assert curve_names(["P-384", "p224", "prime192v1", "sec*", "x25519", "nonsense"]) == (
        *("secp384r1", "secp224r1", "secp192r1", "sec*", "x25519", "nonsense"),
    )


def test_an_unknown_variant_among_many(call: Call, tmp_path: Path) -> None:
    """If this fails, forty names in a line hide the one that was meant."""
    answer = call("run", "mcu", "--variant", "micro-ecc-03", "--runs", tmp_path / "runs")
    assert (answer.status, answer.out) == (1, "")
    assert "variant 'micro-ecc-03' is not in suite mcu, which has " in answer.err
    assert "Close to it: micro-ecc-O" in answer.err
    assert "`worldwise suites mcu` lists all" in answer.err
    assert answer.err.count("\n") == 2 and len(answer.err) < 400


def test_a_suite_without_curves_says_so(call: Call, tmp_path: Path) -> None:
    """If this fails, `Allowed: none` is all that one learns."""
    answer = call("run", "quick", "--curve", "x", "--runs", tmp_path / "runs")
    assert answer.status == 1
    assert "suite quick has no case with a curve" in answer.err
    assert "Allowed" not in answer.err


def test_a_suite_shows_what_can_be_chosen(call: Call) -> None:
    """If this fails, the names that the messages send one to are not there."""
    answer = call("suites", "quick")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("quick: ")
    assert "\n--target (2):\n  optee, linux\n" in answer.out
    assert "\n--variant (1):\n  mbedtls-nist-O2\n" in answer.out
    assert "--curve" not in answer.out
    assert "did you mean 'quick'" in call("suites", "quikc").err


# --- sections of a report ---


def test_sections_are_listed_and_printed(call: Call, whole_run: Run) -> None:
    """If this fails, a part of a report cannot be had without all of it."""
    listed = call("report", whole_run.path, "--sections")
    assert (listed.status, listed.err) == (0, "")
    names = [line.split()[0] for line in listed.out.splitlines()]
    assert "price" in names and len(names) == len(set(names))
    whole = call("report", whole_run.path, "--all").out
    for name in names:
        part = call("report", whole_run.path, "--section", name)
        assert (part.status, part.err) == (0, "")
        assert part.out.strip() in whole, name
    every = call("report", whole_run.path, "--section", "*")
    assert all(part in every.out for part in whole.split("\n\n")[1:])
    two = call("report", whole_run.path, "--section", "time", "--section", "pric?").out
    assert two.index("Price of the TEE") < two.index("Time if a core") and "How to read this" not in two
    assert call("report", whole_run.path, "--section", "price", "--format", "markdown").out.startswith("## Price of")


def test_an_unknown_section_is_refused_with_the_list(call: Call, whole_run: Run) -> None:
    """If this fails, a typing error prints nothing, or does not say what there is."""
    answer = call("report", whole_run.path, "--section", "pirce")
    assert (answer.status, answer.out) == (1, "")
    assert "has no section 'pirce'. It has: " in answer.err and "price, " in answer.err
    assert "did you mean price?" in answer.err
    assert call("report", whole_run.path, "--section", "price", "--format", "csv").status == 2
