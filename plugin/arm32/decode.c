/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decode.h"

#include "../aarch64/kinds.h"
#include "../model/operation.h"
#include "../model/t32.h"

#define SP 13u
#define LR 14u
#define PC 15u
/* What the program counter reads as, behind the instruction. */
#define AHEAD_T32 4u
#define AHEAD_A32 8u
/* SG, twice this half: behind it the stack is the secure state's. */
#define SECURE_GATEWAY 0xe97fu

static uint32_t bits(uint32_t word, unsigned int low, unsigned int count)
{
	return word >> low & ((1u << count) - 1);
}

static uint32_t sign_extended(uint32_t value, unsigned int count)
{
	return value & 1u << (count - 1) ? value | ~((1u << count) - 1) : value;
}

static int32_t words(uint32_t list)
{
	int32_t count = 0;

	for (; list; list &= list - 1)
		count++;
	return 4 * count;
}

static void branch(struct direction *to, enum flow flow, uint64_t address, uint32_t offset)
{
	to->flow = flow;
	to->target = (uint32_t)address + offset;
}

/* By the register of that number. */
static enum flow jump(uint32_t number)
{
	return number == LR ? FLOW_RETURN : FLOW_JUMP_REGISTER;
}

static void narrow_flow(struct direction *to, uint32_t half, uint64_t pc)
{
	if ((half & 0xf000) == 0xd000 && bits(half, 8, 4) < 14)
		branch(to, FLOW_PLAIN, pc, sign_extended(bits(half, 0, 8) << 1, 9));
	else if ((half & 0xff00) == 0xdf00)
		to->flow = FLOW_TRAP;
	else if ((half & 0xf800) == 0xe000)
		branch(to, FLOW_PLAIN, pc, sign_extended(bits(half, 0, 11) << 1, 12));
	else if ((half & 0xf500) == 0xb100) /* CBZ, CBNZ */
		branch(to, FLOW_PLAIN, pc, bits(half, 9, 1) << 6 | bits(half, 3, 5) << 1);
	else if ((half & 0xff83) == 0x4700) /* BX, BXNS */
		to->flow = jump(bits(half, 3, 4));
	else if ((half & 0xff83) == 0x4780) /* BLX, BLXNS */
		to->flow = FLOW_CALL_REGISTER;
	else if ((half & 0xff87) == 0x4687) /* MOV pc */
		to->flow = jump(bits(half, 3, 4));
	else if ((half & 0xff87) == 0x4487) /* ADD pc */
		to->flow = FLOW_JUMP_REGISTER;
	else if ((half & 0xff00) == 0xbd00) /* POP with pc */
		to->flow = FLOW_RETURN;
}

/* CLRM and VSCCLRM of Armv8.1-M clear registers; Armv7 would load them there, from pc, which is no address for it. */
static bool clears_registers(uint32_t first, uint32_t second)
{
	return first == 0xe89f || ((first & 0xffbf) == 0xec9f && (second & 0x0e00) == 0x0a00);
}

/* Loads and stores of Armv8.1-M's vectors and system registers, which stand where Armv7 has those of coprocessors 14, 15. */
static bool moves_vectors_or_system(uint32_t first, uint32_t second)
{
	return (first & 0xee00) == 0xec00 && first & 0x01a0 && (second & 0x0e00) == 0x0e00;
}

static char wide_kind(char of_armv7, uint32_t first, uint32_t second)
{
	if (clears_registers(first, second))
		return KIND_OTHER;
	if (moves_vectors_or_system(first, second))
		return first & 0x10 ? KIND_LOAD : KIND_STORE;
	return of_armv7;
}

/* Loops of Armv8.1-M, which stand where BLX has a bit that must be zero (DDI 0553, C2.4: LE, WLS, DLS). */
static void loop(struct direction *to, uint32_t first, uint32_t second, uint64_t pc)
{
	uint32_t offset = bits(second, 1, 10) << 2 | bits(second, 11, 1) << 1;

	if ((second & 0xf000) == 0xc000)
		branch(to, FLOW_PLAIN, pc, (first & 15) == PC ? 0u - offset : offset);
}

