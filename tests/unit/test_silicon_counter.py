# SPDX-License-Identifier: BSD-2-Clause
"""The counter of a Linux host, compiled for this one, with a kernel that answers as a test says."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from worldwise.base import paths

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(not COMPILER, reason="no C compiler for the host")

# Regions: two empty ones, one of 1,000 cycles, and one that waits.
PROGRAM = """\
#include <stdio.h>
#include <time.h>

#include "counter.h"
#include "fake.h"

static void tell(uint64_t begin, uint64_t end)
{
	const struct counter_conditions *found = counter_last();

	printf("{\\"count\\": %llu, \\"instructions\\": %llu, \\"overhead\\": %llu, \\"enabled\\": %llu, "
		"\\"running\\": %llu, \\"switches\\": %llu, \\"migrations\\": %llu}\\n",
		(unsigned long long)(end - begin), (unsigned long long)found->instructions,
		(unsigned long long)found->overhead, (unsigned long long)found->enabled,
		(unsigned long long)found->running, (unsigned long long)found->switches,
		(unsigned long long)found->migrations);
}

int main(void)
{
	struct timespec wait = { .tv_nsec = 1000000 };

	counter_start();
	printf("{\\"clock\\": \\"%s\\", \\"unit\\": \\"%s\\", \\"instructions\\": %d, \\"reason\\": \\"%s\\"}\\n",
		counter_name(), counter_unit(), counter_has_instructions(), counter_reason());
	for (int region = 0; region < 4; region++) {
		uint64_t begin = counter_begin();

		if (region == 2)
			fake_work(1000);
		if (region == 3)
			(void)nanosleep(&wait, NULL);
		tell(begin, counter_end());
	}
	return 0;
}
"""
HEADER = """\
#include <stdint.h>
void fake_work(uint64_t cycles);
"""
# A reading takes 7 cycles and 5 instructions; a cycle is 2 ns, and work has 3 instructions in 2 cycles.
KERNEL = """\
#include "perf.h"
#include "fake.h"

#include <errno.h>
#include <linux/perf_event.h>

static uint64_t cycles = 1000, instructions = 500, enabled = 10000, running = 10000;

void fake_work(uint64_t more)
{
	cycles += more;
	instructions += more / 2 * 3;
	enabled += 2 * more;
	running += SHARED ? more : 2 * more;
}

int perf_open(uint64_t event, int group)
{
	if (event == PERF_COUNT_HW_CPU_CYCLES && group == -1 && !REFUSED)
		return 100;
	if (event == PERF_COUNT_HW_INSTRUCTIONS && group == 100 && !NO_INSTRUCTIONS)
		return 101;
	errno = REFUSED ? REFUSED : ENOENT;
	return -1;
}

