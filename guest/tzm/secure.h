/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two programs of a core with TrustZone-M know of each other: the gates of the secure one, and their results. */
#ifndef WORLDWISE_TZM_SECURE_H
#define WORLDWISE_TZM_SECURE_H

#include <stddef.h>
#include <stdint.h>

/* The interrupts that programs ask for themselves; no device of the machine uses them. The vector is 16 further. */
#define SECURE_IRQ 2
#define NONSECURE_IRQ 3
#define VECTORS 32 /* of a table with these */

typedef void vector(void);

/* Within this room the place where a table of vectors may stand: at a multiple of its size. */
typedef vector *vector_room[2 * VECTORS];

static inline vector **vectors_in(vector_room room)
{
	uintptr_t bytes = VECTORS * sizeof(vector *);

	return (vector **)(((uintptr_t)room + bytes - 1) & ~(bytes - 1));
}

/* What a gate answers to a pointer that the caller may not use itself. */
#define GATE_REFUSED 0x0badca11
/* Where in these the secure program puts what it refused instead of letting it happen: see tried_refused(). */
#define REFUSED_MARK 0x0bad0000u
#define REFUSED_BUS 0x8000u /* by the bus, besides the secure fault's own bits */

#if defined(__ARM_FEATURE_CMSE) && __ARM_FEATURE_CMSE == 3
#define GATE __attribute__((cmse_nonsecure_entry))
#define CALLED_BACK __attribute__((cmse_nonsecure_call))
#else
#define GATE
#define CALLED_BACK
#endif /* __ARM_FEATURE_CMSE */

typedef int CALLED_BACK called_back(void);

/* Nothing, and back. */
int GATE gate_empty(void);

/* Checks that the caller may read and write the bytes; GATE_REFUSED if it may not. */
int GATE gate_checked(const void *bytes, size_t length);

/* Calls the caller back; by _float the secure state has floating-point registers in use meanwhile. */
int GATE gate_callback(called_back *function);
int GATE gate_callback_float(called_back *function);

/* Asks for an interrupt, which comes before the next instruction of whoever may be interrupted. */
int GATE gate_interrupt(uint32_t number);

/* How often the secure interrupt came. */
uint32_t GATE gate_interrupts(void);

/* Lets the next fault be noted instead of ending the program. Gives the address of a word that is secure. */
uintptr_t GATE gate_try(void);

/* Whether that word is as it was. */
int GATE gate_untouched(void);

#endif /* WORLDWISE_TZM_SECURE_H */
