/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments: CALLS [NAME [IMPLEMENTATION [COMPILER]]]...
 *
 * Calls each cell that the arguments select CALLS times and prints a line for it: name, length, implementation, calls,
 * a checksum of what came out, in which all implementations agree, and the first word of the compiler's name. An argument that ends with * selects what begins so.
 */
#include "cells.h"

#include <stdint.h>
#include <string.h>

#include "semihost.h"
#if !defined(__aarch64__)
#include "semihost_call.h"
#endif /* __aarch64__ */

#define ALIGNMENT 64
/* The largest operation has three messages of 64 KiB; on a microcontroller, two of 1 KiB. */
#if defined(__aarch64__)
#define POOL (512 * 1024)
#else
#define POOL (4 * 1024)
#endif /* __aarch64__ */
#define LINE 256
#define ARGUMENTS 5

static uint64_t random_state;
static size_t pool_used;
static char line[LINE + 1];
static size_t line_used;

void randombytes(void *bytes, long long length)
{
	unsigned char *out = bytes;

	for (long long i = 0; i < length; i++) {
		uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15); /* SplitMix64 */

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		out[i] = (unsigned char)((z ^ (z >> 31)) & 0xff);
	}
}

void cells_call_o0(cells_function function, struct cells_buffers *b)
{
	void (*call)(unsigned char *,
		     const unsigned char *) = (void (*)(unsigned char *, const unsigned char *))function;

	cells_begin();
	call(b->out, b->in[0]);
	cells_end();
}

void cells_call_o01(cells_function function, struct cells_buffers *b)
{
	void (*call)(unsigned char *, const unsigned char *, const unsigned char *) = (void (*)(
		unsigned char *, const unsigned char *, const unsigned char *))function;

	cells_begin();
	call(b->out, b->in[0], b->in[1]);
	cells_end();
}

void cells_call_o012(cells_function function, struct cells_buffers *b)
{
	void (*call)(unsigned char *, const unsigned char *, const unsigned char *, const unsigned char *) = (void (*)(
		unsigned char *, const unsigned char *, const unsigned char *, const unsigned char *))function;

	cells_begin();
	call(b->out, b->in[0], b->in[1], b->in[2]);
	cells_end();
}

void cells_call_ol(cells_function function, struct cells_buffers *b)
{
	void (*call)(void *, long long) = (void (*)(void *, long long))function;

	cells_begin();
	call(b->out, b->length);
	cells_end();
}

void cells_call_o0l(cells_function function, struct cells_buffers *b)
{
	void (*call)(unsigned char *, const unsigned char *,
		     long long) = (void (*)(unsigned char *, const unsigned char *, long long))function;

	cells_begin();
	call(b->out, b->in[0], b->length);
	cells_end();
}

void cells_call_o01l(cells_function function, struct cells_buffers *b)
{
	void (*call)(unsigned char *, const unsigned char *, const unsigned char *, long long) = (void (*)(
		unsigned char *, const unsigned char *, const unsigned char *, long long))function;

	cells_begin();
	call(b->out, b->in[0], b->in[1], b->length);
	cells_end();
}

/* A buffer of random bytes out of the pool. */
static unsigned char *buffer(size_t size)
{
	static _Alignas(ALIGNMENT) unsigned char pool[POOL];
	/* Room for what an implementation may write behind, as the libraries' speed programs leave. */
	size_t whole = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	unsigned char *bytes = pool + pool_used;

	if (whole > sizeof(pool) - pool_used)
		semihost_exit(3);
	pool_used += whole;
	memset(bytes, 0, whole);
	randombytes(bytes, (long long)size);
	return bytes;
}

/* Adds a word and a blank to the line. */
static void put(const char *word)
{
	for (; *word && *word != ' ' && line_used < LINE - 1; word++)
		line[line_used++] = *word;
	line[line_used++] = ' ';
}

static void put_number(unsigned long long number)
{
	char digits[21];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	put(digits + at);
}

static void measure(const struct cells_operation *operation, long long number, long calls)
{
	static long console = -1;
	struct cells_buffers buffers = { .length = operation->length };
	cells_function function = operation->function(number);
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	/* Each cell has the same inputs at the same place, whichever others were selected. */
	random_state = 1;
	pool_used = 0;
	buffers.out = buffer(operation->sizes[0]);
	for (size_t i = 0; i < 3; i++)
		buffers.in[i] = buffer(operation->sizes[i + 1]);
	if (operation->prepare)
		operation->prepare(number, &buffers);
	for (long i = 0; i < calls; i++)
		operation->call(function, &buffers);
	for (size_t i = 0; i < operation->sizes[0]; i++)
		sum = (sum ^ buffers.out[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	line_used = 0;
	put(operation->name);
	put_number((unsigned long long)operation->length);
	put(operation->implementation(number));
	put_number((unsigned long long)calls);
	put_number(sum);
	put(operation->compiler(number));
	line[line_used - 1] = '\n';
	if (console < 0)
		console = semihost_open(":tt", "w");
	if (semihost_write(console, line, line_used))
		semihost_exit(4);
}

static int selects(const char *wanted, const char *there)
{
	size_t length = wanted ? strlen(wanted) : 0;

	if (!length)
		return 1;
	if (wanted[length - 1] == '*')
		return !strncmp(wanted, there, length - 1);
	return !strncmp(wanted, there, length) && (!there[length] || there[length] == ' ');
}

#if defined(__aarch64__)
/* The emulator's command line of the program: SYS_GET_CMDLINE of Arm's semihosting. Returns 0, or -1. */
static long command_line(char *text, size_t size)
{
	uintptr_t block[2] = { (uintptr_t)text, size };
	register uintptr_t x0 __asm__("x0") = 0x15;
	register const volatile void *x1 __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
	return (long)x0;
}
#else
static long command_line(char *text, size_t size)
{
	return semihost_command_line(text, size);
}
#endif /* __aarch64__ */

/* The words of the command line: after the program's name the number of calls, and what is selected. */
static long arguments(char *text, const char **words)
{
	long calls = 0;

	for (size_t i = 0; i < ARGUMENTS; i++) {
		words[i] = *text ? text : NULL;
		while (*text && *text != ' ')
			text++;
		if (*text)
			*text++ = '\0';
	}
	for (const char *digit = words[1]; digit && *digit >= '0' && *digit <= '9'; digit++)
		calls = 10 * calls + *digit - '0';
	return calls;
}

_Noreturn void cells_main(void)
{
	static char text[LINE];
	const char *words[ARGUMENTS];
	long calls;

	if (command_line(text, sizeof(text)))
		semihost_exit(2);
	calls = arguments(text, words);
	for (size_t i = 0; i < cells_count; i++) {
		const struct cells_operation *operation = &cells_operations[i];

		if (!selects(words[2], operation->name))
			continue;
		for (long long number = 0; number < operation->count(); number++)
			if (selects(words[3], operation->implementation(number)) &&
			    selects(words[4], operation->compiler(number)))
				measure(operation, number, calls);
	}
	semihost_exit(calls ? 0 : 2);
}
