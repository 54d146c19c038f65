/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cells of the models' validation: one implementation of one operation by one compiler, called some times, each call
 * between two marks. Inputs and buffers are made as the libraries' own speed programs make them: buffers aligned to 64
 * bytes, filled with random bytes, the same inputs for each call.
 */
#ifndef WORLDWISE_VALIDATION_CELLS_H
#define WORLDWISE_VALIDATION_CELLS_H

#include <stddef.h>

#include "randombytes.h"

/* Any function; each shape of call knows its true type. */
typedef void (*cells_function)(void);

/* Buffers of an operation; `length` is its last argument, if it has one. */
struct cells_buffers {
	unsigned char *out;
	unsigned char *in[3];
	long long length;
};

/* One operation of a library. */
struct cells_operation {
	const char *name; /* as in the published figures */
	long long length; /* as there */
	size_t sizes[4];  /* bytes of `out`, then of `in` */
	long long (*count)(void);
	cells_function (*function)(long long number);
	const char *(*implementation)(long long number);
	const char *(*compiler)(long long number);
	/* Makes inputs that are not random; NULL if all are. */
	void (*prepare)(long long number, struct cells_buffers *buffers);
	/* Calls the function once, between the marks. */
	void (*call)(cells_function function, struct cells_buffers *buffers);
};

/* What a program measures; its name is the library's. */
extern const struct cells_operation cells_operations[];
extern const size_t cells_count;

/* Ways to call; the letters say what goes in: o out, 0 1 2 inputs, l the length. */
void cells_call_o0(cells_function function, struct cells_buffers *buffers);
void cells_call_o01(cells_function function, struct cells_buffers *buffers);
void cells_call_o012(cells_function function, struct cells_buffers *buffers);
void cells_call_ol(cells_function function, struct cells_buffers *buffers);
void cells_call_o0l(cells_function function, struct cells_buffers *buffers);
void cells_call_o01l(cells_function function, struct cells_buffers *buffers);

/* The marks: hints that a processor executes as NOPs, and an emulator's plugin knows. */
#if defined(__aarch64__)
#define CELLS_BEGIN "hint #96"
#define CELLS_END "hint #97"
#else
#define CELLS_BEGIN ".inst.w 0xf3af8060"
#define CELLS_END ".inst.w 0xf3af8061"
#endif /* __aarch64__ */

static inline void cells_begin(void)
{
	__asm__ volatile(CELLS_BEGIN : : : "memory");
}

static inline void cells_end(void)
{
	__asm__ volatile(CELLS_END : : : "memory");
}

/* What the program's start calls. */
_Noreturn void cells_main(void);

#endif /* WORLDWISE_VALIDATION_CELLS_H */
