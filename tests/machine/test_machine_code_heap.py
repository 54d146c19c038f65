# SPDX-License-Identifier: BSD-2-Clause
"""The heap of own code: the figures are those of an allocator that counts itself, and those of construction."""

from pathlib import Path

import pytest

import own_codes
from machines import note
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.emulator import Emulator
from worldwise.records.trace_records import Pass
from worldwise.run.code.firmware import WantedFirmware, prepare_firmware
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import Ready, prepare
from worldwise.run.code.region_counts import calls_of

WITNESS = """
/* Its own allocator's functions count what it asks for, and leave the rest to the C library. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
#define MOST 4096
static struct { void *at; size_t size; } table[MOST];
static long taken, most, blocks, last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void add(void *at, size_t size)
{
	if (!at)
		return;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < MOST; i++)
		if (!table[i].at) {
			table[i].at = at;
			table[i].size = size;
			break;
		}
	taken += (long)size;
	last = (long)size;
	blocks++;
	if (taken > most)
		most = taken;
	pthread_mutex_unlock(&lock);
}
static long drop(void *at)
{
	long size = -1;
	pthread_mutex_lock(&lock);
	for (int i = 0; at && i < MOST; i++)
		if (table[i].at == at) {
			table[i].at = 0;
			size = (long)table[i].size;
			taken -= size;
			break;
		}
	pthread_mutex_unlock(&lock);
	return size;
}
void *malloc(size_t n) { void *p = __libc_malloc(n); add(p, n); return p; }
void *calloc(size_t n, size_t m) { void *p = __libc_calloc(n, m); add(p, n * m); return p; }
void free(void *p) { drop(p); __libc_free(p); }
void *realloc(void *p, size_t n)
{
	long old = drop(p);
	void *q = __libc_realloc(p, n);
	if (q || !n)
		add(q, n);
	else if (old >= 0)
		add(p, (size_t)old), blocks--;
	return q;
}
void *aligned_alloc(size_t a, size_t n) { void *p = __libc_memalign(a, n); add(p, n); return p; }
int posix_memalign(void **at, size_t a, size_t n)
{
	void *p = __libc_memalign(a, n);
	if (!p)
		return ENOMEM;
	add(p, n);
	*at = p;
	return 0;
}
static void *const volatile none = NULL;
static void *volatile kept[64];
__attribute__((noinline)) void *thread(void *of)
{
	for (int i = 0; i < 40; i++) {
		char *text = malloc(100 + (size_t)i);
		sched_yield();
		text = realloc(text, 50 + 7 * (size_t)i);
		if (i & 1)
			free(text);
		else
			kept[i] = text;
	}
	return of;
}
__attribute__((noinline)) void work(void)
{
	kept[60] = malloc(1000);
	kept[61] = calloc(30, 100);
	kept[61] = realloc(kept[61], 5000);
	free(kept[60]);
	free(kept[61]);
}
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	static int numbers[2000];
	pthread_t one;
	void *place;
	FILE *file = fopen("/proc/self/status", "r");
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, file) > 0)
		kept[63] = strdup(line);
	fclose(file);
	for (int i = 0; i < 2000; i++)
		numbers[i] = i * 7919 % 2003;
	qsort(numbers, 2000, sizeof(int), compare);
	if (pthread_create(&one, 0, thread, 0) || posix_memalign(&place, 64, 777))
		return 2;
	thread(0);
	pthread_join(one, 0);
	kept[62] = aligned_alloc(128, 640);
	kept[62] = realloc(kept[62], SIZE_MAX / 2) ? NULL : kept[62];
	free(none);
	work();
	work();
	printf("%ld %ld %ld ", most, blocks, taken);
	/* How much the first printf has taken for itself. */
	printf("%ld\\n", last);
	return 0;
}
"""
STATIC = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static void *kept[8];
__attribute__((noinline)) void keep(void)
{
	void *place;
	kept[0] = malloc(300);
	kept[1] = aligned_alloc(64, 640);
	if (posix_memalign(&place, 128, 700))
		abort();
	kept[2] = place;
	kept[3] = reallocarray(NULL, 10, 30);
	kept[4] = malloc(SIZE_MAX / 4);
	kept[0] = realloc(kept[0], SIZE_MAX / 4) ? NULL : kept[0];
	free(kept[1]);
	kept[5] = strdup("twelve chars");
}
int main(void) { keep(); return 0; }
"""
# Nothing else has a heap there; `grow` has 4,000 bytes at a time and leaves none, `keep` leaves 16 and 40.
FIRMWARE = """
#include <stdlib.h>
typedef unsigned int word;
extern word stack_top;
void reset(void);
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = { &stack_top, (void *)reset };
static char room[8192] __attribute__((aligned(16)));
static char *next = room;
void *_sbrk(int more)
{
	char *at = next;
	if (at + more > room + sizeof(room))
		return (void *)-1;
	next += more;
	return at;
}
static void *volatile kept[3];
__attribute__((noinline)) void grow(void)
{
	kept[0] = malloc(1000);
	kept[1] = calloc(30, 100);
	free(kept[1]);
	kept[0] = realloc(kept[0], 1500);
	kept[1] = malloc(100000);
	free(kept[0]);
}
__attribute__((noinline)) void keep(void) { kept[0] = malloc(16); kept[2] = malloc(40); }
__attribute__((noinline)) static void end(void)
{
	register word call __asm__("r0") = 0x18;
	register word why __asm__("r1") = 0x20026;
	__asm__ volatile("bkpt #0xab" : "+r"(call) : "r"(why) : "memory");
}
void reset(void) { grow(); keep(); grow(); end(); for (;;) ; }
"""


def calls(ready: Ready, region: str) -> list[Pass]:
    """The calls of a region, in the order of time."""
    manifest = ready.code.manifest
    return calls_of(ready.counted.trace, manifest.addresses, manifest.regions[region])[0]


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("aarch64-linux-gnu-gcc", ()),
        ("arm-linux-gnueabihf-gcc", ("-mthumb",)),
    ],
    ids=["aarch64", "armv7"],
)
def test_a_program_that_counts_its_own_heap_agrees(
    compiler: str, flags: tuple[str, ...], lab: Lab, images: ImageStore, tmp_path: Path
) -> None:
    """To the byte and to the block: two threads, the C library's own, blocks that cannot be had or are no longer."""
    given = ("-pthread", "-fno-builtin", *flags)
    program = own_codes.compiled(lab, tmp_path / "made", "heap", WITNESS, *given, compiler=compiler)
    ready = prepare(Wanted(program, (), ("work",), 2), images, Emulator(lab, note), note)
    starts = [one for one in ready.counted.trace.passes if not one.parent]
    said = [tuple(map(int, line.split())) for line in ready.counted.output.decode().splitlines()]
    assert len(said) == 2
    for one, (most, blocks, taken, printing) in zip(starts, said, strict=True):
        # What prints that has a block of its own, after that.
        assert (one.heap, one.heap_blocks - 1) == (most, blocks)
        assert one.heap_left == taken + printing
    assert [(one.heap, one.heap_blocks, one.heap_left) for one in calls(ready, "work")] == 4 * [(6000, 3, 0)]


