/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What mcu_table.c reads and mcu.c runs. */
#ifndef WORLDWISE_MODEL_MCU_CORE_H
#define WORLDWISE_MODEL_MCU_CORE_H

#include "flash.h"
#include "mcu.h"
#include "t32.h"

#define MCU_REGISTERS (16 + 32 + 1) /* the core's, single floating-point ones, the flags */

/* What instructions of one class cost. */
struct mcu_class {
	bool known;            /* the table has it; else its instructions are outside what the model covers */
	bool outside;          /* known, but without figures to judge it by */
	uint32_t cycles;       /* until the next instruction may begin */
	uint32_t per_register; /* more for each register that goes to or comes from memory */
	uint32_t together;     /* or for so many of them, if not 0 */
	uint32_t latency;      /* until another instruction may use the result; at least `cycles` */
};

/* Numbers of a core. What a core does not have is 0. */
enum mcu_number {
	MCU_WIDTH,             /* instructions that may begin in a cycle: 1, and more are of dual.c */
	MCU_LOAD_PIPELINED,    /* cycles that a load saves behind a load */
	MCU_STORE_PIPELINED,   /* that a store with an index saves behind a load */
	MCU_STORE_INDEXED,     /* more for a store to the sum of two registers */
	MCU_UPDATES_CHAIN,     /* 1 if loads that write back are pipelined too, on another base than the load before */
	MCU_STORE_HIDES,       /* cycles that a store with a constant saves behind a load of the same block of memory */
	MCU_STORE_WAITS,       /* more for each word that is stored, if no buffer takes it */
	MCU_LOAD_AFTER_STORE,  /* more for a load behind a store */
	MCU_LOADS_AFTER_STORE, /* more for a load of several behind a store */
	MCU_ADDRESS_WAIT,      /* more for an address made by the data-processing instruction before */
	MCU_ADDRESS_EARLY,     /* how much sooner an address must be there than another operand */
	MCU_SUM_LATE,          /* how much later the summand of a product may be there */
	MCU_DATA_LATE,         /* how much later what is stored may be there */
	MCU_FLAGS_LATE,        /* more for a product, or a sum with a rotated constant, that sets the flags */
	MCU_ROTATED,           /* latency of data processing with a rotated constant; 0 for its class's */
	MCU_WIDE_GROUP,   /* wide ones in a row at 2 mod 4 behind one of several cycles, that cost one more; 0: never */
	MCU_WIDE_TARGET,  /* more if a branch goes to a wide instruction at 2 mod 4 */
	MCU_FOLDED,       /* cycles that IT saves behind a narrow instruction */
	MCU_BRANCH_PAIRS, /* that a narrow branch saves behind a narrow instruction */
	MCU_REFILL,       /* more for a taken branch to an address that it says */
	MCU_REFILL_CALL,  /* for a call */
	MCU_REFILL_REGISTER, /* for one to an address in a register */
	MCU_REFILL_LOAD,     /* for one to an address from memory */
	MCU_COMPARE_LATE,    /* 1 if a comparison with zero that branches is known as late as one to a register */
	MCU_NUMBERS
};

/* The instruction before. */
struct mcu_before {
	enum t32_class class;
	bool updates; /* a load or store that wrote its address register */
	uint16_t address;
	uint16_t written; /* by data processing; by a load if class is T32_LOAD */
	uint32_t block;   /* of memory that it accessed */
	uint32_t group;   /* wide instructions at 2 mod 4 in a row, behind one of several cycles */
	bool jumped;
	bool narrow;
	bool sets_flags;
	bool several; /* took several cycles */
	bool paired;  /* began with the one before it, so that a third cannot */
};

struct mcu {
	struct mcu_class classes[T32_CLASSES];
	uint32_t numbers[MCU_NUMBERS];
	struct flash flash;
	bool waits; /* whether a result can be later than the next instruction */

	uint64_t now; /* cycles since the model forgot; the next instruction begins here */
	uint64_t ready[MCU_REGISTERS];
	uint8_t why[MCU_REGISTERS]; /* what a wait for the register goes on */
	struct mcu_before before;
};

#endif /* WORLDWISE_MODEL_MCU_CORE_H */
