/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's life, its parameters and its memory. */
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "keycache_ta.h"

#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif

#ifdef POISONS
#include <sanitizer/asan_interface.h>
#define POISON(memory, bytes) __asan_poison_memory_region(memory, bytes)
#define UNPOISON(memory, bytes) __asan_unpoison_memory_region(memory, bytes)
/* What looks between objects, too. */
#define UNWATCHED __attribute__((no_sanitize("address")))
#else
#define POISON(memory, bytes) ((void)(memory), (void)(bytes))
#define UNPOISON(memory, bytes) ((void)(memory), (void)(bytes))
#define UNWATCHED
#endif

/* An allocation of the TA, before its bytes. */
struct block {
	struct block *next;
	struct block *previous;
	size_t size;
	size_t padding; /* so that the bytes are aligned to 16 */
};

/* A parameter's memory as the command began. The TA gets a copy of it, so that a panic leaves the caller's memory alone. */
struct shared {
	uint8_t *copy;
	uint8_t *read; /* for each byte whether it was copied from */
	size_t size;
	bool input;
};

static jmp_buf panicked;
static bool running; /* inside of the TA, so that it can panic */
static bool alive;
static bool dead; /* after a panic */
static void *session;
static TEE_Identity identity;
static struct shared shared[TEE_NUM_PARAMS];
static struct block blocks = { .next = &blocks, .previous = &blocks };
static size_t allocated;
static size_t memory_limit;
static unsigned int random_zeros;
static const void *watched;
static size_t watched_size;

void shim_panic(const char *why)
{
	fprintf(stderr, "shim: panic: %s\n", why);
	if (!running)
		abort();
	longjmp(panicked, 1);
}

void shim_power_off(void)
{
	if (!running)
		abort();
	longjmp(panicked, 1);
}

TEE_Result TEE_GetPropertyAsIdentity(TEE_PropSetHandle set, const char *name, TEE_Identity *value)
{
	if (set != TEE_PROPSET_CURRENT_CLIENT || strcmp(name, "gpd.client.identity") != 0)
		return TEE_ERROR_ITEM_NOT_FOUND;
	*value = identity;
	return TEE_SUCCESS;
}

void TEE_Panic(TEE_Result code)
{
	char why[32];

	(void)snprintf(why, sizeof(why), "TEE_Panic(0x%08x)", code);
	shim_panic(why);
}

static struct shared *find_shared(const void *memory, size_t bytes)
{
	uintptr_t begin = (uintptr_t)memory;
	int i;

	for (i = 0; i < TEE_NUM_PARAMS; i++) {
		uintptr_t start = (uintptr_t)shared[i].copy;

		if (shared[i].copy && bytes && begin < start + shared[i].size && begin + bytes > start)
			return &shared[i];
	}
	return NULL;
}

void shim_private(const void *memory, size_t bytes, const char *function)
{
	if (find_shared(memory, bytes))
		shim_panic(function);
}

void TEE_MemMove(void *dest, const void *src, size_t size)
{
	const struct shared *from = find_shared(src, size);
	const struct shared *to = find_shared(dest, size);
	size_t at;

	if (!size)
		return;
	if (from) {
		size_t offset = (size_t)((const uint8_t *)src - from->copy);

		if (!from->input || (const uint8_t *)src < from->copy || offset + size > from->size)
			shim_panic("TEE_MemMove from outside of an input");
		for (at = offset; at < offset + size; at++) {
			if (from->read[at])
				shim_panic("an input was read twice");
			from->read[at] = 1;
		}
		UNPOISON(from->copy, from->size);
	}
	if (to) {
		if (to->input || (uint8_t *)dest < to->copy || (size_t)((uint8_t *)dest - to->copy) + size > to->size)
			shim_panic("TEE_MemMove to outside of an output");
		UNPOISON(to->copy, to->size);
	}
	memmove(dest, src, size);
	if (from)
		POISON(from->copy, from->size);
	if (to)
		POISON(to->copy, to->size);
}

int32_t TEE_MemCompare(const void *one, const void *other, size_t size)
{
	shim_private(one, size, "TEE_MemCompare of shared memory");
	shim_private(other, size, "TEE_MemCompare of shared memory");
	return size ? memcmp(one, other, size) : 0;
}

