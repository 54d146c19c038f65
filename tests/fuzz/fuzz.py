# SPDX-License-Identifier: BSD-2-Clause
"""Fuzzes a reader, guided by coverage: python -P tests/fuzz/fuzz.py READER --runs 1000000

It prints how many inputs it tried, how long that took, the coverage, the findings, and the most memory. Inputs that it
found are kept where --found says; one that breaks the reader is in a file of the current folder. CONTRIBUTING.md says
how to have what it needs.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parents[1] / "src"), str(_HERE)]

import atheris  # noqa: E402

_IN_PROCESS = "--in-process"

with atheris.instrument_imports(include=["worldwise", "tomllib"]) if _IN_PROCESS in sys.argv else nullcontext():
    import readers

# What one input may take: seconds, and MiB of the whole process. No input is longer than so many bytes.
_SECONDS = 10
_MEMORY = 1024
_LONGEST = 16384

# What a text of TOML or JSON is made of; what stands in its place is more often worth a try than any byte.
_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9_.+-]+|[ \t]+|.', re.DOTALL)
_STRANGE = (
    b"[" * 100,
    b'{"a":' * 100,
    b"{a=" * 50,
    b"a." * 50 + b"a",
    b"9" * 5000,
    b"0x" + b"f" * 100,
    b"18446744073709551616",
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"nan",
    b"-inf",
    b"null",
    b"true",
    b'""',
    b'"\\ud800"',
    b'"\\u0000"',
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\x00",
    b"\x1b[2J",
    b'"../../x"',
    b'"/etc/passwd"',
    b'"**/**/**/x.c"',
    b'"' + b"x" * 300 + b'"',
    b"\n",
)


def _mutate(data: bytes, most: int, seed: int) -> bytes:
    """Another input: bytes changed by libFuzzer, or tokens taken out, repeated, exchanged or made strange."""
    if seed % 3 == 0:
        return bytes(atheris.Mutate(data, most))
    tokens = _TOKEN.findall(data)
    if not tokens:
        return bytes(atheris.Mutate(data, most))
    for turn in range(1 + seed % 4):
        # A generator of its own: the same seed must give the same input.
        seed = (seed * 6364136223846793005 + 1442695040888963407 + turn) % 2**64
        what, at, other = seed % 6, (seed >> 8) % len(tokens), (seed >> 32) % len(tokens)
        if what == 0:
            tokens[at] = _STRANGE[other % len(_STRANGE)]
        elif what == 1:
            tokens[at] = tokens[other]
        elif what == 2 and len(tokens) > 1:
            del tokens[at : at + 1 + other % 8]
        elif what == 3:
            tokens[at:at] = tokens[other : other + 16]
        elif what == 4:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = bytes(atheris.Mutate(tokens[at], len(tokens[at]) + 16)) if tokens[at] else b"0"
        if not tokens:
            break
    return b"".join(tokens)[:most]


def _fuzz(reader: str, arguments: list[str]) -> None:
    def one(data: bytes) -> None:
        readers.try_reader(reader, data)

    atheris.Setup([sys.argv[0], *arguments], one, custom_mutator=_mutate)
    atheris.Fuzz()


def main() -> int:
    """Fuzz in a process of its own and say how it went: 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=list(readers.READERS))
    parser.add_argument("--runs", type=int, default=100_000, help="how many inputs")
    parser.add_argument("--found", type=Path, help="a folder for inputs that reach what others did not")
    parser.add_argument("--seed", type=int, default=1)
    chosen, more = parser.parse_known_args()
    if more[:1] == [_IN_PROCESS]:
        _fuzz(chosen.reader, more[1:])
        return 0
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as corpus:
        found = chosen.found or Path(work)
        found.mkdir(parents=True, exist_ok=True)
        for name, data in readers.corpus(chosen.reader).items():
            Path(corpus, name).write_bytes(data)
        options = [
            f"-runs={chosen.runs}",
            f"-seed={chosen.seed}",
            f"-timeout={_SECONDS}",
            f"-rss_limit_mb={_MEMORY}",
            f"-max_len={_LONGEST}",
            "-print_final_stats=1",
            f"-artifact_prefix={chosen.reader}-",
        ]
        command = [sys.executable, "-P", __file__, chosen.reader, _IN_PROCESS, *options]
        began = time.monotonic()
        result = subprocess.run(
            [*command, str(found), corpus],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        seconds = time.monotonic() - began
    said = result.stdout + result.stderr
    figures = dict(re.findall(r"^stat::(\w+):\s+(\d+)$", said, re.MULTILINE))
    coverage = re.findall(r"\bcov: (\d+) ft: (\d+)", said)
    if result.returncode:
        sys.stdout.write(said[-6000:])
    sys.stdout.write(
        f"{chosen.reader}: {int(figures.get('number_of_executed_units', 0)):,} inputs in {seconds:,.0f} s, "
        f"coverage {coverage[-1][0] if coverage else '?'} edges and {coverage[-1][1] if coverage else '?'} features, "
        f"{int(result.returncode != 0)} findings, at most {figures.get('peak_rss_mb', '?')} MiB\n"
    )
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
