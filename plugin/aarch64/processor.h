/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers and memory of the one emulated processor, as they are while QEMU calls the plugin. A register that QEMU
 * does not show reads as 0.
 */
#ifndef WORLDWISE_PROCESSOR_H
#define WORLDWISE_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_UNWOUND 64

/* Finds the registers. Gives up, with its name on stderr, if QEMU lacks one. Called once, when the processor is there. */
void processor_start(void);

/* x0 to x30. */
uint64_t processor_x(unsigned int number);
/* The stack pointer, and the thread of user space that runs: its TPIDR_EL0. Only where calls are regions. */
uint64_t processor_sp(void);
uint64_t processor_thread(void);
/* The processor state, as SPSR has it. */
uint64_t processor_state(void);
/* The exception level: 0 to 3. */
unsigned int processor_el(void);
/*
 * Whether a block of code at `address` that QEMU is about to translate is of AArch32: what a TA of 32 bits executes at
 * EL0. QEMU shows no register meanwhile: x0 to x30, sp and the exception level are those of when EL1 went there.
 */
bool processor_is_of_32_bits(uint64_t address);
/* Whether the levels below EL3 are the secure world's: as EL3 has set it. */
bool processor_secure(void);
/* The address of user space's translation table, without the process's number that may stand above it. */
uint64_t processor_user_space(void);

/* The number of its address space (ASID), which is above that. */
uint64_t processor_space_number(void);

/* Of the exception that was taken to the current level last: where it returns to, in which state and at which level it
 * was taken, why. */
uint64_t processor_return_address(void);
uint64_t processor_interrupted_state(void);
unsigned int processor_interrupted_el(void);
unsigned int processor_exception_class(void);
/* Whether the current level's table of vectors has `address`. */
bool processor_has_vector(uint64_t address);

/* The lowest address of `from` to `to` - 1 that has a byte other than 0; `to` if none has, or it cannot be read. */
uint64_t processor_first_written(uint64_t from, uint64_t to);

/* Copies the bytes at `address` up to a zero byte, `most` at most, to `text`, which is zeros. None if it cannot be read. */
void processor_text(uint64_t address, char *text, size_t most);

/* Fills `returns` with where the functions in memory's frame records return to, innermost first. Returns how many. */
size_t processor_unwind(uint64_t returns[MAX_UNWOUND]);

#endif /* WORLDWISE_PROCESSOR_H */