void TEE_MemFill(void *buffer, uint8_t x, size_t size)
{
	shim_private(buffer, size, "TEE_MemFill of shared memory");
	if (size)
		memset(buffer, x, size);
}

void TEE_GenerateRandom(void *buffer, size_t size)
{
	shim_private(buffer, size, "TEE_GenerateRandom to shared memory");
	if (random_zeros) {
		random_zeros--;
		memset(buffer, 0, size);
	} else if (RAND_bytes(buffer, (int)size) != 1) {
		abort();
	}
}

void *TEE_Malloc(size_t size, uint32_t hint)
{
	struct block *block;

	if (hint != TEE_MALLOC_FILL_ZERO)
		shim_panic("TEE_Malloc with an unknown hint");
	if (memory_limit && (size > memory_limit || allocated > memory_limit - size))
		return NULL;
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		return NULL;
	block->size = size;
	block->next = blocks.next;
	block->previous = &blocks;
	blocks.next->previous = block;
	blocks.next = block;
	allocated += size;
	return block + 1;
}

void TEE_Free(void *buffer)
{
	struct block *block;

	if (!buffer)
		return;
	block = (struct block *)buffer - 1;
	if (watched && memmem(buffer, block->size, watched, watched_size))
		shim_panic("memory with a key in it was freed");
	block->next->previous = block->previous;
	block->previous->next = block->next;
	allocated -= block->size;
	free(block);
}

void shim_random_zeros(unsigned int calls)
{
	random_zeros = calls;
}

void shim_memory_limit(size_t bytes)
{
	memory_limit = bytes;
}

bool shim_memory_has(const void *bytes, size_t size)
{
	const struct block *block;

	for (block = blocks.next; block != &blocks; block = block->next)
		if (memmem(block + 1, block->size, bytes, size))
			return true;
	return false;
}

/* Where static objects begin and end, as the linker says. */
extern const volatile uint8_t __data_start[];
extern const volatile uint8_t _end[];

UNWATCHED bool shim_static_has(const void *bytes, size_t size)
{
	const volatile uint8_t *wanted = bytes;
	const volatile uint8_t *at;
	size_t same;

	for (at = __data_start; at + size <= _end; at++) {
		for (same = 0; same < size && at[same] == wanted[same]; same++)
			;
		if (same == size)
			return true;
	}
	return false;
}

void shim_watch(const void *bytes, size_t size)
{
	watched = bytes;
	watched_size = size;
}

int shim_start(const char *folder)
{
	TEE_Param none[TEE_NUM_PARAMS] = { 0 };
	TEE_Result res;

	if (alive) {
		fputs("shim: the TA runs already\n", stderr);
		return -1;
	}
	if (shim_storage_open(folder))
		return -1;
	res = TA_CreateEntryPoint();
	if (!res)
		res = TA_OpenSessionEntryPoint(0, none, &session);
	if (res) {
		fprintf(stderr, "shim: the TA does not start: 0x%08x\n", res);
		shim_storage_close();
		return -1;
	}
	alive = true;
	return 0;
}

TEE_Result shim_login(uint32_t login, uint32_t user)
{
	TEE_Param none[TEE_NUM_PARAMS] = { 0 };
	TEE_Result res;

	identity = (TEE_Identity){ .login = login, .uuid = { .timeLow = user } };
	if (!alive)
		return TEE_SUCCESS;
	if (session)
		TA_CloseSessionEntryPoint(session);
	res = TA_OpenSessionEntryPoint(0, none, &session);
	/* A session that did not begin has none. */
	if (res)
		session = NULL;
	return res;
}

void *shim_second_session(uint32_t login, uint32_t user)
{
	TEE_Param none[TEE_NUM_PARAMS] = { 0 };
	TEE_Identity before = identity;
	void *second = NULL;

	identity = (TEE_Identity){ .login = login, .uuid = { .timeLow = user } };
	if (TA_OpenSessionEntryPoint(0, none, &second))
		second = NULL;
	identity = before;
	return second;
}

void shim_swap_session(void **other)
{
	void *first = session;

	session = *other;
	*other = first;
}

static void end(void)
{
	if (session)
		TA_CloseSessionEntryPoint(session);
	session = NULL;
	TA_DestroyEntryPoint();
	shim_storage_close();
	if (blocks.next != &blocks) {
		fputs("shim: memory of the TA was not freed\n", stderr);
		abort();
	}
	alive = false;
}

