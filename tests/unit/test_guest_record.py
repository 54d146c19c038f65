# SPDX-License-Identifier: BSD-2-Clause
"""The guest's record writer, compiled for the host: every line it sends is whole, valid JSON, or it sends none."""

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldwise.base import paths
from worldwise.lab.lab import Lab
from worldwise.records.models import End, Overhead, Sample
from worldwise.records.parse import parse_line

BENCH = paths.GUEST / "bench"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

PROGRAM = r"""
#include <stdio.h>
#include <string.h>

#include "record.h"

static int to_stdout(const char *line, size_t length)
{
	return fwrite(line, 1, length, stdout) != length || fflush(stdout);
}

static int refuse(const char *line, size_t length)
{
	(void)line;
	(void)length;
	return -1;
}

static void texts(void)
{
	char every[129] = { 0 };

	record_begin("text");
	record_text("quotes", "say \"yes\", not \\no\\");
	record_text("lines", "one\ntwo\r\n\tthree\b\f");
	record_text("empty", "");
	record_text("a \"key\"", "x");
	record_end();
	for (int half = 0; half < 2; half++) {
		for (int c = 0; c < 127; c++)
			every[c] = (char)(half * 128 + c + 1);
		record_begin("bytes");
		record_text("every", every);
		record_end();
	}
}

static void numbers(void)
{
	static const uint8_t bytes[] = { 0x00, 0x01, 0x7f, 0x80, 0xab, 0xff };

	record_begin("numbers");
	record_number("zero", 0);
	record_number("ten", 10);
	record_number("most", UINT64_MAX);
	record_number("past_a_double", 9007199254740993u);
	record_flag("yes", true);
	record_flag("no", false);
	record_hex("hex", bytes, sizeof(bytes));
	record_hex("none", bytes, 0);
	record_end();
	record_begin("bare");
	record_end();
}

static void real(void)
{
	record_begin("overhead");
	record_text("place", "ta");
	record_text("clock", "cntvct_el0");
	record_number("count", 4);
	record_number("nested", 11);
	record_end();
	record_begin("sample");
	record_text("measure", "sign");
	record_text("place", "linux");
	record_number("index", 0);
	record_text("phase", "first");
	record_number("begin", UINT64_MAX - 1000);
	record_number("end", UINT64_MAX);
	record_number("count", 996);
	record_end();
	record_begin("end");
	record_number("status", 0);
	record_number("idle", 0);
	record_end();
}

/* A record of just `length` bytes, newline included. */
static void sized(size_t length)
{
	static char text[4096];
	static const char frame[] = "{\"type\":\"t\",\"k\":\"\"}\n";

	memset(text, 'x', length - (sizeof(frame) - 1));
	record_begin("t");
	record_text("k", text);
	record_end();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	record_to(strcmp(what, "refuse") ? to_stdout : refuse);
	if (!strcmp(what, "texts"))
		texts();
	else if (!strcmp(what, "numbers"))
		numbers();
	else if (!strcmp(what, "longest"))
		sized(2048);
	else if (!strcmp(what, "overflow"))
		sized(2049);
	else if (!strcmp(what, "far"))
		sized(4000);
	else
		real();
	return 0;
}
"""

