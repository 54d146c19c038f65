/* SPDX-License-Identifier: BSD-2-Clause */
/* What cells of a microcontroller share: one implementation of each operation, by one compiler; HOW says which. */
#ifndef WORLDWISE_VALIDATION_MCU_CELLS_H
#define WORLDWISE_VALIDATION_MCU_CELLS_H

#include "cells.h"
#include "semihost.h"

#define MCU_REFUSED 5

/* Ends the program if a library refuses what it must take. */
static inline void mcu_require(int right)
{
	if (!right)
		semihost_exit(MCU_REFUSED);
}

static inline long long mcu_count(void)
{
	return 1;
}

/* Its calls know what they call. */
static inline cells_function mcu_function(long long number)
{
	(void)number;
	return NULL;
}

static inline const char *mcu_assembly(long long number)
{
	(void)number;
	return "assembly";
}

static inline const char *mcu_compiled(long long number)
{
	(void)number;
	return "compiled";
}

static inline const char *mcu_compiler(long long number)
{
	(void)number;
	return "gcc";
}

#define MCU_OPERATION(NAME, LENGTH, OUT, FIRST, SECOND, THIRD, PREPARE, CALL, HOW)                                     \
	{ NAME, LENGTH, { OUT, FIRST, SECOND, THIRD }, mcu_count, mcu_function, HOW, mcu_compiler, PREPARE, CALL }

#endif /* WORLDWISE_VALIDATION_MCU_CELLS_H */
