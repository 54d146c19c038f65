# SPDX-License-Identifier: BSD-2-Clause
"""What it costs to follow own code: a program, not a test.

    PYTHONPATH=src:tests python -P tests/own_costs.py [PAIRS] [WAY]...

Each of the ways (linux, tee, firmware) runs the same machine with the same program without the plugin, with the plugin
that counts, and with the one that follows stacks, PAIRS times in turn, every second time in the other order. Of each it
prints the median seconds, from the saved machine to the end, of the wall's clock and of the processors (user and
system), and how many times plain QEMU's of the same turn they are: the median of all turns, the least and the greatest.
On a machine with other work that of the processors says more.
"""

import ctypes
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import own_codes
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab, open_lab
from worldwise.libraries import own_code
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine
from worldwise.machine.plugin import FlatPlugin, Plugin, flat_plugin
from worldwise.machine.plugin import plugin as plugin_recipe
from worldwise.machine.symbols.own_program import OWN_PROCESS
from worldwise.machine.symbols.ranges import function_ranges, pack_ranges
from worldwise.run.code.application import application
from worldwise.run.code.firmware import WantedFirmware, prepare_firmware
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.process_lives import LAUNCHED, OUTPUT, STARTED
from worldwise.run.code.region_counts import Counter
from worldwise.run.traces.trace_cache import write_for_plugin
from worldwise.targets.own_code import firmware_machine, machine_of