void shim_stop(void)
{
	if (dead)
		shim_crash();
	else if (alive)
		end();
}

void shim_crash(void)
{
	if (!alive)
		return;
	(void)shim_storage_close_objects();
	shim_storage_freeze();
	dead = false;
	end();
}

static bool is_memory(uint32_t type)
{
	return type >= TEE_PARAM_TYPE_MEMREF_INPUT && type <= TEE_PARAM_TYPE_MEMREF_INOUT;
}

static void lend(uint32_t types, const TEE_Param params[TEE_NUM_PARAMS], TEE_Param theirs[TEE_NUM_PARAMS])
{
	int i;

	for (i = 0; i < TEE_NUM_PARAMS; i++) {
		uint32_t type = TEE_PARAM_TYPE_GET(types, i);

		theirs[i] = params[i];
		if (!is_memory(type) || !params[i].memref.buffer)
			continue;
		shared[i].size = params[i].memref.size;
		shared[i].input = type == TEE_PARAM_TYPE_MEMREF_INPUT;
		shared[i].copy = malloc(shared[i].size + 1);
		shared[i].read = calloc(1, shared[i].size + 1);
		if (!shared[i].copy || !shared[i].read)
			abort();
		memcpy(shared[i].copy, params[i].memref.buffer, shared[i].size);
		POISON(shared[i].copy, shared[i].size);
		theirs[i].memref.buffer = shared[i].copy;
	}
}

static void give_back(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], const TEE_Param theirs[TEE_NUM_PARAMS],
		      bool back)
{
	int i;

	for (i = 0; i < TEE_NUM_PARAMS; i++) {
		uint32_t type = TEE_PARAM_TYPE_GET(types, i);

		if (shared[i].copy) {
			UNPOISON(shared[i].copy, shared[i].size);
			if (back && !shared[i].input)
				memcpy(params[i].memref.buffer, shared[i].copy, shared[i].size);
			/* Keys and plaintexts, which a test looks for in the memory of the whole process. */
			OPENSSL_cleanse(shared[i].copy, shared[i].size);
			free(shared[i].copy);
			free(shared[i].read);
			memset(&shared[i], 0, sizeof(shared[i]));
		}
		if (!back)
			continue;
		if (type == TEE_PARAM_TYPE_MEMREF_OUTPUT || type == TEE_PARAM_TYPE_MEMREF_INOUT)
			params[i].memref.size = theirs[i].memref.size;
		else if (type == TEE_PARAM_TYPE_VALUE_OUTPUT || type == TEE_PARAM_TYPE_VALUE_INOUT)
			params[i].value = theirs[i].value;
	}
}

TEE_Result shim_invoke(uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static TEE_Param theirs[TEE_NUM_PARAMS];
	volatile TEE_Result res = TEE_ERROR_TARGET_DEAD;

	if (!alive || dead || !session)
		return TEE_ERROR_TARGET_DEAD;
	lend(types, params, theirs);
	running = true;
	if (setjmp(panicked)) {
		dead = true;
		res = TEE_ERROR_TARGET_DEAD;
	} else {
		res = TA_InvokeCommandEntryPoint(session, command, types, theirs);
		if (shim_storage_close_objects())
			shim_panic("an object was left open");
	}
	running = false;
	give_back(types, params, theirs, !dead);
	return res;
}

void shim_set_behind(const char *id)
{
	struct keycache_record record;
	uint8_t key[16] = "set behind it...";
	TEE_Param params[TEE_NUM_PARAMS] = {
		{ .memref = { (void *)(uintptr_t)id, strlen(id) } },
		{ .memref = { key, sizeof(key) } },
		{ .memref = { &record, sizeof(record) } },
	};

	(void)shim_invoke(KEYCACHE_SET,
			  TEE_PARAM_TYPES(TEE_PARAM_TYPE_MEMREF_INPUT, TEE_PARAM_TYPE_MEMREF_INPUT,
					  TEE_PARAM_TYPE_MEMREF_OUTPUT, TEE_PARAM_TYPE_VALUE_INPUT),
			  params);
	(void)shim_invoke(KEYCACHE_EVICT, TEE_PARAM_TYPES(TEE_PARAM_TYPE_MEMREF_INPUT, 0, 0, 0), params);
}