def test_a_static_program_has_its_heap(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """By its symbols; stripped it has none, and nobody looks."""
    program = own_codes.compiled(lab, tmp_path / "made", "heap", STATIC, "-static", "-fno-builtin")
    ready = prepare(Wanted(program, (), ("keep",), 2), images, Emulator(lab, note), note)
    assert [(one.heap, one.heap_blocks, one.heap_left) for one in calls(ready, "keep")] == 2 * [(1940, 5, 1313)]
    bare = own_codes.compiled(lab, tmp_path / "bare", "bare", STATIC, "-static", "-s")
    ready = prepare(Wanted(bare, lives=2), images, Emulator(lab, note), note)
    assert {one.heap for one in ready.counted.trace.passes} == {None}


def test_firmware_with_newlib_has_its_heap(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """Its functions end in others that have a structure ahead: each block counts once."""
    elf = own_codes.firmware(lab, tmp_path / "made", source=FIRMWARE, libraries=("-lc_nano", "-lnosys", "-lgcc"))
    ready = prepare_firmware(WantedFirmware(elf, "mps2-an386", ("grow", "keep")), images, Emulator(lab, note), note)
    assert [(one.heap, one.heap_blocks, one.heap_left) for one in calls(ready, "grow")] == 2 * [(4000, 3, 0)]
    assert [(one.heap, one.heap_blocks, one.heap_left) for one in calls(ready, "keep")] == [(56, 2, 56)]
    (whole,) = [one for one in ready.counted.trace.passes if not one.parent]
    assert (whole.heap, whole.heap_blocks, whole.heap_left) == (4056, 8, 56)
