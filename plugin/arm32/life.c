/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "life.h"

#include "../aarch64/counts.h"
#include "../aarch64/stack.h"
#include "../aarch64/trace.h"
#include "calls.h"
#include "processor.h"
#include "tasks.h"

/* System calls of Linux on Armv7 that end a thread and a process. */
#define SYSCALL_EXIT 1u
#define SYSCALL_EXIT_GROUP 248u
/* The registers that a reading goes to. */
#define LOW 2u
#define HIGH 3u

static uint64_t begins, ends, entry;
static bool open;
static uint64_t own_space; /* the translation table of the program; 0 until it begins */

static uint64_t reading_at; /* the address behind the instruction that reads; 0 if no reading is wanted */
static bool reading_ends;

void life_start(uint64_t begins_at, uint64_t ends_at, uint64_t entry_at)
{
	begins = begins_at;
	ends = ends_at;
	entry = entry_at;
	calls_of_threads();
}

static void take_reading(void)
{
	uint64_t value = flat_processor_register(LOW) | (uint64_t)flat_processor_register(HIGH) << 32;

	reading_at = 0;
	if (!reading_ends) {
		calls_reading(value);
		return;
	}
	calls_end(value);
	scoreboard->active = 0;
}

bool life_before(const struct flat_block *to)
{
	if (reading_at && to->block.pc == reading_at)
		take_reading();
	return open || (to->block.pc == begins && !reading_at);
}

static enum life begin_life(const struct flat_block *to)
{
	flat_tasks_begin();
	running = context_of(0, false, flat_tasks_current());
	calls_begin(to->block.pc);
	own_space = 0;
	open = true;
	reading_at = to->block.end;
	reading_ends = false;
	return LIFE_BEGINS;
}

enum life life_at(const struct flat_block *to, bool in_kernel)
{
	uint64_t pc = to->block.pc;

	if (!open)
		return begin_life(to);
	if (in_kernel)
		return LIFE_GOES_ON;
	if (pc == ends && !flat_tasks_current()) {
		calls_leave();
		open = false;
		reading_at = to->block.end;
		reading_ends = true;
		return LIFE_ENDS;
	}
	if (!own_space && pc == entry)
		own_space = flat_tasks_space();
	if (own_space && flat_tasks_space() == own_space)
		(void)calls_look(pc, flat_tasks_current(), to->watched);
	return LIFE_GOES_ON;
}

bool life_is_regions(void)
{
	return own_space && flat_tasks_space() == own_space && calls_thread() == flat_tasks_current() &&
	       !flat_tasks_handles();
}

void life_called(void)
{
	uint32_t number = flat_tasks_called();

	if (!own_space || flat_tasks_space() != own_space)
		return;
	if (number == SYSCALL_EXIT_GROUP)
		calls_exit();
	else if (number == SYSCALL_EXIT)
		calls_exit_of(flat_tasks_current());
}

void life_finish(void)
{
	if (open)
		trace_give_up("the machine ended inside a region", begins);
}
