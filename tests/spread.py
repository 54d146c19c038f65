# SPDX-License-Identifier: BSD-2-Clause
"""How the tests are spread over the processors: which of them stay together, and in which order they begin.

A unit is what one worker runs in one go. Those that take long begin early, so that no processor idles at the end. How
long each takes is in durations.json; `./test --record-durations` writes it anew. Campaigns take hours, and are left out
unless `--campaigns` asks for them.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

# What tests of one unit have in common: what the groups of the first pattern that fits have taken.
_UNITS = (
    # They talk to one demo.
    r"(tests/machine/test_keycache_demo\.py)::(?!test_a_command_)",
    r"(tests/machine/test_keycache_mqtt\.py)::(?!test_a_message_goes_)",
    # They explain one case's trace, which stands in their names.
    r"(tests/machine/test_machine_explain\.py)::test_[^\[]*(\[(?:optee|linux)/.*)",
    # They bring libraries of one name, one after the other.
    r"(tests/machine/test_machine_own\.py)",
    # Their files' fixtures are machines that have run.
    r"(tests/machine/test_(?:machine_(?:code|code_armv7|exec|explain_flat)|masked|sandbox|ssh_host)\.py)",
    r"(tests/machine/test_machine_predict\.py)::(?!test_a_long_call_)",
    # They read the same headers, which are laid down anew in each unit; the adapters of libraries are half of it.
    r"(tests/machine/test_clang\.py)::[^\[]*(\[adapter)?",
    # They read the same kept runs, and the same made-up readings of all suites.
    r"(tests/unit/)test_(?:docs_blocks|docs_figures|families|first_screens|screens)\.py",
    # Nothing: each has a machine or a folder of its own.
    r"(tests/machine/.*|tests/keycache/test_native\.py.*)",
    # Their file, whose fixtures are then made once.
    r"([^:]*)",
)
_MACHINES = "tests/machine/"
_CAMPAIGNS = "tests/campaigns/"
# In this order.
_ROOMS = (_CAMPAIGNS, "tests/unit/", "tests/keycache/", "tests/browser/", "tests/tex/", "")
_DURATIONS = Path(__file__).with_name("durations.json")
# Seconds: what is quicker is not kept, and what is not kept is taken to need.
_SHORT = 1.0


def unit_of(nodeid: str) -> str:
    """The unit of a test."""
    found = next(filter(None, (re.match(pattern, nodeid) for pattern in _UNITS)))
    return "".join(filter(None, found.groups()))


def known_durations() -> dict[str, float]:
    """Seconds that units took, but for the short ones."""
    known: dict[str, float] = json.loads(_DURATIONS.read_text(encoding="utf-8"))
    return known


class Spread(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out the units in the order in which the workers have collected them."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of these tests."""
    parser.addoption("--campaigns", action="store_true", help="run the campaigns too, which take hours")
    parser.addoption(
        "--record-durations", action="store_true", help=f"afterwards write how long tests took to {_DURATIONS.name}"
    )
    parser.addoption("--record-golden", action="store_true", help="write the files of tests/golden anew")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """A worker for each processor; none where starting workers takes longer than they save, or output is not caught."""
    alone = len(config.args) == 1 and ("::" in config.args[0] or Path(config.args[0]).match("tests/unit/*.py"))
    if alone or config.option.collectonly or config.option.capture == "no":
        return 0
    return len(os.sched_getaffinity(0))


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread:
    """Units instead of single tests."""
    # The order is that of `pytest_collection_modifyitems`, not by the number of tests.
    config.option.loadscopereorder = False
    return Spread(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out campaigns. Workers all order the rest alike; one process alone keeps the order of the files."""
    for item in items:
        if item.nodeid.startswith(_CAMPAIGNS):
            item.add_marker(pytest.mark.campaign)
    if not config.option.campaigns:
        left_out = [item for item in items if item.get_closest_marker("campaign")]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    if hasattr(config, "workerinput"):
        place = {unit: number for number, unit in enumerate(ordered(unit_of(item.nodeid) for item in items))}
        items.sort(key=lambda item: place[unit_of(item.nodeid)])


def ordered(found: Iterable[str]) -> list[str]:
    """The units in the order in which they begin.

    In an empty cache the first test that boots a machine has the lab made, which takes one processor: meanwhile the
    others do what needs no lab. The key cache, the browser and the TeX have roots of their own, which are made
    while the first images are built. Then come the machines.
    """
    known = known_durations()
    units = list(dict.fromkeys(found))
    units.sort(key=lambda unit: -known.get(unit, _SHORT))
    units.sort(key=lambda unit: next(rank for rank, room in enumerate(_ROOMS) if unit.startswith(room)))
    first = [unit for unit in units if unit.startswith(_MACHINES)][:1]
    return first + [unit for unit in units if unit not in first]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out, where all was to be run."""
    if not config.option.campaigns and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        terminalreporter.write_line(
            "left out: the campaigns, which take hours (200 power cuts of each storage, ten million inputs of fuzzing, "
            "every suite measured twice); ./test --campaigns runs them too"
        )


class Recorder:
    """Adds up how long the units take, and writes it down at the end."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Set-up and tear-down count too."""
        unit = unit_of(report.nodeid)
        self.seconds[unit] = self.seconds.get(unit, 0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """What was not run stays as it was."""
        known = known_durations() | {unit: round(seconds, 1) for unit, seconds in self.seconds.items()}
        kept = {unit: seconds for unit, seconds in sorted(known.items()) if seconds >= _SHORT}
        _DURATIONS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Record in the process that hears of all tests."""
    if config.option.record_durations and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())