int perf_read(int group, struct perf_reading *reading)
{
	if (group != 100)
		return -1;
	cycles += 7;
	instructions += 5;
	*reading = (struct perf_reading){ 2, enabled, STANDING ? 0 : running, { 0 } };
	reading->values[0] = STANDING ? 0 : cycles;
	reading->values[1] = NO_INSTRUCTIONS ? 0 : instructions;
	return 0;
}
"""
# A way through the secure world takes 2,000 ns, and as many cycles in each as outside, or few.
KERNEL += """
int tee_pass(void)
{
	cycles += STOPPED ? 100 : 1000;
	enabled += 2000;
	running += 2000;
	return 0;
}
"""
DEFAULTS = {"STOPPED": "0", "SHARED": "0", "REFUSED": "0", "NO_INSTRUCTIONS": "0", "STANDING": "0"}

Run = Callable[..., list[dict[str, object]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """What the program says with a kernel of these macros."""

    def of(**macros: str) -> list[dict[str, object]]:
        for name, text in (("main.c", PROGRAM), ("fake.c", KERNEL), ("fake.h", HEADER)):
            (tmp_path / name).write_text(text)
        silicon = paths.GUEST / "board-linux"
        command = [str(COMPILER), "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I", str(silicon)]
        command += [f"-D{name}={value}" for name, value in (DEFAULTS | macros).items()]
        sources = [str(tmp_path / "main.c"), str(tmp_path / "fake.c"), str(silicon / "counter.c")]
        subprocess.run([*command, "-I", str(tmp_path), *sources, "-o", str(tmp_path / "program")], check=True)
        environment = {"WORLDWISE_SECONDS": "20"}
        answer = subprocess.run([tmp_path / "program"], env=environment, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in answer.stdout.splitlines()]

    return of


def test_cycles_and_instructions_are_counted_without_what_that_costs(run: Run) -> None:
    """If this fails, the figures of a host have the cost of two readings in them, or of none."""
    chosen, *regions = run()
    assert chosen == {"clock": "perf_user_cycles", "unit": "cycles", "instructions": 1, "reason": ""}
    assert [one["count"] for one in regions] == [7, 7, 1007, 7]
    assert [one["instructions"] for one in regions] == [5, 5, 1505, 5]
    assert {one["overhead"] for one in regions} == {5}
    assert all(one["enabled"] == one["running"] for one in regions)


def test_with_the_kernel_in_it_the_counter_has_another_name(run: Run) -> None:
    """If this fails, cycles of a client alone and of its whole call stand in one column."""
    assert run(COUNTER_WITH_KERNEL="1")[0]["clock"] == "perf_cycles"


def test_counters_that_stop_in_the_secure_world_are_not_used(run: Run) -> None:
    """If this fails, a hundredth of a call into a TEE stands for the call, as most firmware stops them."""
    chosen, *_ = run(COUNTER_WITH_KERNEL="1", STOPPED="1")
    assert (chosen["clock"], chosen["unit"], chosen["instructions"]) == ("clock_monotonic_raw", "nanoseconds", 0)
    assert chosen["reason"] == "the firmware stops perf's counters in the secure world"


def test_counters_that_are_shared_are_seen(run: Run) -> None:
    """If this fails, a count of half the time stands for the whole."""
    _, _, _, work, _ = run(SHARED="1")
    assert (work["enabled"], work["running"]) == (2000, 1000)


def test_another_task_is_seen(run: Run) -> None:
    """If this fails, a sample in which the program waited looks as good as the others."""
    _, first, second, _, waited = run()
    assert isinstance(waited["switches"], int)
    assert waited["switches"] >= 1
    assert (first["migrations"], second["migrations"]) == (0, 0)


@pytest.mark.parametrize(
    ("macros", "reason"),
    [
        ({"REFUSED": "EACCES"}, "perf_event_open: Permission denied"),
        ({"REFUSED": "ENOENT"}, "perf_event_open: No such file or directory"),
        ({"REFUSED": "ENOSYS"}, "perf_event_open: Function not implemented"),
        ({"STANDING": "1"}, "perf's counters do not count"),
    ],
)
def test_without_the_counter_it_is_the_clock(macros: dict[str, str], reason: str, run: Run) -> None:
    """If this fails, a host without perf is not measured at all, or nanoseconds are called cycles."""
    chosen, *regions = run(**macros)
    assert chosen == {"clock": "clock_monotonic_raw", "unit": "nanoseconds", "instructions": 0, "reason": reason}
    assert all(one["instructions"] == one["enabled"] == one["running"] == 0 for one in regions)
    assert isinstance(regions[3]["count"], int)
    assert regions[3]["count"] >= 1_000_000


def test_cycles_alone_are_enough(run: Run) -> None:
    """If this fails, a core that counts no instructions has no figures either."""
    chosen, _, _, work, _ = run(NO_INSTRUCTIONS="1")
    assert (chosen["unit"], chosen["instructions"]) == ("cycles", 0)
    assert (work["count"], work["instructions"]) == (1007, 0)
