/* SPDX-License-Identifier: BSD-2-Clause */
/* Begins a program of cells on a microcontroller: no interrupt, the main stack, and any fault ends the emulator. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cells.h"
#include "semihost.h"

#define FAULT 99
#define EXCEPTIONS 15

extern const uint32_t stack_top[];
extern char data_begin[];
extern char data_end[];
extern const char data_load[];
extern char bss_begin[];
extern char bss_end[];

void Reset_Handler(void);

typedef void (*handler)(void);

static void fault(void)
{
	semihost_exit(FAULT);
}

struct vectors {
	const void *stack;
	handler handlers[EXCEPTIONS];
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
	stack_top,
	{ Reset_Handler, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
	  fault }
};

void Reset_Handler(void)
{
	memcpy(data_begin, data_load, (size_t)(data_end - data_begin));
	memset(bss_begin, 0, (size_t)(bss_end - bss_begin));
	cells_main();
}
