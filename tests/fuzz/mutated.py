# SPDX-License-Identifier: BSD-2-Clause
"""Gives a reader thousands of mutated inputs, the same each time: python -P tests/fuzz/mutated.py READER --inputs 10000

It needs nothing but the tests' environment. It prints how many inputs the reader took and refused, the findings, the
most memory and the most bytes on disk. An input that breaks the reader is in a file of the current folder.
"""

import argparse
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parents[1] / "src"), str(_HERE.parent), str(_HERE)]

import readers  # noqa: E402

import hostile  # noqa: E402

# Those whose inputs are no text: tests/fuzz/fuzz.py mutates texts better.
KINDS = ("bundle", "object", "folder", "elf")
# What the process may map, besides what it has at its beginning; the longest file; what one input may take.
_MEMORY, _FILE, SECONDS = 768 * 2**20, 64 * 2**20, 10


class Hangs(Exception):
    """An input takes too long."""


def _hangs(*_: object) -> None:
    raise Hangs


def try_mutated(reader: str, count: int, seed: int) -> tuple[int, int, list[tuple[bytes, str]], float]:
    """How many of so many inputs a reader took and refused, the findings with what they are, the slowest in seconds."""
    corpus = readers.corpus(reader)
    # Of a good one more is read before it is refused.
    good = [data for name, data in corpus.items() if name.startswith("good")]
    seeds = [*corpus.values(), *good * len(corpus)]
    taken = refused = 0
    slowest = 0.0
    findings = []
    before = signal.signal(signal.SIGALRM, _hangs)
    try:
        for data in hostile.mutated(seeds, count, seed, sign=reader in ("bundle", "object")):
            began = time.monotonic()
            signal.alarm(SECONDS)
            try:
                error = readers.try_reader(reader, data)
                taken, refused = taken + (error is None), refused + (error is not None)
            except (Exception, Hangs) as found:
                findings.append((data, f"{type(found).__name__}: {str(found)[:200]}"))
            finally:
                signal.alarm(0)
            slowest = max(slowest, time.monotonic() - began)
    finally:
        signal.signal(signal.SIGALRM, before)
    return taken, refused, findings, slowest


def main(words: Sequence[str] | None = None) -> int:
    """Try inputs in little memory, and say how it went: 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=KINDS)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(words)
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + _MEMORY, mapped + _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
    began = time.monotonic()
    taken, refused, findings, slowest = try_mutated(chosen.reader, chosen.inputs, chosen.seed)
    for number, (data, what) in enumerate(findings):
        Path(f"{chosen.reader}-{number}").write_bytes(data)
        sys.stdout.write(f"{chosen.reader}-{number}: {what}\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    sys.stdout.write(
        f"{chosen.reader}: {chosen.inputs:,} inputs in {time.monotonic() - began:,.0f} s: {taken:,} taken, "
        f"{refused:,} refused, {len(findings)} findings, at most {peak} MiB, {readers.LEFT.get(chosen.reader, 0):,} "
        f"bytes left on disk, {slowest:.1f} s for one\n"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
