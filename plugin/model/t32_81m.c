/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T32 of Armv8.1-M: low-overhead loops, conditional selects, shifts of two registers, and vectors (MVE), as far as their
 * time goes. Arm DDI 0553, C2. The first encoding that fits is the one; a word of none is left to t32_operation. A quad
 * register is two double ones, and the predicate of lanes is the register of parallel flags.
 */
#include <stddef.h>

#include "build.h"
#include "operation.h"

struct encoding {
	uint32_t mask;
	uint32_t value;
	enum operation_class class;
	const char *operands; /* a role and a field each: see `take` */
};

static const struct encoding encodings[] = {
	{ 0xfff0ffff, 0xf040e001, CLASS_alu, "rNwl" },      /* DLS */
	{ 0xfff0f001, 0xf040c001, CLASS_branch, "rNwl" },   /* WLS */
	{ 0xfffff001, 0xf00fc001, CLASS_hint, "rlwl" },     /* LE */
	{ 0xfffff001, 0xf02fc001, CLASS_hint, "" },         /* LE without a count */
	{ 0xfffff001, 0xf01fc001, CLASS_hint, "rlwl" },     /* LETP */
	{ 0xffffffff, 0xf00fe001, CLASS_f_flags, "wp" },    /* LCTP */
	{ 0xffc0ffff, 0xf000e801, CLASS_f_flags, "rNwp" },  /* VCTP */
	{ 0xffc0ffff, 0xf000e001, CLASS_alu, "rNwlwp" },    /* DLSTP */
	{ 0xffc0f001, 0xf000c001, CLASS_branch, "rNwlwp" }, /* WLSTP */
	{ 0xfff0c000, 0xea508000, CLASS_select, "rNrMwDrf" },
	{ 0xfff1810f, 0xea50010d, CLASS_alu_shift_reg, "rerorTwewo" }, /* ASRL, LSLL of a register */
	{ 0xfff1801f, 0xea51010d, CLASS_alu_shift_reg, "rerorTwewo" },
	{ 0xfff0800f, 0xea50000d, CLASS_saturate, "rNrTwN" },
	{ 0xfff08f0f, 0xea500f0f, CLASS_saturate, "rNwN" },
	{ 0xfff0800f, 0xea50000f, CLASS_alu_shift_reg, "rerowewo" },
	{ 0xffff2000, 0xe89f0000, CLASS_alu, "" }, /* CLRM */
	/* loads and stores: several vectors, of lanes' addresses, of one address */
	{ 0xff901e00, 0xfc901e00, CLASS_vload_struct, "aNwdW" },
	{ 0xff901e00, 0xfc801e00, CLASS_vstore_struct, "aNsdW" },
	{ 0xff101e00, 0xfd101e00, CLASS_vload_lane, "anwd" },
	{ 0xff101e00, 0xfd001e00, CLASS_vstore_lane, "ansd" },
	{ 0xeff01e00, 0xec900e00, CLASS_vload_lane, "aNamwd" },
	{ 0xeff01e00, 0xec800e00, CLASS_vstore_lane, "aNamsd" },
	{ 0xffb01fe0, 0xec000f00, CLASS_v_to_core, "rdwMwN" }, /* two lanes */
	{ 0xffb01fe0, 0xec100f00, CLASS_v_from_core, "rMrNrdwd" },
	{ 0xfe101e00, 0xec101e00, CLASS_vload, "aNwdW" },
	{ 0xfe101e00, 0xec001e00, CLASS_vstore, "aNsdW" },
	{ 0xee101e00, 0xec100e00, CLASS_vload, "aiwdW" },
	{ 0xee101e00, 0xec000e00, CLASS_vstore, "aisdW" },
	/* comparisons, selects and predicates; those of size 3 before all others */
	{ 0xffffffff, 0xfe310f4d, CLASS_f_flags, "rpwp" },      /* VPNOT */
	{ 0xffb11fff, 0xfe310f4d, CLASS_f_flags, "wp" },        /* VPST */
	{ 0xffb11f51, 0xfe310f01, CLASS_v_select, "rnrmrpwd" }, /* VPSEL */
	{ 0xefb10f50, 0xee310f00, CLASS_f_compare, "rnrmwp" },
	{ 0xefb10f50, 0xee310f40, CLASS_f_compare, "rnrMwp" },
	{ 0xff810f40, 0xfe010f00, CLASS_v_compare, "rnrmwp" }, /* VCMP, VPT */
	{ 0xff810f40, 0xfe010f40, CLASS_v_compare, "rnrMwp" },
	/* sums across a vector */
	{ 0xeff10fd1, 0xeef10f00, CLASS_v_pairwise, "rmcTwT" },          /* VADDV */
	{ 0xef8f0fd1, 0xee890f00, CLASS_v_pairwise_long, "rmcTcHwTwH" }, /* VADDLV */
	{ 0xeff10f51, 0xeee00f00, CLASS_v_reduce, "rmcTwT" },            /* VMAXV, VMINV and their like */
	{ 0xefc10f51, 0xee800f01, CLASS_v_absdiff_acc, "rnrmcTwT" },     /* VABAV */
	{ 0xffe00ff0, 0xeea00fc0, CLASS_v_shift_insert, "rMrdwdwM" },    /* VSHLC */
	{ 0xefa00fd1, 0xee800fc1, CLASS_v_shift_narrow, "rmrdwd" },      /* VSHRN and its like */
	{ 0xefa00fd1, 0xeea00f40, CLASS_v_shift_long, "rmwd" },          /* VSHLL, VMOVL */
	{ 0xeff00f50, 0xeef00f00, CLASS_v_mla, "rnrmcTwT" },             /* VMLADAV, VMLSDAV */
	{ 0xeff00f50, 0xeef00e00, CLASS_v_mla, "rnrmcTwT" },
	{ 0xef800f50, 0xee800e00, CLASS_v_mlal, "rnrmcTcHwTwH" }, /* VMLALDAV and those that round */
	{ 0xef800f50, 0xee800f00, CLASS_v_mlal, "rnrmcTcHwTwH" },
	/* a vector and a scalar */
	{ 0xefb11f70, 0xee311e60, CLASS_v_shift_reg, "rdrMwd" }, /* VSHL and its like */
	{ 0xefb11f70, 0xee310e60, CLASS_f_mul, "rnrMwd" },
	{ 0xefb10f70, 0xee310e40, CLASS_f_mac, "rnrMcdwd" }, /* VFMA, VFMAS */
	{ 0xefb10f70, 0xee300f40, CLASS_f_add, "rnrMwd" },
	{ 0xefb10f70, 0xee300f60, CLASS_v_mull, "rnrMwd" }, /* VQDMULL */
	{ 0xff811f70, 0xfe011e60, CLASS_v_add, "rnrMwd" },  /* VBRSR */
	{ 0xff811f70, 0xee011e60, CLASS_v_mul, "rnrMwd" },
	{ 0xef811f70, 0xee010e60, CLASS_v_mulh, "rnrMwd" },  /* VQDMULH */
	{ 0xef810f70, 0xee010e40, CLASS_v_mla, "rnrMcdwd" }, /* VMLA, VMLAS */
	{ 0xef810f70, 0xee000e60, CLASS_v_mla, "rnrMcdwd" }, /* VQDMLAH */
	{ 0xef810f70, 0xee000e40, CLASS_v_mla, "rnrMcdwd" },
	{ 0xff810f70, 0xee010f60, CLASS_v_dup, "wd" }, /* VIDUP, VDDUP and those that wrap */
	{ 0xff810f70, 0xee010f40, CLASS_v_add, "rnrMwd" },
	{ 0xef810f50, 0xee000f40, CLASS_v_add, "rnrMwd" },
	/* narrowing, and products of two vectors */
	{ 0xefbf0fd1, 0xee3f0e01, CLASS_f_convert, "rmrdwd" }, /* VCVTB, VCVTT */
	{ 0xffb31fd1, 0xee330e81, CLASS_v_add, "rmrdwd" },     /* VMAXA, VMINA */
	{ 0xffb31fd1, 0xee331e81, CLASS_v_add, "rmrdwd" },
	{ 0xefb30fd1, 0xee330e01, CLASS_v_narrow, "rmrdwd" }, /* VQMOVN */
	{ 0xefb30fd1, 0xee310e81, CLASS_v_narrow, "rmrdwd" }, /* VMOVN, VQMOVUN */
	{ 0xefb30fd1, 0xee310e01, CLASS_v_shift_long, "rmwd" },
	{ 0xefb10f51, 0xee310e00, CLASS_v_pmull, "rnrmwd" },
	{ 0xefb00f50, 0xee300e00, CLASS_f_mul, "rnrmwd" }, /* VCMUL */
	{ 0xef810f51, 0xee010e01, CLASS_v_mulh, "rnrmwd" },
	{ 0xef810f51, 0xee010e00, CLASS_v_mull, "rnrmwd" },
	{ 0xef810f50, 0xee000e00, CLASS_v_mla, "rnrmcdwd" },         /* VQDMLADH */
	{ 0xefb10f51, 0xee300f00, CLASS_v_shift_reg, "rnrmrpwdwp" }, /* VADC, VSBC */
	{ 0xefb10f51, 0xee300f01, CLASS_v_mull, "rnrmwd" },          /* VQDMULL */
	/* moves from and to the core's registers */
	{ 0xffb10f5f, 0xeea00b10, CLASS_v_dup, "rTwn" },
	{ 0xff900f1f, 0xee000b10, CLASS_v_from_core, "rTrnwn" },
	{ 0xff100f1f, 0xee100b10, CLASS_v_to_core, "rnwT" },
	/* two vectors */
	{ 0xee810f50, 0xee000f00, CLASS_v_add, "rnrmwd" }, /* VHCADD, VCADD */
	{ 0xff811f50, 0xef000950, CLASS_v_mul, "rnrmwd" },
	{ 0xef811f50, 0xef000b40, CLASS_v_mulh, "rnrmwd" },  /* VQDMULH, VQRDMULH */
	{ 0xff811f50, 0xef000c50, CLASS_f_mac, "rnrmcdwd" }, /* VFMA, VFMS */
	{ 0xff811f50, 0xff000d50, CLASS_f_mul, "rnrmwd" },
	{ 0xef811f50, 0xef000d40, CLASS_f_add, "rnrmwd" },   /* VADD, VSUB, VABD */
	{ 0xff811f50, 0xff000f50, CLASS_f_add, "rnrmwd" },   /* VMAXNM, VMINNM */
	{ 0xfe201f50, 0xfc200840, CLASS_f_mac, "rnrmcdwd" }, /* VCMLA */
	{ 0xfea01f51, 0xfc800840, CLASS_f_add, "rnrmwd" },   /* VCADD */
	{ 0xef811e40, 0xef000440, CLASS_v_shift_reg, "rmrnwd" },
	{ 0xef811f50, 0xef000150, CLASS_v_logic, "rnrmwd" },
	{ 0xef811040, 0xef000040, CLASS_v_add, "rnrmwd" },
	/* one vector */
	{ 0xefb80090, 0xef800010, CLASS_v_immediate, "wd" },
	{ 0xffb31e51, 0xffb30640, CLASS_f_convert, "rmwd" }, /* VCVT of integers */
	{ 0xffb31c51, 0xffb30040, CLASS_f_convert, "rmwd" },
	{ 0xffb31c51, 0xffb20440, CLASS_f_convert, "rmwd" }, /* VRINT */
	{ 0xffb31f51, 0xffb10740, CLASS_f_add, "rmwd" },     /* VABS, VNEG */
	{ 0xffb01051, 0xffb00040, CLASS_v_abs, "rmwd" },     /* VREV, VABS, VNEG, VCLZ, VMVN */
	{ 0xef8010d1, 0xef800050, CLASS_v_shift_imm, "rmwd" },
};

