/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

#include <glib.h>

#include "stack.h"
#include "tables.h"
#include "trace.h"

#define MAX_NESTED 64

enum kind { ALLOCATES, ALLOCATES_MANY, ALLOCATES_BEHIND, CHANGES, CHANGES_MANY, FREES };

struct heap_function {
	enum kind kind;
	unsigned int first; /* the argument with which it begins: of some allocators another one is ahead */
	unsigned int size;  /* behind that: the one that has the size */
	uint64_t address;
};

/* By the name of the argument: a function of C, and behind `_r` newlib's, which has a structure ahead. */
static const struct {
	const char *name;
	enum kind kind;
	unsigned int size;
} known[] = {
	{ "malloc", ALLOCATES, 0 },   { "calloc", ALLOCATES_MANY, 0 },
	{ "memalign", ALLOCATES, 1 }, { "posix_memalign", ALLOCATES_BEHIND, 2 },
	{ "realloc", CHANGES, 1 },    { "reallocarray", CHANGES_MANY, 1 },
	{ "free", FREES, 0 },
};

/* A function that was called and has not returned. */
struct call {
	const struct heap_function *function;
	struct heap_caller caller;
	uint64_t size;
	uint64_t old; /* the block that it changes; 0 for none */
	uint64_t old_size;
	uint64_t place; /* where it writes the address of the new one */
	bool frees;     /* and nothing else */
	struct node *node;
};

/* What a pass took. */
struct level {
	uint64_t before;   /* bytes as it began */
	int64_t most;      /* more than that */
	struct node *node; /* on which it had them */
	uint64_t blocks;   /* that were asked for */
	int64_t left;      /* bytes more than before as it ended */
};

size_t heap_open;
uint64_t heap_returns;
static GHashTable *functions; /* address -> struct heap_function */
static GHashTable *blocks;    /* address -> size, in bytes */
static struct call *calls;
static size_t room;
static uint64_t taken;                      /* bytes */
static struct level levels[MAX_NESTED + 1]; /* the last one is what ended */
static size_t count;

bool heap_add(const char *value)
{
	const char *colon = strchr(value, ':');
	struct heap_function *function;
	uint64_t address;
	unsigned int first;
	size_t length;
	char *rest;

	if (!colon || !colon[1])
		return false;
	address = strtoull(colon + 1, &rest, 0);
	if (*rest)
		return false;
	length = (size_t)(colon - value);
	first = length > 2 && !strncmp(colon - 2, "_r", 2);
	length -= first ? 2 : 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) != length || strncmp(known[i].name, value, length) != 0)
			continue;
		if (!functions)
			functions = g_hash_table_new(g_direct_hash, g_direct_equal);
		function = g_new(struct heap_function, 1);
		*function = (struct heap_function){
			.kind = known[i].kind, .first = first, .size = known[i].size, .address = address
		};
		g_hash_table_insert(functions, as_pointer(address), function);
		return true;
	}
	return false;
}

bool heap_is_watched(void)
{
	return functions;
}

const struct heap_function *heap_function_at(uint64_t address)
{
	return functions ? g_hash_table_lookup(functions, as_pointer(address)) : NULL;
}

/* More bytes are taken, or fewer, by a call on that node. */
static void take(int64_t bytes, struct node *node)
{
	taken += (uint64_t)bytes;
	for (size_t i = 0; i < count; i++) {
		int64_t more = (int64_t)(taken - levels[i].before);

		if (more > levels[i].most) {
			levels[i].most = more;
			levels[i].node = node;
		}
	}
}

/* Takes a block out of the table. False if the allocator never gave that. */
static bool forget_block(uint64_t address, uint64_t *size)
{
	gpointer found;

	if (!blocks || !g_hash_table_lookup_extended(blocks, as_pointer(address), NULL, &found))
		return false;
	*size = (uintptr_t)found;
	g_hash_table_remove(blocks, as_pointer(address));
	return true;
}

static void note_returns(void)
{
	heap_returns = 0;
	for (size_t i = 0; i < heap_open; i++)
		heap_returns |= UINT64_C(1) << (calls[i].caller.back >> 1 & 63);
}

static void forget_call(size_t at)
{
	heap_open--;
	memmove(&calls[at], &calls[at + 1], (heap_open - at) * sizeof(calls[0]));
	note_returns();
}

/*
 * Whether the function is called by one that the thread is in. Those that were left without a return, as longjmp does,
 * are forgotten: the stack is where they were. One that jumps to another one as its last act goes on in that.
 */
