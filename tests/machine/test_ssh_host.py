# SPDX-License-Identifier: BSD-2-Clause
"""Linux hosts: the true sshd with qemu-user behind it, and the host's program on a kernel that lends its counters."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote_run import Notes, measured, resumed
from ssh_host import PROBE, FakeHost
from sshd import Sshd, first_on_the_path
from suite_texts import suite_text
from worldwise.base.errors import HostError
from worldwise.base.units import CYCLES
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS
from worldwise.plan.case import parse_case
from worldwise.plan.suite import parse_suite
from worldwise.read.run_counts import read_run
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.parse import read_records
from worldwise.run.folder.manifests import EMULATED_FILE
from worldwise.run.folder.rundir import Run, open_run
from worldwise.run.measure import Bench
from worldwise.run.measurers import Remote
from worldwise.run.options import MeasureOptions
from worldwise.run.records_beside import count_again
from worldwise.run.results import ResultStore
from worldwise.targets.all_targets import EMULATED
from worldwise.targets.silicon import silicon

TARGET = "linux-armv8"
SIGN = f"{TARGET}/monocypher-O2/sign,curve=ed25519,size=32B"
SUITE = suite_text("host", "linux-armv8 / keygen sign / monocypher / O2 / curves ed25519 / sizes 32B", samples=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sshd:
    if not shutil.which("ssh"):
        pytest.skip("there is no ssh here")
    return Sshd(tmp_path_factory.mktemp("sshd"))


@pytest.fixture
def sshd(made: Sshd, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    monkeypatch.setenv("PATH", first_on_the_path(made.client))
    yield made
    made.use_key("key")
    made.be_slow(False)


class Tool:
    """One call of the tool after another."""

    def __init__(self, sshd: Sshd, lab: Lab, runs: Path, target: str = TARGET) -> None:
        self.sshd, self.lab, self.runs, self.target = sshd, lab, runs, target
        self.notes = Notes()
        self.suite = parse_suite(SUITE.replace(TARGET, target), "host.toml")

    def bench(self) -> Bench:
        options = MeasureOptions(reuse=False, start="boot", remote=Remote(self.target, self.sshd.address))
        return Bench(self.lab, self.notes, options)

    def measure(self) -> Run:
        return measured(self.bench(), self.suite, self.runs)

    def resume(self) -> Run:
        return resumed(self.bench(), self.suite, self.runs)


@pytest.fixture
def own_lab(lab: Lab) -> Lab:
    """The lab, for one test: a run that fails stops its lab for good, and other tests share the other one."""
    return Lab(lab.lock, lab.cache)


@pytest.fixture
def tool(sshd: Sshd, own_lab: Lab, tmp_path: Path) -> Tool:
    return Tool(sshd, own_lab, tmp_path / "runs")


def test_a_slow_host_is_measured_and_left_as_it_was(tool: Tool, sshd: Sshd) -> None:
    """If this fails, the way from an address to a table does not work with a true sshd."""
    sshd.be_slow(True)
    with sshd.running():
        run = tool.measure()
        assert not list(sshd.work.iterdir())
    assert (run.state, run.manifest.unit, run.manifest.via) == ("complete", "nanoseconds", "ssh")
    assert "Function not implemented" in " ".join(tool.notes.said)
    assert sshd.address.user not in (run.path / "run.json").read_text()


def test_a_host_of_32_bits_is_measured(sshd: Sshd, lab: Lab, tmp_path: Path) -> None:
    """If this fails, no board with a Cortex-A7 or A9 can be measured."""
    tool = Tool(sshd, lab, tmp_path / "runs", "linux-armv7")
    with sshd.running():
        run = tool.measure()
        assert not list(sshd.work.iterdir())
    assert (run.state, run.manifest.unit) == ("complete", "nanoseconds")
    assert {row.target for row in read_run(run).rows} == {"linux-armv7"}


def test_a_host_that_is_lost_and_comes_back(tool: Tool, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a host that was switched off costs the cases before, or is waited for."""
    with sshd.running() as host:

        def goes(*_: object) -> None:
            host.kill()
            host.wait()

        # It is gone once the first case is done.
        monkeypatch.setattr(tool.notes, "case_done", goes)
        with pytest.raises(HostError, match=r"connection|no ssh server") as caught:
            tool.measure()
    assert caught.value.hint
    monkeypatch.undo()
    monkeypatch.setenv("PATH", first_on_the_path(sshd.client))
    assert len(open_run("latest", tool.runs).complete_cases()) == 1
    with sshd.running():
        assert tool.resume().state == "complete"