/* Arm ARM for Armv7, A6.3.4: branches and miscellaneous control. */
static void wide_branch(struct direction *to, uint32_t first, uint32_t second, uint64_t pc)
{
	uint32_t sign = bits(first, 10, 1);
	uint32_t high = (sign ^ bits(second, 13, 1) ^ 1) << 23 | (sign ^ bits(second, 11, 1) ^ 1) << 22;
	uint32_t offset = sign_extended(sign << 24 | high | bits(first, 0, 10) << 12 | bits(second, 0, 11) << 1, 25);

	switch (second & 0xd000) {
	case 0xd000:
		branch(to, FLOW_CALL, pc, offset);
		break;
	case 0xc000: /* BLX: to A32, whose instructions stand at multiples of four */
		branch(to, FLOW_CALL, pc & ~UINT64_C(3), offset);
		break;
	case 0x9000:
		branch(to, FLOW_PLAIN, pc, offset);
		break;
	default:
		if (bits(first, 6, 4) >= 14)
			return;
		offset = sign << 20 | bits(second, 11, 1) << 19 | bits(second, 13, 1) << 18 | bits(first, 0, 6) << 12;
		branch(to, FLOW_PLAIN, pc, sign_extended(offset | bits(second, 0, 11) << 1, 21));
	}
}

static void wide_flow(struct direction *to, uint32_t first, uint32_t second, uint64_t pc)
{
	if ((first & 0xf800) == 0xf000 && (second & 0xd001) == 0xc001)
		loop(to, first, second, pc);
	else if ((first & 0xf800) == 0xf000 && second & 0x8000)
		wide_branch(to, first, second, pc);
	else if ((first & 0xfe50) == 0xe810 && second & 0x8000 && !clears_registers(first, second)) /* LDM with pc */
		to->flow = FLOW_RETURN;
	else if ((first & 0xff70) == 0xf850 && second >> 12 == PC) /* LDR pc */
		to->flow = (first & 15) == SP ? FLOW_RETURN : FLOW_JUMP_REGISTER;
	else if ((first & 0xfff0) == 0xe8d0 && (second & 0xffe0) == 0xf000) /* TBB, TBH */
		to->flow = FLOW_JUMP_REGISTER;
}

static bool narrow_stack(struct direction *to, uint32_t half)
{
	if ((half & 0xfe00) == 0xb400)
		to->stack = -words(half & 0x1ff);
	else if ((half & 0xfe00) == 0xbc00)
		to->stack = words(half & 0x1ff);
	else if ((half & 0xff80) == 0xb000)
		to->stack = (int32_t)(4 * bits(half, 0, 7));
	else if ((half & 0xff80) == 0xb080)
		to->stack = -(int32_t)(4 * bits(half, 0, 7));
	else
		return false;
	return true;
}

/* A modified immediate constant (Arm ARM for Armv7, A6.3.2). */
static uint32_t expanded(uint32_t constant)
{
	uint32_t byte = constant & 0xff;
	unsigned int turns = constant >> 7;

	if (constant >> 10)
		return (byte | 0x80) >> turns | (byte | 0x80) << (32 - turns);
	return constant >> 8 == 0   ? byte
	       : constant >> 8 == 1 ? byte * 0x10001
	       : constant >> 8 == 2 ? byte * 0x1000100
				    : byte * 0x1010101;
}

static bool wide_stack(struct direction *to, uint32_t first, uint32_t second)
{
	uint32_t constant = bits(first, 10, 1) << 11 | bits(second, 12, 3) << 8 | bits(second, 0, 8);
	bool to_stack = (second & 0x8f00) == SP << 8;
	/* Of floating-point registers; those of the system are one, and a sign stands above their offset. */
	int32_t moved = (int32_t)(4 * bits(second, 0, (second & 0x0f80) == 0x0f80 ? 7 : 8));

	if (first == 0xe92d) /* STMDB sp! */
		to->stack = -words(second);
	else if (first == 0xe8bd) /* LDM sp! */
		to->stack = words(second);
	else if ((first & 0xffbf) == 0xed2d) /* VPUSH, VSTR of a system register */
		to->stack = -moved;
	else if ((first & 0xffbf) == 0xecbd)
		to->stack = moved;
	else if ((first & 0xfe0f) == 0xf80d && (second & 0x0900) == 0x0900) /* one register, written back */
		to->stack = (second & 0x200 ? 1 : -1) * (int32_t)bits(second, 0, 8);
	else if ((first & 0xfe6f) == 0xe86d && first & 0x20) /* two */
		to->stack = (first & 0x80 ? 1 : -1) * (int32_t)(4 * bits(second, 0, 8));
	else if ((first & 0xfbef) == 0xf10d && to_stack) /* ADD.W */
		to->stack = (int32_t)expanded(constant);
	else if ((first & 0xfbef) == 0xf1ad && to_stack)
		to->stack = -(int32_t)expanded(constant);
	else if ((first & 0xfbff) == 0xf20d && to_stack) /* ADDW */
		to->stack = (int32_t)constant;
	else if ((first & 0xfbff) == 0xf2ad && to_stack)
		to->stack = -(int32_t)constant;
	else
		return false;
	return true;
}

