# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise exec` on the measured machine: streams, statuses, and the same count as `run --program`."""

from pathlib import Path

import pytest

import own_codes
from machines import note
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.run.code.executing import execute
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import prepare

pytestmark = pytest.mark.machine

ECHO = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char text[200];
	while (fgets(text, sizeof(text), stdin))
		fputs(text, stdout);
	fprintf(stderr, "%d words\n", argc);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return argc > 1 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture(scope="module")
def program(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return own_codes.compiled(lab, tmp_path_factory.mktemp("exec"), "echo", ECHO)


def test_a_program_has_its_streams_and_its_status(program: Path, lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Output and errors apart, input as given; a signal as shells say it."""
    (tmp_path / "input").write_bytes(b"one\ntwo\n")
    emulator = Emulator(lab, note)
    done = execute(Wanted(program, ("7",), (), 1, input=tmp_path / "input"), images, emulator)
    assert (done.output, done.errors, done.status) == (b"one\ntwo\n", b"2 words\n", 7)
    assert execute(Wanted(program, ("abort",), (), 1), images, emulator).status == 134
    empty = execute(Wanted(program, (), (), 1), images, emulator)
    assert (empty.output, empty.errors, empty.status) == (b"", b"1 words\n", 0)


def test_the_count_is_that_of_run_program(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """To the digit, and however often `run` starts it: the program's words lie at the same place in each order."""
    whole = own_codes.compiled(lab, tmp_path, "whole", own_codes.PROGRAM)
    emulator = Emulator(lab, note)
    done = execute(Wanted(whole, (), (), 1), images, emulator)
    for lives in (2, 10):
        first = prepare(Wanted(whole, lives=lives), images, emulator, note).counted.lives[0]
        assert done.instructions == first.end - first.begin
    assert done.instructions == execute(Wanted(whole, (), (), 1), images, emulator).instructions


def test_what_is_no_program_is_told(images: ImageStore, lab: Lab) -> None:
    with pytest.raises(WorldwiseError, match="is no program for AArch64"):
        execute(Wanted(Path("/bin/true"), (), (), 1), images, Emulator(lab, note))
