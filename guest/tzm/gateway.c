/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The non-secure program without a library: one way between the states, or one access that must be refused, GATEWAY_WAY. It
 * stands in for a library and its operations; the rest is any board's program.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../adapters/ops.h"
#include "../mcu/core.h"
#include "../mcu/counter.h"
#include "../operations/frame.h"
#include "../operations/operations.h"
#include "library.h"
#include "secure.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define ISER REGISTER(0xE000E100u)
#define VTOR REGISTER(0xE000ED08u)

#define CPSID "cpsid i"
#define CPSIE "cpsie i\n\tisb"

#ifndef GATEWAY_WAY
#error "GATEWAY_WAY must be one of the ways below, such as way_empty"
#endif /* GATEWAY_WAY */

/* Of the secure fault's status: an entry that is no gate; an access that the attribution forbids; its address is known. */
#define INVALID_ENTRY 0x01u
#define FORBIDDEN 0x08u
#define ADDRESS_KNOWN 0x40u

const char ops_name[] = "gateway";

static uint8_t bytes[64];
static volatile uint32_t interrupts;
static volatile uint32_t calls;
static uint32_t result;
static uintptr_t secret;

static vector_room room;

static void on_interrupt(void)
{
	interrupts++;
}

int ops_open(void)
{
	vector **vectors = vectors_in(room);

	/* start.c's table has no interrupts. */
	memcpy((void *)vectors, (const void *)(uintptr_t)VTOR, 16 * sizeof(vectors[0]));
	vectors[16 + NONSECURE_IRQ] = on_interrupt;
	VTOR = (uintptr_t)vectors;
	ISER = 1u << NONSECURE_IRQ;
	/* The counter's interrupt stands in this table now. */
	counter_start();
	return 0;
}

void known_answers(const char *operation)
{
	(void)operation;
}

void operations_prepare(size_t size, uint32_t runs)
{
	(void)size;
	(void)runs;
}

/* --- ways between the states --- */

static __attribute__((noinline)) int nothing(void)
{
	__asm__ volatile("");
	return 0;
}

static int run_plain(void)
{
	return nothing();
}

static int run_empty(void)
{
	return gate_empty();
}

static int run_checked(void)
{
	return gate_checked(bytes, sizeof(bytes));
}

static int run_psa_call(void)
{
	const struct library_request request = {
		.operation = LIBRARY_NOTHING,
		.in = { { bytes, 32 }, { bytes, 32 } },
		.out = { { bytes + 32, 32 } },
	};

	return gate_library(&request);
}

static int back(void)
{
	calls++;
	return 0;
}

static int run_callback(void)
{
	return gate_callback(back);
}

/* Its first floating-point instruction makes the core store the secure state's registers, and clear them. */
static int back_float(void)
{
	uint32_t seen = 0;

	calls++;
#if CORE_HAS_FLOAT
	__asm__ volatile("vmov %0, s16" : "=r"(seen));
#endif /* CORE_HAS_FLOAT */
	return (int)seen;
}

static int run_callback_float(void)
{
	return gate_callback_float(back_float);
}

/* The secure state has floating-point registers in use, which nobody disturbs: the core stores none. */
static int run_callback_lazy(void)
{
	return gate_callback_float(back);
}

static int run_secure_in_secure(void)
{
	return gate_interrupt(SECURE_IRQ);
}

static int run_nonsecure_in_secure(void)
{
	return gate_interrupt(NONSECURE_IRQ);
}

/* Masked here, the interrupt waits in the secure state too, until this one lets it come. */
static int run_secure_in_nonsecure(void)
{
	__asm__ volatile(CPSID ::: "memory");
	(void)gate_interrupt(SECURE_IRQ);
	__asm__ volatile(CPSIE ::: "memory");
	return 0;
}

/* --- what must be refused --- */

/*
 * Does one instruction with the address in r0, in a function of its own: what refuses it goes back to that function's caller
 * with r0 changed.
 */
#define TRY(instruction, address)                                                                                      \
	do {                                                                                                           \
		register uintptr_t r0 __asm__("r0") = (address);                                                       \
                                                                                                                       \
		__asm__ volatile("bl 1f\n\tb 2f\n1:\t" instruction "\n\tbx lr\n2:"                                     \
				 : "+r"(r0)                                                                            \
				 :                                                                                     \
				 : "r1", "r2", "r3", "r12", "lr", "cc", "memory");                                     \
		result = r0;                                                                                           \
	} while (0)

