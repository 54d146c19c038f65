/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers and memory of the one emulated 32-bit processor. A register that QEMU does not show reads as 0. */
#ifndef WORLDWISE_ARM32_PROCESSOR_H
#define WORLDWISE_ARM32_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

/* Finds the registers. Called once, when the processor is there. `micro`: of the M profile; `tasks`: what tells tasks apart too. */
void flat_processor_start(bool micro, bool tasks);

/* The core's but the program counter: r0 to r12, sp, lr. */
#define FLAT_REGISTERS 15u

uint32_t flat_processor_register(unsigned int number);
/* Memory from that address on; less than `bytes` if it cannot be read. It is valid until the next call. */
const GByteArray *flat_processor_memory(uint32_t address, size_t bytes);
uint32_t flat_processor_stack(void);
uint32_t flat_processor_link(void);
/* M profile: the process stack pointer, whichever is in use. */
uint32_t flat_processor_process_stack(void);
/* Linux: the thread pointer of user space. */
uint32_t flat_processor_thread(void);
/* Whether it executes T32. */
bool flat_processor_thumb(void);
/* M profile: the number of the exception whose handler runs, 0 for none. */
unsigned int flat_processor_exception(void);
/* M profile, at the begin of a handler: where its exception goes back to. */
uint32_t flat_processor_interrupted(void);

#endif /* WORLDWISE_ARM32_PROCESSOR_H */