static void take_vector(struct operation *operation, char role, unsigned int number)
{
	enum role as = role == 'c'   ? ROLE_ACCUMULATE
		       : role == 's' ? ROLE_DATA
		       : role == 'a' ? ROLE_ADDRESS
				     : ROLE_VALUE;

	for (unsigned int half = 2 * number; half < 2 * number + 2; half++) {
		if (role == 'w')
			writes_vector(operation, half);
		else
			reads_vector(operation, half, as);
	}
}

static void take_core(struct operation *operation, char role, unsigned int number)
{
	enum role as = role == 'c' ? ROLE_ACCUMULATE : role == 'a' ? ROLE_ADDRESS : ROLE_VALUE;

	if (role == 'w')
		writes_core(operation, number);
	else
		reads_core(operation, number, as);
}

static void take(struct operation *operation, uint32_t word, char role, char what)
{
	switch (what) {
	case 'd':
		take_vector(operation, role, field(word, 13, 3));
		break;
	case 'n':
		take_vector(operation, role, field(word, 17, 3));
		break;
	case 'm':
		take_vector(operation, role, field(word, 1, 3));
		break;
	case 'p':
		if (role == 'w')
			add_result(operation, REGISTER_PARALLEL_FLAGS);
		else
			add_source(operation, REGISTER_PARALLEL_FLAGS, ROLE_VALUE);
		break;
	case 'f':
		add_source(operation, REGISTER_FLAGS, ROLE_VALUE);
		break;
	case 'N':
		take_core(operation, role, field(word, 16, 4));
		break;
	case 'M':
		take_core(operation, role, field(word, 0, 4));
		break;
	case 'T':
		take_core(operation, role, field(word, 12, 4));
		break;
	case 'D':
		take_core(operation, role, field(word, 8, 4));
		break;
	case 'H':
		take_core(operation, role, field(word, 20, 3) << 1 | 1);
		break;
	case 'e':
		take_core(operation, role, field(word, 17, 3) << 1);
		break;
	case 'o':
		take_core(operation, role, field(word, 9, 3) << 1 | 1);
		break;
	case 'i': /* an address of the low registers */
		take_core(operation, role, field(word, 16, 3));
		break;
	default: /* the link register */
		take_core(operation, role, 14);
	}
}

/* What a load or store moves, in double registers, and the address that it writes back. */
static void complete(struct operation *operation, uint32_t word, bool writes_back)
{
	operation->store = operation->class == CLASS_vstore || operation->class == CLASS_vstore_lane ||
			   operation->class == CLASS_vstore_struct;
	if (operation->store || operation->class == CLASS_vload || operation->class == CLASS_vload_lane ||
	    operation->class == CLASS_vload_struct)
		operation->moves = 2;
	if (writes_back && bit(word, 21))
		writes_back_core(operation, field(word, 16, 4));
	if (operation->class == CLASS_branch)
		operation->branch = BRANCH_IF;
}

bool t32_81m_operation(uint32_t word, struct operation *operation)
{
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
		const char *text = encodings[i].operands;

		if ((word & encodings[i].mask) != encodings[i].value)
			continue;
		*operation = (struct operation){ .class = (uint8_t)encodings[i].class, .bytes = 4 };
		for (; *text && *text != 'W'; text += 2)
			take(operation, word, text[0], text[1]);
		complete(operation, word, *text == 'W');
		return true;
	}
	return false;
}