# What cryptography does: words multiplied by words, blocks mixed, many short calls.
WORK = """
__attribute__((noinline)) uint32_t row(uint32_t *to, const uint32_t *of, uint32_t by)
{
	uint64_t carry = 0;
	for (int i = 0; i < 8; i++) {
		carry += (uint64_t)of[i] * by + to[i];
		to[i] = (uint32_t)carry;
		carry >>= 32;
	}
	return (uint32_t)carry;
}
__attribute__((noinline)) void product(uint32_t *to, const uint32_t *a, const uint32_t *b)
{
	memset(to, 0, 64);
	for (int i = 0; i < 8; i++)
		to[i + 8] = row(to + i, a, b[i]);
}
__attribute__((noinline)) void mix(uint32_t *state)
{
	for (int i = 0; i < 64; i++) {
		uint32_t a = state[0], e = state[4];
		uint32_t t = ((e >> 6 | e << 26) ^ (e >> 11 | e << 21)) + state[7] + ((e & state[5]) ^ (~e & state[6]));
		memmove(state + 1, state, 28);
		state[4] += t;
		state[0] = t + ((a >> 2 | a << 30) ^ (a >> 13 | a << 19));
	}
}
__attribute__((noinline)) uint32_t work(int turns)
{
	uint32_t state[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint32_t wide[16];
	for (int i = 0; i < turns; i++) {
		product(wide, state, state);
		memcpy(state, wide + 4, sizeof(state));
		mix(state);
	}
	return state[3];
}
"""
PROGRAM = f"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
{WORK}
int main(void) {{ printf("%u\\n", work(TURNS)); return 0; }}
"""
TURNS = 60_000
# A client that makes many calls: the first session loads the TA, and the calls cross the border.
_INVOKES = 60
KINDS = ("plain", "count", "stack")
# PR_SET_CHILD_SUBREAPER of <sys/prctl.h>.
_SUBREAPER = 36


@dataclass(frozen=True)
class Way:
    """A machine with its program, and the plugin of each kind."""

    machine: Machine
    program: Sequence[str]
    left: tuple[str, ...]
    plugins: Callable[[Path], Mapping[str, Plugin | None]]


def _linux_plugins(
    ready: Ready, machine: Machine, counter: Counter, images: ImageStore, folder: Path
) -> dict[str, Plugin | None]:
    manifest = ready.code.manifest
    file = images.get(plugin_recipe()).file("worldwise.so")
    ranges = pack_ranges(function_ranges(counter.space(machine, manifest.mapped), OWN_PROCESS))
    write_for_plugin(functions := folder / "functions", ranges)
    arguments = counter.plugin_arguments(machine, manifest.entry, ())
    calls = own_code.functions_in(manifest.addresses)
    monitor = {"monitor": "no"} if "monitor" in arguments else {}
    return {
        "plain": None,
        "count": Plugin(file, {"mode": "count", **monitor}),
        "stack": Plugin(file, arguments, functions, calls=calls),
    }


def _on_linux(ready: Ready, kind: str, images: ImageStore, emulator: Emulator) -> Way:
    machine = machine_of(images, kind, ready.code.folder, "costs", own_code.COUNT)
    counter = Counter(emulator, images)
    return Way(
        machine,
        ("/bin/fetch",),
        (LAUNCHED, OUTPUT, STARTED),
        lambda folder: _linux_plugins(ready, machine, counter, images, folder),
    )


def linux(images: ImageStore, emulator: Emulator, work: Path) -> Way:
    """A static program, twice."""
    source = PROGRAM.replace("TURNS", str(TURNS))
    program = own_codes.compiled(images.lab, work / "made", "costs", source, "-static")
    ready = prepare(Wanted(program, (), ("work",), 2), images, emulator, print)
    return _on_linux(ready, "program", images, emulator)


def tee(images: ImageStore, emulator: Emulator, work: Path) -> Way:
    """A client that opens a session and calls its TA many times, twice."""
    client = own_codes.APPLICATION["host/main.c"].replace("i < 2", f"i < {_INVOKES}")
    ta, host = own_codes.application(work / "application", host__main_dot_c=client)
    found = application(ta, host, 0, images)
    ready = prepare(Wanted(Path(found.name), lives=2, application=found), images, emulator, print)
    return _on_linux(ready, "ta", images, emulator)


def firmware(images: ImageStore, emulator: Emulator, work: Path) -> Way:
    """Firmware of two long calls, with an interrupt each millisecond."""
    changed = own_codes.FIRMWARE.replace("of ^= mix(of + i)", f"of ^= work({TURNS // 6})").replace("i < 50", "i < 1")
    changed = changed.replace("= 1999;", "= 24999;").replace("mix", "stir")
    # newlib's functions, as firmware has them.
    source = f"#include <stdint.h>\n#include <string.h>\n{WORK}{changed}"
    elf = own_codes.firmware(images.lab, work / "firmware", source=source, libraries=("-lc",))
    ready = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("crypto_sign",)), images, emulator, print)
    machine = firmware_machine(ready.code.folder, "costs", "mps2-an386")
    file = images.get(flat_plugin()).file("flat.so")

    def plugins(folder: Path) -> Mapping[str, Plugin | None]:
        write_for_plugin(functions := folder / "functions", b"")
        calls = own_code.functions_in(ready.code.manifest.addresses)
        # To count alone it is given a counter, which this firmware does not read.
        return {
            "plain": None,
            "count": FlatPlugin(file, {"mode": "count", "counter": "0xe0001004"}),
            "stack": FlatPlugin(file, {"mode": "stack"}, functions, calls=calls),
        }

    return Way(machine, (), (), plugins)


WAYS = {"linux": linux, "tee": tee, "firmware": firmware}


def adopt() -> None:
    """Let the orphans of what this process starts become its children: bubblewrap ends before the first process of its
    namespace, which alone has waited for QEMU and knows its time.

    Raises OSError.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def of_processors() -> float:
    """Seconds, user and system, of all processes that this one has started and that have ended."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def spent(emulator: Emulator, way: Way, plugin: Plugin | None, folder: Path) -> tuple[float, float]:
    """Seconds of one run, of the wall's clock and of the processors."""
    folder.mkdir()
    (folder / RECORDS).write_text('{"type":"end","status":0,"idle":0}\n', encoding="ascii")
    before, begin = of_processors(), time.monotonic()
    emulator.run(way.machine, way.program, folder, plugin=plugin, left=way.left)
    wall = time.monotonic() - begin
    return wall, of_processors() - before


def measured(lab: Lab, name: str, pairs: int) -> None:
    """Print a line for each kind of a way."""
    images, emulator = ImageStore(lab, print), Emulator(lab, print, silence_limit=3600)
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="ww-costs-") as temporary:
        work = Path(temporary)
        work.chmod(0o755)
        way = WAYS[name](images, emulator, work)
        plugins = way.plugins(work)
        for turn in range(pairs):
            for kind in KINDS if turn % 2 == 0 else KINDS[::-1]:
                times[kind].append(spent(emulator, way, plugins[kind], work / f"{turn}-{kind}"))
    for kind in KINDS:
        line = f"{name:9}{kind:6}"
        for clock, what in enumerate(("wall", "processors")):
            ratios = [one[clock] / plain[clock] for one, plain in zip(times[kind], times["plain"], strict=True)]
            line += f"  {what} {median(one[clock] for one in times[kind]):7.2f} s,"
            line += f" {median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f}) times plain"
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    asked = sys.argv[2:] or list(WAYS)
    if unknown := [name for name in asked if name not in WAYS]:
        raise SystemExit(f"no way {unknown[0]}; there are {', '.join(WAYS)}")
    root = open_lab()
    root.ensure()
    adopt()
    try:
        for each in asked:
            measured(root, each, int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    except WorldwiseError as error:
        raise SystemExit(f"{error.message}\n{error.hint}") from None
