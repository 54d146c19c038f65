/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From reset to main(), and what ends a program that went wrong.
 *
 * The program runs on the process stack, at the very bottom of RAM: what grows out of it leaves RAM and faults. Faults and
 * interrupts have a small stack of their own, the main one, so that they work then too.
 */
#include "start.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../bench/record.h"
#include "../bench/semihost.h"
#include "core.h"

extern uint32_t stack_top[];
extern uint32_t handler_stack_top[];
extern char data_begin[];
extern char data_end[];
extern const char data_load[];
extern char bss_begin[];
extern char bss_end[];
extern const char text_begin[];
extern const char text_end[];

#define CFSR (*(volatile const uint32_t *)0xE000ED28u)
#define BFAR (*(volatile const uint32_t *)0xE000ED38u)
#define MMFAR (*(volatile const uint32_t *)0xE000ED34u)
#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define CFSR_MEMORY 0x000000FFu
#define CFSR_BUS 0x0000FF00u
#define CFSR_MMFAR_VALID (1u << 7)
#define CFSR_BFAR_VALID (1u << 15)
/* How many return addresses are printed when a stack ran over. */
#define CALLS 6

void SysTick_Handler(void);
void Reset_Handler(void);
void Fault_Handler(void);

int main(void);

typedef void (*handler)(void);

struct vectors {
	const void *stack; /* the main one, which handlers use */
	handler handlers[15];
};

__attribute__((section(".vectors"),
	       used)) static const struct vectors vectors = { handler_stack_top,
							      {
								      Reset_Handler,
								      Fault_Handler, /* NMI */
								      Fault_Handler, /* hard */
								      Fault_Handler, /* memory management */
								      Fault_Handler, /* bus */
								      Fault_Handler, /* usage */
								      Fault_Handler, /* secure */
								      NULL,
								      NULL,
								      NULL,
								      Fault_Handler, /* SVC */
								      Fault_Handler, /* debug monitor */
								      NULL,
								      Fault_Handler, /* PendSV */
								      SysTick_Handler,
							      } };

__attribute__((noreturn, used)) static void begin(void)
{
#if CORE_HAS_FLOAT
	CPACR |= 0xFu << 20; /* the floating-point unit */
	__asm__ volatile("dsb\n\tisb");
#endif /* CORE_HAS_FLOAT */
	memcpy(data_begin, data_load, (size_t)(data_end - data_begin));
	memset(bss_begin, 0, (size_t)(bss_end - bss_begin));
	record_to(semihost_record);
	semihost_exit(main());
}

__attribute__((naked, noreturn)) void Reset_Handler(void)
{
	__asm__ volatile(".syntax unified\n\t"
			 "ldr r0, =stack_top\n\t"
			 "msr psp, r0\n\t"
			 "movs r0, #2\n\t" /* CONTROL.SPSEL: threads use the process stack */
			 "msr control, r0\n\t"
			 "isb\n\t"
			 "ldr r0, =begin\n\t"
			 "bx r0\n\t"
			 ".ltorg");
}

static bool in_stack(const uint32_t *place)
{
	return place >= stack_bottom && place < stack_top;
}

static bool is_return_address(uint32_t word)
{
	return (word & 1u) && word > (uint32_t)(uintptr_t)text_begin && word < (uint32_t)(uintptr_t)text_end;
}

/* The stack is full, so the innermost return addresses are the lowest words that look like one. */
static void record_calls(const uint32_t *from)
{
	static const char *const names[CALLS] = { "call0", "call1", "call2", "call3", "call4", "call5" };
	size_t found = 0;

	for (const uint32_t *word = from; word < stack_top && found < CALLS; word++)
		if (is_return_address(*word))
			record_number(names[found++], *word & ~1u);
}

__attribute__((noreturn, used)) static void fault(const uint32_t *frame, uint32_t exception)
{
	uint32_t status = 0;
	uint32_t address = 0;
	const char *kind = exception == 3 ? "hard fault" : "unexpected exception";

#if CORE_HAS_MAINLINE
	status = CFSR;
	if (status & CFSR_BFAR_VALID)
		address = BFAR;
	else if (status & CFSR_MMFAR_VALID)
		address = MMFAR;
	if (status & CFSR_BUS)
		kind = "bus fault";
	else if (status & CFSR_MEMORY)
		kind = "memory fault";
	else if (status)
		kind = "usage fault";
#endif /* CORE_HAS_MAINLINE */
	record_begin("fault");
	/* The exception's own frame is pushed there first; a stack too full for that has lost where it happened. */
	if (!in_stack(frame) || !in_stack(frame + 7)) {
		record_text("kind", "stack overflow");
		record_calls(stack_bottom);
	} else {
		record_text("kind", kind);
		record_number("pc", frame[6]);
		record_number("lr", frame[5] & ~1u);
		if (address)
			record_number("address", address);
	}
	record_number("status", status);
	record_end();
	semihost_exit(1);
}

__attribute__((naked)) void Fault_Handler(void)
{
	__asm__ volatile(".syntax unified\n\t"
			 "mrs r0, psp\n\t"
			 "mrs r1, ipsr\n\t"
			 "ldr r2, =fault\n\t"
			 "bx r2\n\t"
			 ".ltorg");
}

void abort(void)
{
	record_begin("error");
	record_text("message", "the program called abort()");
	record_end();
	semihost_exit(1);
}
