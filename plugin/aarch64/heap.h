/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much heap the measured program takes: the bytes that it has asked its allocator for and has not given back, in each
 * pass. The allocator's functions are known by their addresses (heap=KIND:ADDRESS). A block counts as soon as its function
 * has returned, and no longer once the one that frees it begins. What an allocator's function calls of the others is no
 * block of the program's. Neither emulator nor architecture is known here: what calls this asks the processor.
 */
#ifndef WORLDWISE_HEAP_H
#define WORLDWISE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

/* Arguments of an allocator's function that are looked at. */
#define HEAP_GIVEN 4

/* An allocator's function, and which of its arguments it begins with. */
struct heap_function;

/* Reads KIND:ADDRESS. False if it is not that. */
bool heap_add(const char *value);
/* Whether there are any, and the one at an address; NULL if there is none. */
bool heap_is_watched(void);
const struct heap_function *heap_function_at(uint64_t address);

/* Who calls or has returned: the thread, its stack pointer, and the address that it returns to. */
struct heap_caller {
	uint64_t thread;
	uint64_t sp;
	uint64_t back;
};

/* The function begins, of the program, all before it is done: its first arguments are those. */
void heap_enter(const struct heap_function *function, const struct heap_caller *caller,
		const uint64_t given[HEAP_GIVEN]);

/* Functions that have not returned. While there are some, heap_awaits() says whether one of them returns to `pc`. */
extern size_t heap_open;
bool heap_awaits(uint64_t pc);
/* The program goes on at `caller->back`: what returns there has, with that result. Says whether one did. */
bool heap_return(const struct heap_caller *caller, uint64_t result);
/* Has the bit of `address >> 1` of each address that is awaited. */
extern uint64_t heap_returns;

/* The number in the program's memory at an address, as wide as a pointer of it; 0 if it cannot be read. */
uint64_t processor_pointer(uint64_t address);

/* An outermost pass begins: nothing is taken. A pass begins; that at an index among those that are open ends. */
void heap_forget(void);
void heap_begin(void);
void heap_end(size_t at);
/* Writes the node that heap_write() names; and adds to the record of the pass that ended last what it took. */
void heap_write_node(void);
void heap_write(struct json_object *record);

#endif /* WORLDWISE_HEAP_H */
