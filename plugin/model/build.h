/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the decoders of A64, A32 and T32 fill in an operation. */
#ifndef WORLDWISE_BUILD_H
#define WORLDWISE_BUILD_H

#include "operation.h"

static inline uint32_t field(uint32_t word, unsigned int low, unsigned int bits)
{
	return word >> low & ((1u << bits) - 1);
}

static inline bool bit(uint32_t word, unsigned int at)
{
	return word >> at & 1;
}

static inline void add_source(struct operation *operation, unsigned int number, enum role role)
{
	if (operation->sources == MOST_SOURCES)
		return;
	operation->source[operation->sources] = (uint8_t)number;
	operation->role[operation->sources++] = (uint8_t)role;
}

static inline void add_result(struct operation *operation, unsigned int number)
{
	if (operation->results < MOST_RESULTS)
		operation->result[operation->results++] = (uint8_t)number;
}

/* Register 31 is zero: nothing waits for it, and nothing is written. */
static inline void reads(struct operation *operation, unsigned int number, enum role role)
{
	if (number != 31)
		add_source(operation, number, role);
}

static inline void writes(struct operation *operation, unsigned int number)
{
	if (number != 31)
		add_result(operation, number);
}

static inline void reads_vector(struct operation *operation, unsigned int number, enum role role)
{
	add_source(operation, REGISTER_VECTOR + number, role);
}

static inline void writes_vector(struct operation *operation, unsigned int number)
{
	add_result(operation, REGISTER_VECTOR + number);
}

/* The groups of A64 (Arm ARM, C4.1). Each fills in what it knows; the class is `unknown` before. */
void a64_immediate(struct operation *operation, uint32_t word);
void a64_register(struct operation *operation, uint32_t word);
void a64_branch(struct operation *operation, uint32_t word);
void a64_memory(struct operation *operation, uint32_t word);
void a64_vector(struct operation *operation, uint32_t word);

/* A32: vectors and floating point, whose T32 words are made to A32's before. */
void a32_vector(struct operation *operation, uint32_t word);
void a32_float(struct operation *operation, uint32_t word);
void a32_structures(struct operation *operation, uint32_t word);

/* The program counter is no register to wait for. */
static inline void reads_core(struct operation *operation, unsigned int number, enum role role)
{
	if (number != 15)
		add_source(operation, number, role);
}

static inline void writes_core(struct operation *operation, unsigned int number)
{
	if (number != 15)
		add_result(operation, number);
}

/* The address register, written back. Of the program counter nobody waits for it: such encodings are UNPREDICTABLE. */
static inline void writes_back_core(struct operation *operation, unsigned int number)
{
	writes_core(operation, number);
	operation->base_result = number != 15;
}

/* It may do nothing: what it writes is then what was there. */
void a32_make_conditional(struct operation *operation);
/* A class whose result goes to the flags too. */
void a32_sets_flags(struct operation *operation);

#endif /* WORLDWISE_BUILD_H */
