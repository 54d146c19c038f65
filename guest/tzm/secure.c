/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The secure program: it divides the machine between the states, starts the non-secure program, and answers at its gates.
 * Start-up is that of any program here (mcu/start.c). Sources: Armv8-M Architecture Reference Manual (DDI 0553), B5, B9,
 * D1.2 (SAU, NSACR, SFSR); Arm, CoreLink SIE-200 Technical Reference Manual (DDI 0571), memory protection controller.
 */
#include "secure.h"

#include <arm_cmse.h>

#include "../bench/record.h"
#include "../bench/semihost.h"
#include "../mcu/core.h"

#if !defined(__ARM_FEATURE_CMSE) || __ARM_FEATURE_CMSE != 3
#error "the secure program must be compiled with -mcmse"
#endif /* __ARM_FEATURE_CMSE */

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define ISER REGISTER(0xE000E100u)
#define ISPR REGISTER(0xE000E200u)
#define ITNS REGISTER(0xE000E380u)
#define VTOR REGISTER(0xE000ED08u)
#define SHCSR REGISTER(0xE000ED24u)
#define SHCSR_FAULTS (0xFu << 16) /* memory management, bus, usage, secure */
#define CFSR REGISTER(0xE000ED28u)
#define HFSR REGISTER(0xE000ED2Cu)
#define NSACR REGISTER(0xE000ED8Cu)
#define NSACR_FLOAT (3u << 10)
#define SAU_CTRL REGISTER(0xE000EDD0u)
#define SAU_RNR REGISTER(0xE000EDD8u)
#define SAU_RBAR REGISTER(0xE000EDDCu)
#define SAU_RLAR REGISTER(0xE000EDE0u)
#define SAU_ENABLE 1u
#define SAU_CALLABLE 2u
#define SFSR REGISTER(0xE000EDE4u)
#define SFAR REGISTER(0xE000EDE8u)
#define SFSR_BITS 0xFFu
#define VTOR_NS REGISTER(0xE002ED08u)
#define CFSR_BUS 0x0000FF00u

/* Of the machine's block of secure control, on both: non-secure callable regions within code and within data. */
#define NSCCFG REGISTER(0x50080014u)

/* A memory's protection controller. */
#define CONTROLLER_CTRL 0x00u
#define CONTROLLER_FAULTS (1u << 4) /* what is refused is a bus fault, instead of reading as zero */
#define CONTROLLER_BLOCK 0x14u      /* the size of a block is 32 bytes times 2 to this */
#define CONTROLLER_INDEX 0x18u
#define CONTROLLER_TABLE 0x1Cu

#define RETURN_SECURE_STACK (1u << 6)
#define RETURN_PROCESS_STACK (1u << 2)

/* From the linker script: addresses, not objects. */
extern char veneers[], veneers_end[];
extern char nonsecure_code[], nonsecure_code_end[], nonsecure_data[], nonsecure_data_end[];
extern char code_controller[], code_from[], code_to[], data_controller[], data_from[], data_to[];
#define ADDRESS(symbol) ((uintptr_t)(symbol))

typedef void __attribute__((cmse_nonsecure_call)) nonsecure_program(void);

#define SECRET 0x5EC0DED5u
static volatile uint32_t secret = SECRET;
static volatile uint32_t interrupts;
static volatile uint32_t trying;

int main(void);
void SysTick_Handler(void);

/* --- gates --- */

int GATE gate_empty(void)
{
	return 0;
}

int GATE gate_checked(const void *bytes, size_t length)
{
	/* The cast is for cmse's pointer, which is not one to const. */
	if (cmse_check_address_range((void *)(uintptr_t)bytes, length, CMSE_NONSECURE | CMSE_MPU_READWRITE))
		return 0;
	trying = 0;
	return GATE_REFUSED;
}

int GATE gate_callback(called_back *function)
{
	return ((called_back *)cmse_nsfptr_create(function))();
}

int GATE gate_callback_float(called_back *function)
{
#if CORE_HAS_FLOAT
	/* From here on the secure state has a floating-point context, which the call back must not lose. */
	__asm__ volatile("vmov.f32 s16, #1.0" ::: "s16");
#endif /* CORE_HAS_FLOAT */
	return ((called_back *)cmse_nsfptr_create(function))();
}

int GATE gate_interrupt(uint32_t number)
{
	ISPR = 1u << (number & 31);
	__asm__ volatile("dsb\n\tisb" ::: "memory");
	return 0;
}

uint32_t GATE gate_interrupts(void)
{
	return interrupts;
}

uintptr_t GATE gate_try(void)
{
	trying = 1;
	return (uintptr_t)&secret;
}

int GATE gate_untouched(void)
{
	return secret == SECRET && !trying;
}