/* Arm ARM for Armv7, A5. */
static void a32_flow(struct direction *to, uint32_t word, uint64_t pc)
{
	uint32_t offset = sign_extended(bits(word, 0, 24) << 2, 26);
	bool multiplies = !bits(word, 25, 1) && bits(word, 4, 1) && bits(word, 7, 1);

	if (word >> 28 == 15) {
		if ((word & 0xfe000000) == 0xfa000000) /* BLX: to T32 */
			branch(to, FLOW_CALL, pc, offset + bits(word, 24, 1) * 2);
	} else if ((word & 0x0e000000) == 0x0a000000) {
		branch(to, bits(word, 24, 1) ? FLOW_CALL : FLOW_PLAIN, pc, offset);
	} else if ((word & 0x0ffffff0) == 0x012fff10) {
		to->flow = jump(word & 15);
	} else if ((word & 0x0ffffff0) == 0x012fff30) {
		to->flow = FLOW_CALL_REGISTER;
	} else if ((word & 0x0f000000) == 0x0f000000) {
		to->flow = FLOW_TRAP;
	} else if ((word & 0x0e108000) == 0x08108000) { /* LDM with pc */
		to->flow = FLOW_RETURN;
	} else if ((word & 0x0c10f000) == 0x0410f000) { /* LDR pc */
		to->flow = bits(word, 16, 4) == SP ? FLOW_RETURN : FLOW_JUMP_REGISTER;
	} else if ((word & 0x0c00f000) == 0x0000f000 && bits(word, 23, 2) != 2 && !multiplies) {
		to->flow = (word & 0x0fffffff) == 0x01a0f00e ? FLOW_RETURN : FLOW_JUMP_REGISTER;
	}
}

static bool a32_stack(struct direction *to, uint32_t word)
{
	uint32_t constant = bits(word, 0, 8);
	unsigned int turns = 2 * bits(word, 8, 4);

	constant = turns ? constant >> turns | constant << (32 - turns) : constant;
	if ((word & 0xffff0000) == 0xe92d0000)
		to->stack = -words(word & 0xffff);
	else if ((word & 0xffff0000) == 0xe8bd0000)
		to->stack = words(word & 0xffff);
	else if ((word & 0xffbf0e00) == 0xed2d0a00)
		to->stack = -(int32_t)(4 * bits(word, 0, 8));
	else if ((word & 0xffbf0e00) == 0xecbd0a00)
		to->stack = (int32_t)(4 * bits(word, 0, 8));
	else if ((word & 0xffff0fff) == 0xe52d0004)
		to->stack = -4;
	else if ((word & 0xffff0fff) == 0xe49d0004)
		to->stack = 4;
	else if ((word & 0xfffff000) == 0xe28dd000)
		to->stack = (int32_t)constant;
	else if ((word & 0xfffff000) == 0xe24dd000)
		to->stack = -(int32_t)constant;
	else
		return false;
	return true;
}

static bool writes_stack_pointer(const struct operation *operation)
{
	for (unsigned int i = 0; i < operation->results; i++)
		if (operation->result[i] == SP)
			return true;
	return false;
}

struct direction direction_of(enum instruction_set set, const uint8_t *bytes, uint64_t address, bool if_then)
{
	struct operation operation = set == SET_T32 ? t32_operation(bytes, if_then) : a32_operation(decode_word(bytes));
	struct direction to = { .flow = FLOW_PLAIN, .kind = kind_of(&operation), .bytes = 4 };
	uint32_t first = bytes[0] | (uint32_t)bytes[1] << 8;
	bool gateway = false;
	bool known;

	if (set == SET_A32) {
		a32_flow(&to, decode_word(bytes), address + AHEAD_A32);
		known = a32_stack(&to, decode_word(bytes));
	} else if (t32_bytes((uint16_t)first) == 2) {
		to.bytes = 2;
		narrow_flow(&to, first, address + AHEAD_T32);
		known = narrow_stack(&to, first);
	} else {
		uint32_t second = bytes[2] | (uint32_t)bytes[3] << 8;

		wide_flow(&to, first, second, address + AHEAD_T32);
		known = wide_stack(&to, first, second);
		to.kind = wide_kind(to.kind, first, second);
		gateway = first == SECURE_GATEWAY && second == SECURE_GATEWAY;
	}
	to.moves_stack = gateway || (known ? if_then : writes_stack_pointer(&operation));
	return to;
}