Guest = Callable[[str], subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Guest:
    """The compiled program, called with the name of what it shall write."""
    directory = tmp_path_factory.mktemp("record")
    source = directory / "main.c"
    program = directory / "main"
    source.write_text(PROGRAM, encoding="ascii")
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-static"]
    if COMPILER:
        command: list[str | Path] = [COMPILER, *flags, "-I", BENCH, "-o", program, source, BENCH / "record.c"]
        subprocess.run(command, check=True, timeout=60)
    else:
        lab: Lab = request.getfixturevalue("lab_if_there")
        lab.run(
            ["gcc", *flags, "-I/bench", "-o", "/made/main", "/made/main.c", "/bench/record.c"],
            binds=[(BENCH, "/bench", "ro"), (directory, "/made", "rw")],
        )

    def run(what: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([program, what], stdout=subprocess.PIPE, check=False, timeout=20)

    return run


def written(guest: Guest, what: str) -> list[dict[str, Any]]:
    """The records of a call that must go well."""
    ended = guest(what)
    assert ended.returncode == 0
    assert ended.stdout.endswith(b"\n")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_texts_come_through(guest: Guest) -> None:
    """If this fails, an error's text breaks the line it stands in, and the case is lost with its reason."""
    text = written(guest, "texts")[0]
    assert text == {
        "type": "text",
        "quotes": 'say "yes", not \\no\\',
        "lines": "one\ntwo\r\n\tthree\b\f",
        "empty": "",
        'a "key"': "x",
    }


def test_every_byte_can_stand_in_a_text(guest: Guest) -> None:
    """If this fails, a stray byte makes a line that is no JSON, or two lines of one."""
    raw = guest("texts").stdout
    assert raw.isascii()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", raw)
    assert raw.count(b"\n") == 3
    low, high = written(guest, "texts")[1:]
    assert low["every"] == "".join(map(chr, range(1, 128)))
    assert high["every"] == "".join(map(chr, range(129, 256)))


def test_numbers_are_exact(guest: Guest) -> None:
    """If this fails, a count or a signature is not what the machine had."""
    numbers, bare = written(guest, "numbers")
    assert numbers == {
        "type": "numbers",
        "zero": 0,
        "ten": 10,
        "most": 2**64 - 1,
        "past_a_double": 2**53 + 1,
        "yes": True,
        "no": False,
        "hex": "00017f80abff",
        "none": "",
    }
    assert bare == {"type": "bare"}


def test_the_reader_takes_what_the_writer_writes(guest: Guest) -> None:
    """If this fails, guest and host no longer speak the same format."""
    lines = guest("real").stdout.splitlines()
    records = [parse_line(line, "guest", number) for number, line in enumerate(lines, 1)]
    assert [type(record) for record in records] == [Overhead, Sample, End]
    sample = records[1]
    assert isinstance(sample, Sample)
    assert (sample.begin, sample.end, sample.count) == (2**64 - 1001, 2**64 - 1, 996)


def test_the_longest_line_is_whole(guest: Guest) -> None:
    """If this fails, the line's room is counted wrong at its end."""
    ended = guest("longest")
    assert ended.returncode == 0
    assert len(ended.stdout) == 2048
    assert json.loads(ended.stdout)["type"] == "t"


@pytest.mark.parametrize("what", ["overflow", "far", "refuse"])
def test_a_record_that_cannot_be_kept_ends_the_program(what: str, guest: Guest) -> None:
    """If this fails, a sample is cut off or lost and the program goes on as if it were not."""
    ended = guest(what)
    assert ended.returncode == -signal.SIGABRT
    assert ended.stdout == b""


# --- region marks: compiled for Arm alone, so read here ---


def assembly(prefix: str = "bench_region_") -> dict[str, list[str]]:
    """The instructions of region.h's two reads, by the function they stand in."""
    text = (BENCH / "region.h").read_text(encoding="utf-8")
    pattern = r"uint64_t (@\w+)\(void\)\s*\{.*?__asm__ volatile\(\"(.*?)\" :".replace("@", prefix)
    found = re.findall(pattern, text, re.DOTALL)
    return {name: code.replace("\\t", "").split("\\n") for name, code in found}


def test_regions_are_marked_by_the_documented_hints() -> None:
    """If this fails, a plugin that looks for the marks sees no regions, or counts them from the wrong place."""
    counter = "mrs %0, cntvct_el0"
    assert assembly() == {
        # The marks stand outside the reads, the barrier keeps a read from being done early.
        "bench_region_begin": ["hint #96", "isb", counter],
        "bench_region_end": ["isb", counter, "hint #97"],
    }


def test_regions_by_the_cycle_counter_have_the_same_marks() -> None:
    """If this fails, what the TA's own counter shows is not what lies between the marks."""
    assert assembly("bench_cycles_") == {
        f"bench_cycles_{name}": [word.replace("cntvct_el0", "pmccntr_el0") for word in code]
        for name, code in ((name.removeprefix("bench_region_"), code) for name, code in assembly().items())
    }


def test_a_mark_is_never_in_a_function_of_its_own() -> None:
    """If this fails, -Os makes functions of the marks: a region ends in another frame than it began in, and `explain`
    refuses it."""
    text = (BENCH / "region.h").read_text(encoding="utf-8")
    assert "#define BENCH_INLINE static inline __attribute__((always_inline))" in text
    marked = {*assembly(), *assembly("bench_cycles_")}
    assert len(marked) == 4
    assert set(re.findall(r"^BENCH_INLINE uint64_t (\w+)\(void\)", text, re.MULTILINE)) == marked


def test_the_marks_are_nops_on_real_hardware() -> None:
    """If this fails, a board runs something else than nothing at a mark.

    A hint's number has 7 bits; the architecture gives out the low ones, and the rest execute as NOPs.
    """
    numbers = [int(word.removeprefix("hint #")) for code in assembly().values() for word in code if "hint" in word]
    assert sorted(numbers) == [96, 97]
    assert [f"{0xD503201F | number << 5:08x}" for number in sorted(numbers)] == ["d5032c1f", "d5032c3f"]
