/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction does, as far as its time depends on it. */
#ifndef WORLDWISE_OPERATION_H
#define WORLDWISE_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The classes of instructions of the A profile, by the names that cores/ uses. A class is twice in a core's table: by
 * its name, and with "_q" for the form that works on 128 bits, of pairs for two times 64, and of products for one that
 * is added to a sum; where the second is not there, the first serves. Those of the last lines are of A32 and T32 alone,
 * but for vload_struct64: LD2 to LD4 of elements of 64 bits, for which vload_struct serves where it is not there.
 */
/* clang-format off */
#define CLASSES(X) \
	X(alu) X(alu_flags) X(alu_carry) X(alu_shift_small) X(alu_shift) X(logic) X(logic_flags) \
	X(logic_shift) X(move) X(address) X(bitfield) X(insert) X(extract) X(rotate) X(shift) X(select) \
	X(compare_if) X(count) X(reverse) X(mul32) X(mul64) X(mull) X(mulh) X(div32) X(div64) X(crc) \
	X(pointer_code) X(load) X(load_index) X(load_pair) X(store) X(store_index) X(store_pair) X(vload) \
	X(vload_pair) X(vload_multi) X(vload_lane) X(vload_struct) X(vstore) X(vstore_pair) \
	X(vstore_multi) X(vstore_lane) X(vstore_struct) X(prefetch) X(branch) X(branch_if) X(branch_zero) \
	X(call) X(ret) X(jump) X(v_add) X(v_logic) X(v_move) X(v_immediate) X(v_select) X(v_compare) \
	X(v_minmax) X(v_abs) X(v_absdiff) X(v_absdiff_acc) X(v_pairwise) X(v_pairwise_long) \
	X(v_pairwise_acc) X(v_reduce) X(v_long) X(v_high_narrow) X(v_shift_imm) X(v_shift_long) \
	X(v_shift_narrow) X(v_shift_acc) X(v_shift_insert) X(v_shift_reg) X(v_saturate) X(v_narrow) \
	X(v_mul) X(v_mla) X(v_mull) X(v_mlal) X(v_mulh) X(v_pmull) X(v_pmull64) X(v_extract) X(v_zip) \
	X(v_trn) X(v_reverse) X(v_table) X(v_count) X(v_dup) X(v_from_core) X(v_insert_core) X(v_insert) \
	X(v_to_core) X(f_move) X(f_add) X(f_compare) X(f_mul) X(f_mac) X(f_div32) X(f_div64) X(f_convert) \
	X(f_to_core) X(f_from_core) X(aes) X(aes_mix) X(sha1) X(sha256) X(sha256_schedule) X(sha3) \
	X(sha512) X(hint) X(barrier) X(exclusive) X(system) X(trap) X(unknown) \
	X(alu_imm) X(alu_shift_reg) X(shift_imm) X(extend) X(extend_add) X(pack) X(parallel) X(saturate) \
	X(mla32) X(mul16) X(mlal) X(umaal) X(load_shift) X(load_byte) X(load_byte_index) X(load_byte_shift) \
	X(load_multi) X(store_multi) X(f_flags) X(vload_struct64)
/* clang-format on */

#define CLASS_NAME(name) CLASS_##name,
enum operation_class { CLASSES(CLASS_NAME) CLASS_COUNT };
#undef CLASS_NAME

/* What an operand is for. */
enum role {
	ROLE_VALUE,
	ROLE_SHIFTED,    /* goes through the shifter first */
	ROLE_ACCUMULATE, /* added to a product or sum at the end */
	ROLE_ADDRESS,
	ROLE_DATA, /* what a store writes */
	ROLES
};

enum branch_kind {
	BRANCH_NONE,
	BRANCH_DIRECT,
	BRANCH_IF,
	BRANCH_CALL,
	BRANCH_CALL_REGISTER,
	BRANCH_JUMP,
	BRANCH_RETURN
};

/*
 * Registers: 0 to 30 the core's, 31 the stack pointer, 32 to 63 the vectors', 64 the flags. Of A32 and T32: 0 to 14 the
 * core's, 32 to 63 d0 to d31, of which a single register is half and a quad register two; 65 the flags of floating
 * point, 66 those of parallel additions.
 */
#define REGISTER_VECTOR 32u
#define REGISTER_FLAGS 64u
#define REGISTER_FLOAT_FLAGS 65u
#define REGISTER_PARALLEL_FLAGS 66u
#define REGISTERS 67u

/* The most are those of a load or store of sixteen registers, its address, and the flags. */
#define MOST_SOURCES 36
#define MOST_RESULTS 18

struct operation {
	uint8_t class;
	bool wide; /* works on 128 bits */
	uint8_t branch;
	uint8_t sources;
	uint8_t results;
	uint8_t moves; /* registers that a load or store moves; 0 if it is none */
	bool store;
	bool base_result; /* the last result is the address register, written back */
	uint8_t bytes;    /* of the instruction */
	bool conditional; /* may do nothing: it then keeps what it would have written */
	uint8_t index;    /* of T32: the register that is added to a base to make the address, plus one; 0 for none */
	uint8_t source[MOST_SOURCES];
	uint8_t role[MOST_SOURCES];
	uint8_t result[MOST_RESULTS];
};

/* The A64 instruction `word`. One that is not known gets the class `unknown`. */
struct operation a64_operation(uint32_t word);

/* The A32 instruction `word`. */
struct operation a32_operation(uint32_t word);
/* The T32 instruction at `bytes`, of Armv7-A; `if_then`: in the block of an IT. */
struct operation t32_operation(const uint8_t *bytes, bool if_then);
/* A T32 word of Armv8.1-M that no older core has: loops, selects, vectors (MVE). False for all others. */
bool t32_81m_operation(uint32_t word, struct operation *operation);
/* How many instructions behind it depend on the flags, if the T32 instruction at `bytes` is an IT; else 0. */
unsigned int t32_if_then(const uint8_t *bytes);

/* Whether the core's validation says nothing about the class: barriers, atomics, system registers, what is unknown. */
static inline bool class_is_outside(uint8_t class)
{
	return class == CLASS_barrier || class == CLASS_exclusive || class == CLASS_system || class == CLASS_trap ||
	       class == CLASS_unknown;
}

/* The name of a class, and the class of a name; CLASS_COUNT if there is none. */
const char *class_name(unsigned int class);
unsigned int class_of_name(const char *name);

#endif /* WORLDWISE_OPERATION_H */