static int run_read(void)
{
	TRY("ldr r0, [r0]", secret);
	return 0;
}

static int run_write(void)
{
	TRY("str r0, [r0]", secret);
	return 0;
}

/* Secure code that is no gate: the reset handler would do, but any secure address does. */
static int run_execute(void)
{
	TRY("bx r0", secret | 1u);
	return 0;
}

/* A gate's second instruction. */
static int run_veneer(void)
{
	TRY("bx r0", (uintptr_t)gate_empty + 4);
	return 0;
}

/* What the attribution makes non-secure and the memory's controller does not let through. */
static int run_controller(void)
{
	extern char heap_end[];

	TRY("ldr r0, [r0]", (uintptr_t)heap_end);
	return 0;
}

static int run_pointer(void)
{
	result = (uint32_t)gate_checked((const void *)secret, sizeof(uint32_t));
	return 0;
}

/* --- all of them --- */

struct way {
	int (*run)(void);
	uint32_t calls;      /* back into this program */
	uint32_t secure;     /* interrupts of that state */
	uint32_t interrupts; /* of this one */
	uint32_t refused;    /* what refuses it; 0 if it is not to be refused */
};

/* All but one are for other programs, and the linker leaves them out. */
static const struct way way_plain __attribute__((unused)) = { .run = run_plain };
static const struct way way_empty __attribute__((unused)) = { .run = run_empty };
static const struct way way_checked __attribute__((unused)) = { .run = run_checked };
static const struct way way_psa_call __attribute__((unused)) = { .run = run_psa_call };
static const struct way way_callback __attribute__((unused)) = { .run = run_callback, .calls = 1 };
static const struct way way_callback_lazy __attribute__((unused)) = { .run = run_callback_lazy, .calls = 1 };
static const struct way way_callback_float __attribute__((unused)) = { .run = run_callback_float, .calls = 1 };
static const struct way way_irq_s_in_s __attribute__((unused)) = { .run = run_secure_in_secure, .secure = 1 };
static const struct way way_irq_ns_in_s __attribute__((unused)) = { .run = run_nonsecure_in_secure, .interrupts = 1 };
static const struct way way_irq_s_in_ns __attribute__((unused)) = { .run = run_secure_in_nonsecure, .secure = 1 };
static const struct way way_read __attribute__((unused)) = { .run = run_read, .refused = REFUSED_MARK | FORBIDDEN };
static const struct way way_write __attribute__((unused)) = { .run = run_write, .refused = REFUSED_MARK | FORBIDDEN };
static const struct way way_execute
	__attribute__((unused)) = { .run = run_execute, .refused = REFUSED_MARK | INVALID_ENTRY };
static const struct way way_veneer
	__attribute__((unused)) = { .run = run_veneer, .refused = REFUSED_MARK | INVALID_ENTRY };
static const struct way way_controller
	__attribute__((unused)) = { .run = run_controller, .refused = REFUSED_MARK | REFUSED_BUS };
static const struct way way_pointer __attribute__((unused)) = { .run = run_pointer, .refused = GATE_REFUSED };

#define WAY (&GATEWAY_WAY)

static struct way seen;

static void prepare(uint32_t index)
{
	(void)index;
	if (WAY->refused)
		secret = gate_try();
	result = 0;
	calls = 0;
	seen.interrupts = interrupts;
	seen.secure = gate_interrupts();
}

static void evidence(uint32_t index)
{
	uint32_t secure = gate_interrupts() - seen.secure;
	uint32_t own = interrupts - seen.interrupts;

	if (calls != WAY->calls || secure != WAY->secure || own != WAY->interrupts)
		frame_fail("the call did not go the way that is measured", 0);
	if ((result & ~ADDRESS_KNOWN) != WAY->refused)
		frame_fail("what was tried was not refused as it must be", (int)result);
	if (WAY->refused && !gate_untouched())
		frame_fail("what was refused was done", 0);
	if (!index)
		frame_check(WAY->refused ? "refused" : "went-there", WAY->refused ? "refused" : "gateway", 1);
}

static const struct operation operation[] = {
	{ "gateway", "gateway", NULL, prepare, evidence },
	{ "refused", "refused", NULL, prepare, evidence },
};

const struct operation *operations_find(const char *name)
{
	static struct operation found;

	found = operation[WAY->refused != 0];
	found.run = WAY->run;
	if (strcmp(name, found.name))
		frame_fail("this program has no such operation", 0);
	return &found;
}