static bool is_within(const struct heap_function *function, const struct heap_caller *caller)
{
	for (size_t i = heap_open; i-- > 0;) {
		const struct call *call = &calls[i];

		if (call->caller.thread != caller->thread)
			continue;
		if (caller->sp < call->caller.sp ||
		    (caller->sp == call->caller.sp && caller->back == call->caller.back && call->function != function))
			return true;
		forget_call(i);
	}
	return false;
}

void heap_enter(const struct heap_function *function, const struct heap_caller *caller,
		const uint64_t given[HEAP_GIVEN])
{
	const uint64_t *arguments = given + function->first;
	struct call *call;

	if (is_within(function, caller))
		return;
	if (heap_open == room)
		calls = g_renew(struct call, calls, room = 2 * room + 8);
	call = &calls[heap_open++];
	*call = (struct call){ .function = function,
			       .caller = *caller,
			       .size = function->kind == FREES ? 0 : arguments[function->size],
			       .node = stack_node() };
	switch (function->kind) {
	case ALLOCATES:
		break;
	case ALLOCATES_MANY:
		call->size *= arguments[1];
		break;
	case ALLOCATES_BEHIND:
		call->place = arguments[0];
		break;
	case CHANGES_MANY:
		call->size *= arguments[2];
		call->old = arguments[0];
		break;
	case CHANGES:
		call->old = arguments[0];
		break;
	case FREES:
		call->frees = true;
		call->old = arguments[0];
		break;
	}
	/* At once: another thread may get it before this one goes on. */
	if (call->old && !forget_block(call->old, &call->old_size))
		call->old = 0;
	if (call->frees && call->old)
		take(-(int64_t)call->old_size, call->node);
	note_returns();
}

bool heap_awaits(uint64_t pc)
{
	for (size_t i = heap_open; i-- > 0;)
		if (calls[i].caller.back == pc)
			return true;
	return false;
}

static void add_block(uint64_t address, uint64_t size)
{
	uint64_t other;

	if (!blocks)
		blocks = g_hash_table_new(g_direct_hash, g_direct_equal);
	/* It was freed, and not by a function that is known. */
	if (forget_block(address, &other))
		taken -= other;
	g_hash_table_insert(blocks, as_pointer(address), as_pointer(size));
}

static void finish(const struct call *call, uint64_t result)
{
	uint64_t address = result;

	if (call->frees)
		return;
	if (call->place)
		/* It says whether it could by an int. */
		address = (uint32_t)result ? 0 : processor_pointer(call->place);
	if (address) {
		add_block(address, call->size);
		for (size_t i = 0; i < count; i++)
			levels[i].blocks++;
		take((int64_t)(call->size - call->old_size), call->node);
	} else if (call->old && call->size) {
		/* It could not be changed, and is what it was. */
		add_block(call->old, call->old_size);
	} else if (call->old) {
		take(-(int64_t)call->old_size, call->node);
	}
}

bool heap_return(const struct heap_caller *caller, uint64_t result)
{
	for (size_t i = heap_open; i-- > 0;) {
		struct call call = calls[i];

		if (call.caller.back == caller->back && call.caller.sp == caller->sp &&
		    call.caller.thread == caller->thread) {
			forget_call(i);
			finish(&call, result);
			return true;
		}
	}
	return false;
}

void heap_forget(void)
{
	if (blocks)
		g_hash_table_remove_all(blocks);
	count = heap_open = 0;
	heap_returns = taken = 0;
}

void heap_begin(void)
{
	if (count < MAX_NESTED)
		levels[count++] = (struct level){ .before = taken };
}

void heap_end(size_t at)
{
	if (at >= count)
		return;
	levels[MAX_NESTED] = levels[at];
	levels[MAX_NESTED].left = (int64_t)(taken - levels[at].before);
	count--;
	memmove(&levels[at], &levels[at + 1], (count - at) * sizeof(levels[0]));
}

void heap_write_node(void)
{
	if (levels[MAX_NESTED].node)
		node_write(levels[MAX_NESTED].node);
}

void heap_write(struct json_object *record)
{
	const struct level *level = &levels[MAX_NESTED];

	record_number(record, "heap", (uint64_t)level->most);
	record_number(record, "heap_frame", level->node ? level->node->id : 0);
	record_number(record, "heap_blocks", level->blocks);
	record_value(record, "heap_left", json_object_new_int64(level->left));
}
