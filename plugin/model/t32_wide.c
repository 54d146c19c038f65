/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arm v7-M and v8-M Architecture Reference Manuals: 32-bit T32 encodings. The first that fits is the one. */
#include "t32_table.h"

const struct t32_encoding t32_wide[] = {
	/* several registers */
	{ 0xffd0a000, 0xe8800000, T32_STORES, "xN,4RW" },
	{ 0xffd00000, 0xe8900000, T32_LOADS, "xN,4RW" },
	{ 0xffd0a000, 0xe9000000, T32_STORES, "xN,4RW" },
	{ 0xffd00000, 0xe9100000, T32_LOADS, "xN,4RW" },
	/* secure gateway, test target; exclusive; table branches; acquire and release */
	{ 0xffffffff, 0xe97fe97f, T32_TRAP, "," },
	{ 0xfff0f03f, 0xe840f000, T32_SYSTEM, "wDrN," },
	{ 0xfff00000, 0xe8400000, T32_EXCLUSIVE, "sTwDaN,4" },
	{ 0xfff00f00, 0xe8500f00, T32_EXCLUSIVE, "wTaN,4" },
	{ 0xfff0fff0, 0xe8d0f000, T32_TABLE, "aNaM,1" },
	{ 0xfff0fff0, 0xe8d0f010, T32_TABLE, "aNaM,2" },
	{ 0xfff00fff, 0xe8d00f4f, T32_EXCLUSIVE, "wTaN,1" },
	{ 0xfff00fff, 0xe8d00f5f, T32_EXCLUSIVE, "wTaN,2" },
	{ 0xfff00ff0, 0xe8c00f40, T32_EXCLUSIVE, "sTwMaN,1" },
	{ 0xfff00ff0, 0xe8c00f50, T32_EXCLUSIVE, "sTwMaN,2" },
	{ 0xfff00fff, 0xe8d00f8f, T32_EXCLUSIVE, "wTaN,1" }, /* LDAB, LDAH, LDA */
	{ 0xfff00fff, 0xe8d00f9f, T32_EXCLUSIVE, "wTaN,2" },
	{ 0xfff00fff, 0xe8d00faf, T32_EXCLUSIVE, "wTaN,4" },
	{ 0xfff00fff, 0xe8c00f8f, T32_EXCLUSIVE, "sTaN,1" }, /* STLB, STLH, STL */
	{ 0xfff00fff, 0xe8c00f9f, T32_EXCLUSIVE, "sTaN,2" },
	{ 0xfff00fff, 0xe8c00faf, T32_EXCLUSIVE, "sTaN,4" },
	{ 0xfff00fff, 0xe8d00fcf, T32_EXCLUSIVE, "wTaN,1" }, /* LDAEX */
	{ 0xfff00fff, 0xe8d00fdf, T32_EXCLUSIVE, "wTaN,2" },
	{ 0xfff00fff, 0xe8d00fef, T32_EXCLUSIVE, "wTaN,4" },
	{ 0xfff00ff0, 0xe8c00fc0, T32_EXCLUSIVE, "sTwMaN,1" }, /* STLEX */
	{ 0xfff00ff0, 0xe8c00fd0, T32_EXCLUSIVE, "sTwMaN,2" },
	{ 0xfff00ff0, 0xe8c00fe0, T32_EXCLUSIVE, "sTwMaN,4" },
	/* two registers: with write-back, or with an offset; the rest of the group is above */
	{ 0xff700000, 0xe8600000, T32_STORES, "sTsDaN,4W" },
	{ 0xff700000, 0xe8700000, T32_LOADS, "wTwDaN,4W" },
	{ 0xff500000, 0xe9400000, T32_STORES, "sTsDaN,4W" },
	{ 0xff500000, 0xe9500000, T32_LOADS, "wTwDaN,4W" },
	/* data processing, shifted register */
	{ 0xfff08f00, 0xea100f00, T32_ALU, "rNrM,SZ" }, /* TST */
	{ 0xfff08f00, 0xea900f00, T32_ALU, "rNrM,SZ" }, /* TEQ */
	{ 0xfff08f00, 0xeb100f00, T32_ALU, "rNrM,SZ" }, /* CMN */
	{ 0xfff08f00, 0xebb00f00, T32_ALU, "rNrM,SZ" }, /* CMP */
	{ 0xffeff0f0, 0xea4f0000, T32_ALU, "wDrM,z" },  /* MOV */
	{ 0xffef8000, 0xea4f0000, T32_SHIFT, "wDrM,z" },
	{ 0xffef8000, 0xea6f0000, T32_ALU, "wDrM,Sz" }, /* MVN */
	{ 0xffe08000, 0xea000000, T32_ALU, "wDrNrM,Sz" },
	{ 0xffe08000, 0xea200000, T32_ALU, "wDrNrM,Sz" },
	{ 0xffe08000, 0xea400000, T32_ALU, "wDrNrM,Sz" },
	{ 0xffe08000, 0xea600000, T32_ALU, "wDrNrM,Sz" },
	{ 0xffe08000, 0xea800000, T32_ALU, "wDrNrM,Sz" },
	{ 0xfff08010, 0xeac00000, T32_SHIFTED, "wDrNrM," }, /* PKHBT, PKHTB */
	{ 0xffe08000, 0xeb000000, T32_ALU, "wDrNrM,Sz" },
	{ 0xffe08000, 0xeb400000, T32_ALU, "wDrNrM,Sfz" },
	{ 0xffe08000, 0xeb600000, T32_ALU, "wDrNrM,Sfz" },
	{ 0xffe08000, 0xeba00000, T32_ALU, "wDrNrM,Sz" },
	{ 0xffe08000, 0xebc00000, T32_ALU, "wDrNrM,Sz" },
	/* data processing, modified constant */
	{ 0xfbf08f00, 0xf0100f00, T32_ALU, "rN,Z" },
	{ 0xfbf08f00, 0xf0900f00, T32_ALU, "rN,Z" },
	{ 0xfbf08f00, 0xf1100f00, T32_ALU, "rN,Z" },
	{ 0xfbf08f00, 0xf1b00f00, T32_ALU, "rN,Z" },
	{ 0xfbef8000, 0xf04f0000, T32_ALU, "wD,z" }, /* MOV */
	{ 0xfbef8000, 0xf06f0000, T32_ALU, "wD,z" }, /* MVN */
	{ 0xfbe08000, 0xf0000000, T32_ALU, "wDrN,z" },
	{ 0xfbe08000, 0xf0200000, T32_ALU, "wDrN,z" },
	{ 0xfbe08000, 0xf0400000, T32_ALU, "wDrN,z" },
	{ 0xfbe08000, 0xf0600000, T32_ALU, "wDrN,z" },
	{ 0xfbe08000, 0xf0800000, T32_ALU, "wDrN,z" },
	{ 0xfbe08000, 0xf1000000, T32_ALU, "wDrN,z" },
	{ 0xfbe08000, 0xf1400000, T32_ALU, "wDrN,fz" },
	{ 0xfbe08000, 0xf1600000, T32_ALU, "wDrN,fz" },
	{ 0xfbe08000, 0xf1a00000, T32_ALU, "wDrN,z" },
	{ 0xfbe08000, 0xf1c00000, T32_ALU, "wDrN,z" },
	/* data processing, plain constant */
	{ 0xfbff8000, 0xf20f0000, T32_ALU, "wD," }, /* ADR */
	{ 0xfbff8000, 0xf2af0000, T32_ALU, "wD," },
	{ 0xfbf08000, 0xf2000000, T32_ALU, "wDrN," },
	{ 0xfbf08000, 0xf2a00000, T32_ALU, "wDrN," },
	{ 0xfbf08000, 0xf2400000, T32_ALU, "wD," },     /* MOVW */
	{ 0xfbf08000, 0xf2c00000, T32_ALU, "bD," },     /* MOVT */
	{ 0xffd08020, 0xf3000000, T32_SHIFT, "wDrN," }, /* SSAT, SSAT16 */
	{ 0xffd08020, 0xf3800000, T32_SHIFT, "wDrN," }, /* USAT, USAT16 */
	{ 0xfff08020, 0xf3400000, T32_SHIFT, "wDrN," }, /* SBFX */
	{ 0xffff8020, 0xf36f0000, T32_SHIFT, "bD," },   /* BFC */
	{ 0xfff08020, 0xf3600000, T32_SHIFT, "bDrN," }, /* BFI */
	{ 0xfff08020, 0xf3c00000, T32_SHIFT, "wDrN," }, /* UBFX */
	/* branches and the rest of their group */
	{ 0xffe0f300, 0xf3808000, T32_SYSTEM, "rN," }, /* MSR */
	{ 0xffffff00, 0xf3af8000, T32_HINT, "," },
	{ 0xffffffff, 0xf3bf8f2f, T32_BARRIER, "," },  /* CLREX */
	{ 0xffffffc0, 0xf3bf8f40, T32_BARRIER, "," },  /* DSB, DMB, ISB, SB */
	{ 0xfffff000, 0xf3ef8000, T32_SYSTEM, "wD," }, /* MRS */
	{ 0xfff0f000, 0xf7f0a000, T32_TRAP, "," },     /* UDF */
	{ 0xfb80d000, 0xf3808000, T32_UNKNOWN, "," },
	{ 0xf800d000, 0xf0008000, T32_BRANCH, ",f?" },
	{ 0xf800d000, 0xf0009000, T32_BRANCH, "," },
	{ 0xf800d000, 0xf000d000, T32_CALL, "wl," },
	/* preloads */
	{ 0xfeff0000, 0xf8bf0000, T32_LOAD, "wT,2L" },
	{ 0xfe7ff000, 0xf81ff000, T32_HINT, "," },
	{ 0xfef0f000, 0xf890f000, T32_HINT, "aN," },
	{ 0xfef0ff00, 0xf810fc00, T32_HINT, "aN," },
	{ 0xfef0ffc0, 0xf810f000, T32_HINT, "aNaM," },
	/* one register */
	{ 0xfff00000, 0xf8800000, T32_STORE, "sTaN,1" },
	{ 0xfff00000, 0xf8a00000, T32_STORE, "sTaN,2" },
	{ 0xfff00000, 0xf8c00000, T32_STORE, "sTaN,4" },
	{ 0xfff00800, 0xf8000800, T32_STORE, "sTxN,1w" },
	{ 0xfff00800, 0xf8200800, T32_STORE, "sTxN,2w" },
	{ 0xfff00800, 0xf8400800, T32_STORE, "sTxN,4w" },
	{ 0xfff00fc0, 0xf8000000, T32_STORE, "sTaNaM,1I" },
	{ 0xfff00fc0, 0xf8200000, T32_STORE, "sTaNaM,2I" },
	{ 0xfff00fc0, 0xf8400000, T32_STORE, "sTaNaM,4I" },
	{ 0xfe7f0000, 0xf81f0000, T32_LOAD, "wT,1L" },
	{ 0xfe7f0000, 0xf83f0000, T32_LOAD, "wT,2L" },
	{ 0xff7f0000, 0xf85f0000, T32_LOAD, "wT,4L" },
	{ 0xfef00000, 0xf8900000, T32_LOAD, "wTaN,1" },
	{ 0xfef00000, 0xf8b00000, T32_LOAD, "wTaN,2" },
	{ 0xfff00000, 0xf8d00000, T32_LOAD, "wTaN,4" },
	{ 0xfef00800, 0xf8100800, T32_LOAD, "wTxN,1w" },
	{ 0xfef00800, 0xf8300800, T32_LOAD, "wTxN,2w" },
	{ 0xfff00800, 0xf8500800, T32_LOAD, "wTxN,4w" },
	{ 0xfef00fc0, 0xf8100000, T32_LOAD, "wTaNaM,1I" },
	{ 0xfef00fc0, 0xf8300000, T32_LOAD, "wTaNaM,2I" },
	{ 0xfff00fc0, 0xf8500000, T32_LOAD, "wTaNaM,4I" },
	/* data processing of registers */
	{ 0xff80f0f0, 0xfa00f000, T32_SHIFT, "wDrNrM,z" },
	{ 0xff8ff0c0, 0xfa0ff080, T32_ALU, "wDrM," }, /* SXTH and its like; 6 and 7 are no instructions */
	{ 0xff80f0c0, 0xfa00f080, T32_DSP, "wDrNrM," },
	{ 0xffa0f080, 0xfa80f000, T32_DSP, "wDrNrM," }, /* SADD8 and its like */
	{ 0xffb0f080, 0xfaa0f000, T32_DSP, "wDrNrM," },
	{ 0xfff0f0c0, 0xfa80f080, T32_DSP, "wDrNrM," },  /* QADD and its like */
	{ 0xfff0f0c0, 0xfa90f080, T32_SHIFT, "wDrM," },  /* REV, REV16, RBIT, REVSH */
	{ 0xfff0f0f0, 0xfaa0f080, T32_DSP, "wDrNrM,f" }, /* SEL */
	{ 0xfff0f0f0, 0xfab0f080, T32_SHIFT, "wDrM," },  /* CLZ */
	/* products */
	{ 0xfff0f0f0, 0xfb00f000, T32_MUL, "wDrNrM," },
	{ 0xfff000e0, 0xfb000000, T32_MLA, "wDrNrMcT," },
	{ 0xfff0f0c0, 0xfb10f000, T32_MUL, "wDrNrM," },
	{ 0xfff000c0, 0xfb100000, T32_MLA, "wDrNrMcT," },
	{ 0xfff0f0e0, 0xfb20f000, T32_MUL, "wDrNrM," },
	{ 0xfff000e0, 0xfb200000, T32_MLA, "wDrNrMcT," },
	{ 0xfff0f0e0, 0xfb30f000, T32_MUL, "wDrNrM," },
	{ 0xfff000e0, 0xfb300000, T32_MLA, "wDrNrMcT," },
	{ 0xfff0f0e0, 0xfb40f000, T32_MUL, "wDrNrM," },
	{ 0xfff000e0, 0xfb400000, T32_MLA, "wDrNrMcT," },
	{ 0xfff0f0e0, 0xfb50f000, T32_MUL, "wDrNrM," },
	{ 0xfff000e0, 0xfb500000, T32_MLA, "wDrNrMcT," },
	{ 0xfff000e0, 0xfb600000, T32_MLA, "wDrNrMcT," },
	{ 0xfff0f0f0, 0xfb70f000, T32_MUL, "wDrNrM," }, /* USAD8 */
	{ 0xfff000f0, 0xfb700000, T32_MLA, "wDrNrMcT," },
	{ 0xfff000f0, 0xfb800000, T32_MULL, "wTwDrNrM," },
	{ 0xfff000f0, 0xfba00000, T32_MULL, "wTwDrNrM," },
	{ 0xffd0f0f0, 0xfb90f0f0, T32_DIV, "wDrNrM," },
	{ 0xfff000f0, 0xfbc00000, T32_MLAL, "wTwDcTcDrNrM," },
	{ 0xfff000c0, 0xfbc00080, T32_MLAL, "wTwDcTcDrNrM," },
	{ 0xffe000e0, 0xfbc000c0, T32_MLAL, "wTwDcTcDrNrM," },
	{ 0xfff000f0, 0xfbe00000, T32_MLAL, "wTwDcTcDrNrM," },
	{ 0xfff000f0, 0xfbe00060, T32_MLAL, "wTwDcTcDrNrM," }, /* UMAAL */
	/* floating point: between its registers and the core's */
	{ 0xfff00ed0, 0xec400a10, T32_FPMOVE, "rTrN," },
	{ 0xfff00ed0, 0xec500a10, T32_FPMOVE, "wTwN," },
	{ 0xfff00f7f, 0xee000a10, T32_FPMOVE, "rT," },
	{ 0xfff00f7f, 0xee100a10, T32_FPMOVE, "wT," },
	{ 0xfff00fff, 0xeee00a10, T32_FPMOVE, "rT," },
	{ 0xfff00fff, 0xeef00a10, T32_FPMOVE, "wT," },
	{ 0xffd00f1f, 0xee000b10, T32_FPMOVE, "rT," },
	{ 0xffd00f1f, 0xee100b10, T32_FPMOVE, "wT," },
	/* loads and stores of its registers */
	{ 0xff3f0e00, 0xed1f0a00, T32_LOAD, "wF,4L" },
	{ 0xff300e00, 0xed000a00, T32_STORE, "sFaN,4" },
	{ 0xff300e00, 0xed100a00, T32_LOAD, "wFaN,4" },
	{ 0xff900e00, 0xec800a00, T32_STORES, "xN,4VW" },
	{ 0xff900e00, 0xec900a00, T32_LOADS, "xN,4VW" },
	{ 0xffb00e00, 0xed200a00, T32_STORES, "xN,4VW" },
	{ 0xffb00e00, 0xed300a00, T32_LOADS, "xN,4VW" },
	/* arithmetic */
	{ 0xffb00e10, 0xee000a00, T32_FPMLA, "wFcFrfrg," },
	{ 0xffb00e10, 0xee100a00, T32_FPMLA, "wFcFrfrg," },
	{ 0xffb00e10, 0xee200a00, T32_FPMUL, "wFrfrg," },
	{ 0xffb00e10, 0xee300a00, T32_FP, "wFrfrg," },
	{ 0xffb00e50, 0xee800a00, T32_FPDIV, "wFrfrg," },
	{ 0xffb00e10, 0xee900a00, T32_FPMLA, "wFcFrfrg," },
	{ 0xffb00e10, 0xeea00a00, T32_FPMLA, "wFcFrfrg," },
	{ 0xffb00ef0, 0xeeb00a00, T32_FP, "wF," },      /* VMOV of a constant */
	{ 0xffbf0ed0, 0xeeb10ac0, T32_FPDIV, "wFrg," }, /* VSQRT */
	{ 0xffbe0ed0, 0xeeb00a40, T32_FP, "wFrg," },
	{ 0xffbe0ed0, 0xeeb00ac0, T32_FP, "wFrg," },
	{ 0xffbf0e50, 0xeeb40a40, T32_FP, "rFrg,Z" }, /* VCMP */
	{ 0xffbf0e7f, 0xeeb50a40, T32_FP, "rF,Z" },
	{ 0xffbe0e50, 0xeeb20a40, T32_FP, "wFrg," }, /* VCVTB, VCVTT */
	{ 0xffbf0ed0, 0xeeb70ac0, T32_DOUBLE, "wFrg," },
	{ 0xffbe0e50, 0xeeb60a40, T32_FP, "wFrg," }, /* VRINT, VCVT between sizes */
	{ 0xffbf0e50, 0xeeb80a40, T32_FP, "wFrg," },
	{ 0xffba0e50, 0xeeba0a40, T32_FP, "wFrg," }, /* fixed point */
	{ 0xffbe0e50, 0xeebc0a40, T32_FP, "wFrg," },
	{ 0xff800e50, 0xfe000a00, T32_FP, "wFrfrg,f" }, /* VSEL */
	{ 0xffb00e10, 0xfe800a00, T32_FP, "wFrfrg," },  /* VMAXNM, VMINNM */
	{ 0xffb80e50, 0xfeb80a40, T32_FP, "wFrg," },    /* VRINTA and its like, VCVTA and its like */
};

const size_t t32_wide_count = sizeof(t32_wide) / sizeof(t32_wide[0]);