def test_strangers_are_refused(tool: Tool, sshd: Sshd) -> None:
    """If this fails, programs are sent to whoever answers, or a user waits for a password that nobody asks for."""
    with sshd.running():
        sshd.use_key("other_key")
        with pytest.raises(HostError, match="accepts none of the keys"):
            tool.measure()
        sshd.use_key("key")
        known = sshd.known.read_text()
        try:
            sshd.known.write_text("")
            with pytest.raises(HostError, match="the host's key is not known here"):
                tool.measure()
            other = (sshd.client / "other_key.pub").read_text().split()[1]
            sshd.known.write_text(f"{' '.join(known.split()[:2])} {other}\n")
            with pytest.raises(HostError, match="the host's key has changed"):
                tool.measure()
        finally:
            sshd.known.write_text(known)


# --- perf's counters, by the emulated machine's kernel ---


def counted(text: str, images: ImageStore, emulator: Emulator, folder: Path) -> CheckedRecords:
    """The records of a host's program on the emulated machine."""
    case = parse_case(text, samples=5, warmup=1)
    target = silicon(TARGET)
    results = ResultStore(folder)
    for name in ("measured", "taken"):
        (folder / name).mkdir(parents=True)
        machine, program = target.machine(case, images), target.program(case)
        count_again(emulator, results, "0123456789abcdef", machine, case, program, folder / name)
    first, second = (folder / name / EMULATED_FILE for name in ("measured", "taken"))
    assert first.read_bytes() == second.read_bytes()
    return check_records(read_records(first), case, str(first), unit=CYCLES)


def test_perf_counts_what_is_executed_in_user_space(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """If this fails, a host's instructions are not those of the call, or Linux's are among them."""
    checked = counted(SIGN, images, emulator, tmp_path / "host")
    assert checked.start.clock == "perf_user_cycles"
    found = [one.counted for one in checked.conditions.values()]
    case = parse_case(SIGN, samples=5, warmup=1)
    (tmp_path / "plain").mkdir()
    plain = EMULATED[TARGET]
    emulator.run(plain.machine(case, images), plain.program(case), tmp_path / "plain")
    records = check_records(read_records(tmp_path / "plain" / RECORDS), case)
    counts = [sample.count for sample in records.samples["sign", "linux"]]
    # The plain program's counter has the instructions of Linux too: those of its tick, where one falls into a call.
    assert set(found) == {min(counts)}
    assert counts.count(min(counts)) >= 5


def test_a_task_that_takes_the_processor_away_is_seen(images: ImageStore, emulator: Emulator, tmp_path: Path) -> None:
    """If this fails, a busy host's samples look like an idle one's."""
    checked = counted(f"{SIGN},load=busy", images, emulator, tmp_path / "host")
    assert any(one.switches for one in checked.conditions.values())


# What a host would run is shown to it instead: the records that the emulated machine's kernel gave.
ENV = """\
#!/bin/sh
for word; do
  case $word in
    ./probe) exec cat {root}/probe.json ;;
    ./program) while [ "$1" != ./program ]; do shift; done; exec cat "{root}/$3" ;;
  esac
done
exec {env} "$@"
"""


def test_a_hosts_instructions_stand_beside_qemus(
    images: ImageStore, emulator: Emulator, own_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, what QEMU counts again is of another program, or a table does not say where the two differ."""
    host = FakeHost(tmp_path)
    suite = parse_suite(SUITE, "host.toml")
    for case in suite.cases:
        folder = tmp_path / f"of-{case.operation}"
        folder.mkdir()
        target = silicon(TARGET)
        emulator.run(target.machine(case, images), target.program(case), folder)
        text = (folder / RECORDS).read_text()
        # The host's signatures take one instruction more.
        more = re.sub(r'"instructions":(\d+)', lambda found: f'"instructions":{int(found[1]) + 1}', text)
        (tmp_path / case.operation).write_text(more if case.operation == "sign" else text)
    (tmp_path / "probe.json").write_text(json.dumps(PROBE))
    (host.path / "env").write_text(ENV.format(root=tmp_path, env=shutil.which("env")))
    (host.path / "env").chmod(0o755)
    monkeypatch.setenv("PATH", first_on_the_path(host.path))
    bench = Bench(own_lab, Notes(), MeasureOptions(reuse=False, start="boot", remote=Remote(TARGET, host.address)))
    keygen, sign = read_run(measured(bench, suite, tmp_path / "runs")).hosted
    assert keygen.differing == 0
    assert keygen.instructions == keygen.emulated
    assert sign.emulated is not None
    assert (sign.instructions, sign.differing) == (sign.emulated + 1, 2)
