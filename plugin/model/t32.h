/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoder of T32 as far as its time goes: Armv6-M, Armv7E-M with single and double floating point, Armv8-M Mainline
 * without vectors. What it does not know is of class T32_UNKNOWN, and nothing else is said of that.
 */
#ifndef WORLDWISE_MODEL_T32_H
#define WORLDWISE_MODEL_T32_H

#include <stdbool.h>
#include <stdint.h>

enum t32_class {
	T32_UNKNOWN,
	T32_ALU,     /* data processing without a shift of its operand; moves, extensions */
	T32_SHIFT,   /* shifts; bit fields, reversals, saturations */
	T32_SHIFTED, /* data processing with a shifted operand */
	T32_DSP,     /* arithmetic on halfwords and bytes, saturating arithmetic */
	T32_MUL,     /* product of 32 bits, of words or halfwords */
	T32_MLA,     /* and a sum of 32 bits */
	T32_MULL,    /* product of 64 bits */
	T32_MLAL,    /* and a sum of 64 bits */
	T32_DIV,
	T32_LOAD, /* one register */
	T32_STORE,
	T32_LOADS, /* two or more: LDM, POP, LDRD, VLDM */
	T32_STORES,
	T32_EXCLUSIVE, /* exclusive, and with acquire or release */
	T32_BRANCH,    /* to an address that the instruction says */
	T32_CALL,      /* BL */
	T32_JUMP,      /* to an address of a register: BX, BLX, MOV pc */
	T32_TABLE,     /* TBB, TBH */
	T32_SYSTEM,    /* MRS, MSR, CPS, TT */
	T32_BARRIER,   /* DSB, DMB, ISB, CLREX */
	T32_HINT,      /* NOP, IT, preloads */
	T32_TRAP,      /* SVC, BKPT, UDF, SG */
	T32_FP,        /* floating point: add, compare, convert, move */
	T32_FPMUL,
	T32_FPMLA,
	T32_FPDIV,  /* divide, square root */
	T32_FPMOVE, /* between the core's registers and the floating-point unit's */
	T32_DOUBLE, /* any of these on 64 bits */
	T32_CLASSES
};

/* Register masks: bit n is rn. */
struct t32_op {
	enum t32_class class;
	uint8_t bytes;     /* 2 or 4 */
	uint8_t registers; /* that go to or come from memory */
	uint8_t element;   /* bytes of each */
	bool store;
	bool literal;     /* a load relative to pc */
	bool indexed;     /* the address is a sum of two registers */
	bool updates;     /* the address register is written */
	bool conditional; /* a branch that may go on straight */
	bool writes_pc;
	bool reads_flags;
	bool sets_flags;
	bool makes_conditional; /* IT */
	bool rotated;           /* data processing, but a move, with a constant that is a byte rotated */
	uint16_t address;       /* read to make an address */
	uint16_t data;          /* read to be stored */
	uint16_t sum;           /* read to be added to a product */
	uint16_t operands;      /* read for anything else */
	uint16_t written;       /* with pc */
	uint32_t floats;        /* single registers read */
	uint32_t floats_sum;    /* read to be added to a product */
	uint32_t floats_written;
};

/* The instruction at `bytes`, of which four can be read if the first two say it is wide. */
void t32_decode(const uint8_t *bytes, struct t32_op *op);

/* How many bytes an instruction has whose first halfword this is. */
unsigned int t32_bytes(uint16_t first);

/* The name of a class in the files of cores. */
const char *t32_class_name(enum t32_class class);

#endif /* WORLDWISE_MODEL_T32_H */