/* --- exceptions --- */

static void on_interrupt(void)
{
	interrupts++;
}

/* Nobody starts this timer. */
void SysTick_Handler(void)
{
}

/* What was tried is over: it returns what refused it, to where it was called. */
static void refuse(uint32_t *frame, uint32_t status)
{
	trying = 0;
	frame[0] = REFUSED_MARK | status;
	frame[6] = frame[5] & ~1u;
}

/* An exception was taken from `frame`, on whichever stack that is. */
__attribute__((used)) static void on_fault(uint32_t *frame, uint32_t back)
{
	uint32_t secure = SFSR & SFSR_BITS;
	uint32_t status = CFSR;

	SFSR = SFSR;
	CFSR = status;
	if (trying && !(back & RETURN_SECURE_STACK) && (secure || (status & CFSR_BUS))) {
		refuse(frame, secure | (status & CFSR_BUS ? REFUSED_BUS : 0));
		return;
	}
	record_begin("fault");
	record_text("kind", secure ? "secure fault" : status & CFSR_BUS ? "bus fault" : "hard fault");
	record_number("pc", frame[6]);
	record_number("lr", frame[5] & ~1u);
	if (secure)
		record_number("address", SFAR);
	record_number("status", secure ? secure : status);
	record_end();
	semihost_exit(1);
}

static __attribute__((naked)) void on_exception(void)
{
	__asm__ volatile(".syntax unified\n\t"
			 "mov r1, lr\n\t"
			 "tst r1, %0\n\t"
			 "bne 1f\n\t"
			 "tst r1, %1\n\t"
			 "ite ne\n\t"
			 "mrsne r0, psp_ns\n\t"
			 "mrseq r0, msp_ns\n\t"
			 "b 2f\n"
			 "1:\n\t"
			 "tst r1, %1\n\t"
			 "ite ne\n\t"
			 "mrsne r0, psp\n\t"
			 "mrseq r0, msp\n"
			 "2:\n\t"
			 "push {r3, lr}\n\t"
			 "bl on_fault\n\t"
			 "pop {r3, pc}"
			 :
			 : "i"(RETURN_SECURE_STACK), "i"(RETURN_PROCESS_STACK));
}

/* The core takes its stack pointer from start.c's table; this one is used from main() on. */
static vector_room room;

/* --- the machine's division --- */

static void let_through(uintptr_t controller, uint32_t from, uint32_t to)
{
	uint32_t word_bytes = 32u * (32u << (REGISTER(controller + CONTROLLER_BLOCK) & 0xFu));

	for (uint32_t word = from / word_bytes; word < to / word_bytes; word++) {
		REGISTER(controller + CONTROLLER_INDEX) = word;
		REGISTER(controller + CONTROLLER_TABLE) = 0xFFFFFFFFu;
	}
	REGISTER(controller + CONTROLLER_CTRL) |= CONTROLLER_FAULTS;
}

static void attribute(uint32_t region, uintptr_t from, uintptr_t to, uint32_t callable)
{
	SAU_RNR = region;
	SAU_RBAR = from;
	SAU_RLAR = (to - 32) | callable | SAU_ENABLE;
}

static void divide(void)
{
	let_through(ADDRESS(code_controller), ADDRESS(code_from), ADDRESS(code_to));
	let_through(ADDRESS(data_controller), ADDRESS(data_from), ADDRESS(data_to));
	NSCCFG = 3;
	attribute(0, ADDRESS(nonsecure_code), ADDRESS(nonsecure_code_end), 0);
	attribute(1, ADDRESS(nonsecure_data), ADDRESS(nonsecure_data_end), 0);
	attribute(2, ADDRESS(veneers), ADDRESS(veneers_end), SAU_CALLABLE);
	SAU_CTRL = SAU_ENABLE;
	NSACR |= NSACR_FLOAT;
	ITNS = 1u << NONSECURE_IRQ;
	ISER = 1u << SECURE_IRQ;
	__asm__ volatile("dsb\n\tisb" ::: "memory");
}

int main(void)
{
	vector **vectors = vectors_in(room);
	const uintptr_t *program = (const uintptr_t *)(uintptr_t)nonsecure_code;

	for (size_t i = 0; i < VECTORS; i++)
		vectors[i] = on_exception;
	vectors[16 + SECURE_IRQ] = on_interrupt;
	VTOR = (uintptr_t)vectors;
	SHCSR |= SHCSR_FAULTS;
	divide();
	VTOR_NS = (uintptr_t)program;
	__asm__ volatile("msr msp_ns, %0" ::"r"(program[0]));
	((nonsecure_program *)cmse_nsfptr_create((nonsecure_program *)program[1]))();
	return 1;
}
