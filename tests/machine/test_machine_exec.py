# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise exec` on the measured machine: streams, statuses, and the same count as `run`."""

from pathlib import Path

import pytest

import own_codes
from machines import note
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.run.code.firmware import WantedFirmware, prepare_firmware
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import prepare
from worldwise.run.code.program_wrapper import execute, execute_firmware

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
# Firmware that writes by semihosting, to its UART, and by semihosting again: its words, and a file if there is one. Its
# status is the length of its words; if they are many it has a fault, and no handler for it.
SPEAKING = """
typedef unsigned int word;
extern word stack_top;
void reset(void);
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = { &stack_top, (void *)reset };
static char line[200];
static word call(word number, const void *with)
{
	register word r0 __asm__("r0") = number;
	register const void *r1 __asm__("r1") = with;
	__asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
	return r0;
}
int main(void)
{
	struct { char *at; word size; } words = { line, sizeof(line) };
	word name[3] = { (word)"given.txt", 0, 9 }, handle;
	*(volatile word *)0x40004010 = 16;
	*(volatile word *)0x40004008 = 1;
	word console[3] = { (word)":tt", 4, 3 }, hello[3] = { 0, (word)"tt\\n", 3 };
	call(4, "one\\n");
	hello[0] = call(1, console);
	call(5, hello);
	*(volatile word *)0x40004000 = '2';
	*(volatile word *)0x40004000 = '\\n';
	call(0x15, &words);
	call(4, line);
	handle = call(1, name);
	if (handle != -1u) {
		word read[3] = { handle, (word)line, 4 };
		call(6, read);
		line[4] = 0;
		call(4, line);
	}
	if (words.size > 20)
		__asm__ volatile("udf #0");
	word ends[2] = { 0x20026, words.size };
	call(0x20, ends);
	for (;;)
		;
}
void reset(void) { main(); }
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


def test_firmware_has_its_output_its_words_and_its_status(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """What it writes to its UART stands where it wrote it, between what it wrote by semihosting: with SYS_WRITE0, and
    to a handle of `:tt`, as newlib and Rust's cortex-m-semihosting do."""
    elf = own_codes.firmware(lab, tmp_path / "made", source=SPEAKING)
    emulator = Emulator(lab, note)
    (tmp_path / "given.txt").write_text("data and more")
    done = execute_firmware(elf, "mps2-an386", ("a", "b"), [tmp_path / "given.txt"], images, emulator)
    assert (done.output, done.errors, done.status) == (b"one\ntt\n2\napp.elf a bdata", b"", 11)
    alone = execute_firmware(elf, "mps2-an386", (), [], images, emulator)
    assert (alone.output, alone.status) == (b"one\ntt\n2\napp.elf", 7)
    with pytest.raises(WorldwiseError, match="did not come to its end: the core locked up") as raised:
        execute_firmware(elf, "mps2-an386", ("many words of it",), [], images, emulator)
    # What it wrote until then is not lost.
    assert "--- firmware ---\none\ntt\n2\napp.elf many words of it" in raised.value.details


def test_the_count_of_firmware_is_that_of_run_firmware(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """From its reset to its end, its interrupts included."""
    elf = own_codes.firmware(lab, tmp_path)
    emulator = Emulator(lab, note)
    (life, _) = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("mix",)), images, emulator, note).counted.lives
    done = execute_firmware(elf, "mps2-an386", (), [], images, emulator)
    assert (done.instructions, done.status) == (life.end - life.begin, 0)


def test_firmware_that_cannot_be_started_is_told(lab: Lab, images: ImageStore, program: Path, tmp_path: Path) -> None:
    elf = own_codes.firmware(lab, tmp_path / "made")
    (tmp_path / "records.jsonl").write_text("")
    for arguments, words in (
        ((elf, "stm32", (), []), "mps2-an386 (Cortex-M4"),
        ((program, "mps2-an386", (), []), "is no linked program for 32-bit Arm"),
        ((elf, "mps2-an386", (), [tmp_path / "records.jsonl"]), "a file of the machine itself has that name"),
    ):
        with pytest.raises(WorldwiseError) as raised:
            execute_firmware(*arguments, images, Emulator(lab, note))
        assert words in f"{raised.value.message} {raised.value.hint}"
    with pytest.raises(WorldwiseError, match=r"has its code at 0x0, where firmware has it") as raised:
        execute(Wanted(elf, (), (), 1), images, Emulator(lab, note))
    assert "--machine" in raised.value.hint


def test_a_program_for_armv7_is_no_firmware(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Linked statically too, in Thumb code."""
    for number, flags in enumerate(((), ("-static", "-mthumb"))):
        made = tmp_path / str(number)
        elf = own_codes.compiled(lab, made, "echo", ECHO, *flags, compiler="arm-linux-gnueabihf-gcc")
        done = execute(Wanted(elf, ("5",), (), 1), images, Emulator(lab, note))
        assert (done.errors, done.status) == (b"2 words\n", 5)
