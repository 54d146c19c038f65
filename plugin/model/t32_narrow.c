/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arm v7-M and v8-M Architecture Reference Manuals: 16-bit T32 encodings. The first that fits is the one. */
#include "t32_table.h"

const struct t32_encoding t32_narrow[] = {
	{ 0xffc0, 0x0000, T32_ALU, "w0r3,Z" },   /* MOVS */
	{ 0xf800, 0x0000, T32_SHIFT, "w0r3,Z" }, /* LSLS */
	{ 0xf800, 0x0800, T32_SHIFT, "w0r3,Z" }, /* LSRS */
	{ 0xf800, 0x1000, T32_SHIFT, "w0r3,Z" }, /* ASRS */
	{ 0xfc00, 0x1800, T32_ALU, "w0r3r6,Z" }, /* ADDS, SUBS of registers */
	{ 0xfc00, 0x1c00, T32_ALU, "w0r3,Z" },   /* of a small constant */
	{ 0xf800, 0x2000, T32_ALU, "w8,Z" },     /* MOVS */
	{ 0xf800, 0x2800, T32_ALU, "r8,Z" },     /* CMP */
	{ 0xf000, 0x3000, T32_ALU, "b8,Z" },     /* ADDS, SUBS */
	{ 0xffc0, 0x4080, T32_SHIFT, "b0r3,Z" }, /* LSLS */
	{ 0xffc0, 0x40c0, T32_SHIFT, "b0r3,Z" }, /* LSRS */
	{ 0xffc0, 0x4100, T32_SHIFT, "b0r3,Z" }, /* ASRS */
	{ 0xffc0, 0x4140, T32_ALU, "b0r3,fZ" },  /* ADCS */
	{ 0xffc0, 0x4180, T32_ALU, "b0r3,fZ" },  /* SBCS */
	{ 0xffc0, 0x41c0, T32_SHIFT, "b0r3,Z" }, /* RORS */
	{ 0xffc0, 0x4200, T32_ALU, "r0r3,Z" },   /* TST */
	{ 0xffc0, 0x4240, T32_ALU, "w0r3,Z" },   /* RSBS */
	{ 0xff80, 0x4280, T32_ALU, "r0r3,Z" },   /* CMP, CMN */
	{ 0xffc0, 0x4340, T32_MUL, "b0r3,Z" },   /* MULS */
	{ 0xffc0, 0x43c0, T32_ALU, "w0r3,Z" },   /* MVNS */
	{ 0xfc00, 0x4000, T32_ALU, "b0r3,Z" },   /* ANDS, EORS, ORRS, BICS */
	{ 0xff00, 0x4400, T32_ALU, "bhrH," },    /* ADD */
	{ 0xff00, 0x4500, T32_ALU, "rhrH,Z" },   /* CMP */
	{ 0xff00, 0x4600, T32_ALU, "whrH," },    /* MOV */
	{ 0xff83, 0x4700, T32_JUMP, "rH,n" },    /* BX, BXNS */
	{ 0xff83, 0x4780, T32_JUMP, "rHwl,n" },  /* BLX, BLXNS */
	{ 0xf800, 0x4800, T32_LOAD, "w8,4L" },   /* LDR of a literal */
	{ 0xfe00, 0x5000, T32_STORE, "s0a3a6,4I" },
	{ 0xfe00, 0x5200, T32_STORE, "s0a3a6,2I" },
	{ 0xfe00, 0x5400, T32_STORE, "s0a3a6,1I" },
	{ 0xfe00, 0x5600, T32_LOAD, "w0a3a6,1I" },
	{ 0xfe00, 0x5800, T32_LOAD, "w0a3a6,4I" },
	{ 0xfe00, 0x5a00, T32_LOAD, "w0a3a6,2I" },
	{ 0xfe00, 0x5c00, T32_LOAD, "w0a3a6,1I" },
	{ 0xfe00, 0x5e00, T32_LOAD, "w0a3a6,2I" },
	{ 0xf800, 0x6000, T32_STORE, "s0a3,4" },
	{ 0xf800, 0x6800, T32_LOAD, "w0a3,4" },
	{ 0xf800, 0x7000, T32_STORE, "s0a3,1" },
	{ 0xf800, 0x7800, T32_LOAD, "w0a3,1" },
	{ 0xf800, 0x8000, T32_STORE, "s0a3,2" },
	{ 0xf800, 0x8800, T32_LOAD, "w0a3,2" },
	{ 0xf800, 0x9000, T32_STORE, "s8ap,4" },
	{ 0xf800, 0x9800, T32_LOAD, "w8ap,4" },
	{ 0xf800, 0xa000, T32_ALU, "w8," },       /* ADR */
	{ 0xf800, 0xa800, T32_ALU, "w8rp," },     /* ADD of sp */
	{ 0xff00, 0xb000, T32_ALU, "bp," },       /* ADD, SUB of sp */
	{ 0xf500, 0xb100, T32_BRANCH, "r0,?" },   /* CBZ, CBNZ */
	{ 0xff00, 0xb200, T32_ALU, "w0r3," },     /* SXTH, SXTB, UXTH, UXTB */
	{ 0xfe00, 0xb400, T32_STORES, "xp,4RU" }, /* PUSH */
	{ 0xffec, 0xb660, T32_SYSTEM, "," },      /* CPS */
	{ 0xff80, 0xba00, T32_SHIFT, "w0r3," },   /* REV, REV16 */
	{ 0xffc0, 0xbac0, T32_SHIFT, "w0r3," },   /* REVSH */
	{ 0xfe00, 0xbc00, T32_LOADS, "xp,4RU" },  /* POP */
	{ 0xff00, 0xbe00, T32_TRAP, "," },        /* BKPT */
	{ 0xff00, 0xbf00, T32_HINT, "," },        /* IT, NOP and their like */
	{ 0xf800, 0xc000, T32_STORES, "x8,4RU" },
	{ 0xf800, 0xc800, T32_LOADS, "x8,4R" }, /* writes back unless it loads the register */
	{ 0xff00, 0xde00, T32_TRAP, "," },      /* UDF */
	{ 0xff00, 0xdf00, T32_TRAP, "," },      /* SVC */
	{ 0xf000, 0xd000, T32_BRANCH, ",f?" },
	{ 0xf800, 0xe000, T32_BRANCH, "," },
};

const size_t t32_narrow_count = sizeof(t32_narrow) / sizeof(t32_narrow[0]);
