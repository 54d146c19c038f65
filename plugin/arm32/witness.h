/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moments at which the registers and the stack in memory are written beside the shadow stack, for who unwinds them. */
#ifndef WORLDWISE_ARM32_WITNESS_H
#define WORLDWISE_ARM32_WITNESS_H

#include <stdint.h>

/* The stack that is looked at begins where the stack pointer is at the next block. */
void flat_witness_begin(void);

/* The block at `pc` is about to be executed, on the program's own stack, in the pass of that id, or if it is 0 in none. */
void flat_witness_look(uint32_t pass, uint64_t pc);

#endif /* WORLDWISE_ARM32_WITNESS_H */
