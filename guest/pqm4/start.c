/* SPDX-License-Identifier: BSD-2-Clause */
/* From reset to main() on any Cortex-M, the heap that newlib's malloc() grows, and the emulator's console. */
#include "start.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define WRITE0 0x04
#define EXIT 0x18
#define APPLICATION_EXIT 0x20026
/* Between heap and stack stays this much. */
#define GAP 1024

extern char stack_top[];
extern char data_begin[];
extern char data_end[];
extern const char data_load[];
extern char bss_begin[];
extern char bss_end[];

int main(void);
void reset(void);
void *_sbrk(ptrdiff_t more);

static void fault(void)
{
	start_write("failed: a fault\n");
	start_end();
}

typedef void (*handler)(void);

struct vectors {
	const void *stack;
	handler handlers[15];
};

__attribute__((section(".vectors"),
	       used)) static const struct vectors vectors = { stack_top, { reset, fault, fault, fault, fault, fault } };

static void call(uint32_t operation, uintptr_t what)
{
	register uint32_t r0 __asm__("r0") = operation;
	register uintptr_t r1 __asm__("r1") = what;

	__asm__ volatile("bkpt #0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void start_write(const char *text)
{
	call(WRITE0, (uintptr_t)text);
}

_Noreturn void start_end(void)
{
	call(EXIT, APPLICATION_EXIT);
	for (;;)
		;
}

static char *heap_end = bss_end;
static size_t most_heap;

void *_sbrk(ptrdiff_t more)
{
	char *before = heap_end;
	char *limit = (char *)__builtin_frame_address(0) - GAP;

	if (more > limit - heap_end) {
		errno = ENOMEM;
		return (void *)-1;
	}
	heap_end += more;
	if ((size_t)(heap_end - bss_end) > most_heap)
		most_heap = (size_t)(heap_end - bss_end);
	return before;
}

size_t start_most_heap(void)
{
	return most_heap;
}

void reset(void)
{
#if defined(__ARM_FP)
	CPACR |= 0xFu << 20; /* the floating-point unit */
	__asm__ volatile("dsb\n\tisb");
#endif /* __ARM_FP */
	memcpy(data_begin, data_load, (size_t)(data_end - data_begin));
	memset(bss_begin, 0, (size_t)(bss_end - bss_begin));
	(void)main();
	start_end();
}
