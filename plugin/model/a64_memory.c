/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A64: loads and stores (Arm ARM, C4.1.94). */
#include "build.h"

static void moves_register(struct operation *operation, unsigned int number, bool vector)
{
	if (operation->store) {
		if (vector)
			reads_vector(operation, number, ROLE_DATA);
		else
			reads(operation, number, ROLE_DATA);
	} else if (vector) {
		writes_vector(operation, number);
	} else {
		writes(operation, number);
	}
}

static void address(struct operation *operation, unsigned int base, bool written_back)
{
	add_source(operation, base, ROLE_ADDRESS);
	if (written_back) {
		add_result(operation, base);
		operation->base_result = true;
	}
}

/* LD1 to ST4 of whole registers: how many, and whether elements change places. */
static void structures(struct operation *operation, uint32_t word)
{
	static const uint8_t registers[16] = { [0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2 };
	unsigned int opcode = field(word, 12, 4);
	bool plain = opcode == 2 || opcode == 6 || opcode == 7 || opcode == 10;

	operation->store = !bit(word, 22);
	operation->wide = bit(word, 30);
	operation->moves = registers[opcode];
	if (operation->store)
		operation->class = plain ? CLASS_vstore_multi : CLASS_vstore_struct;
	else if (plain)
		operation->class = CLASS_vload_multi;
	else
		operation->class = field(word, 10, 2) == 3 ? CLASS_vload_struct64 : CLASS_vload_struct;
	for (unsigned int i = 0; i < operation->moves; i++)
		moves_register(operation, (field(word, 0, 5) + i) % 32, true);
	if (bit(word, 23))
		reads(operation, field(word, 16, 5), ROLE_ADDRESS);
	address(operation, field(word, 5, 5), bit(word, 23));
}

/* LD1 to ST4 of one element, and LD1R to LD4R. */
static void lanes(struct operation *operation, uint32_t word)
{
	bool repeated = field(word, 14, 2) == 3;
	unsigned int registers = (bit(word, 13) << 1 | bit(word, 21)) + 1;

	operation->store = !bit(word, 22);
	operation->wide = bit(word, 30);
	operation->moves = (uint8_t)registers;
	operation->class = operation->store ? CLASS_vstore_lane : CLASS_vload_lane;
	for (unsigned int i = 0; i < registers; i++) {
		unsigned int number = (field(word, 0, 5) + i) % 32;

		moves_register(operation, number, true);
		if (!operation->store && !repeated)
			reads_vector(operation, number, ROLE_VALUE);
	}
	if (bit(word, 23))
		reads(operation, field(word, 16, 5), ROLE_ADDRESS);
	address(operation, field(word, 5, 5), bit(word, 23));
}

static void exclusive(struct operation *operation, uint32_t word)
{
	bool load = bit(word, 22);

	operation->class = CLASS_exclusive;
	operation->moves = 1;
	operation->store = !load;
	if (field(word, 24, 6) == 8 && bit(word, 23)) /* LDAR, STLR; of these CAS */
		operation->moves = 1;
	moves_register(operation, field(word, 0, 5), false);
	if (!load)
		writes(operation, field(word, 16, 5));
	address(operation, field(word, 5, 5), false);
}

static void literal(struct operation *operation, uint32_t word)
{
	bool vector = bit(word, 26);

	if (field(word, 30, 2) == 3 && !vector) {
		operation->class = CLASS_prefetch;
		return;
	}
	operation->class = vector ? CLASS_vload : CLASS_load;
	operation->moves = 1;
	operation->wide = vector && field(word, 30, 2) == 2;
	moves_register(operation, field(word, 0, 5), vector);
}

static void pair(struct operation *operation, uint32_t word)
{
	bool vector = bit(word, 26);

	operation->store = !bit(word, 22);
	operation->moves = 2;
	operation->wide = vector ? field(word, 30, 2) == 2 : bit(word, 31);
	if (vector)
		operation->class = operation->store ? CLASS_vstore_pair : CLASS_vload_pair;
	else
		operation->class = operation->store ? CLASS_store_pair : CLASS_load_pair;
	moves_register(operation, field(word, 0, 5), vector);
	moves_register(operation, field(word, 10, 5), vector);
	address(operation, field(word, 5, 5), bit(word, 23));
}

static void single(struct operation *operation, uint32_t word)
{
	bool vector = bit(word, 26);
	bool offset = bit(word, 24); /* an unsigned offset, no write-back */
	bool index = !offset && bit(word, 21) && field(word, 10, 2) == 2;

	if (!offset && bit(word, 21) && !index) { /* atomics of Armv8.1 */
		operation->class = CLASS_exclusive;
		operation->moves = 1;
		add_source(operation, field(word, 16, 5), ROLE_DATA);
		writes(operation, field(word, 0, 5));
		address(operation, field(word, 5, 5), false);
		return;
	}
	if (!vector && field(word, 30, 2) == 3 && field(word, 22, 2) == 2) {
		operation->class = CLASS_prefetch;
		address(operation, field(word, 5, 5), false);
		return;
	}
	operation->store = vector ? !bit(word, 22) : !field(word, 22, 2);
	operation->moves = 1;
	operation->wide = vector && bit(word, 23);
	if (vector)
		operation->class = operation->store ? CLASS_vstore : CLASS_vload;
	else if (operation->store)
		operation->class = index ? CLASS_store_index : CLASS_store;
	else
		operation->class = index ? CLASS_load_index : CLASS_load;
	moves_register(operation, field(word, 0, 5), vector);
	if (index)
		reads(operation, field(word, 16, 5), ROLE_ADDRESS);
	address(operation, field(word, 5, 5), !offset && !bit(word, 21) && bit(word, 10));
}

void a64_memory(struct operation *operation, uint32_t word)
{
	switch (field(word, 28, 2)) {
	case 0:
		if (!bit(word, 26))
			exclusive(operation, word);
		else if (bit(word, 24))
			lanes(operation, word);
		else
			structures(operation, word);
		break;
	case 1:
		if (!bit(word, 24))
			literal(operation, word);
		else if (!bit(word, 21))
			exclusive(operation, word); /* LDAPUR, STLUR */
		break;
	case 2:
		pair(operation, word);
		break;
	default:
		single(operation, word);
		break;
	}
}
