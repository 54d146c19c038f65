/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "predictor.h"

#include <stddef.h>
#include <string.h>

static const unsigned int history_bits[HISTORIES] = { 8, 24, 60 };

void predictor_forget(struct predictor *predictor, uint32_t returns)
{
	memset(predictor, 0, sizeof(*predictor));
	memset(predictor->counters, 1, sizeof(predictor->counters));
	predictor->return_limit = returns && returns < MOST_RETURNS ? returns : MOST_RETURNS;
}

/* The history's last `bits`, folded with the address. */
static uint32_t fold(uint64_t pc, uint64_t history, unsigned int bits)
{
	uint64_t mixed = history & ((UINT64_C(1) << bits) - 1);

	mixed = (mixed ^ (pc >> 2) * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(mixed >> 32);
}

static void count(uint8_t *counter, bool up, uint8_t most)
{
	if (up && *counter < most)
		(*counter)++;
	else if (!up && *counter)
		(*counter)--;
}

/* After a wrong guess a table with a longer history takes the branch. */
static void allocate(struct predictor *predictor, const uint32_t *hashes, int from, bool taken)
{
	for (int i = from; i < HISTORIES; i++) {
		struct tagged *entry = &predictor->tagged[i][hashes[i] % TAGGED];

		if (!entry->useful) {
			entry->tag = (uint16_t)(hashes[i] >> 16 | 1);
			entry->counter = taken ? 4 : 3;
			return;
		}
		entry->useful--;
	}
}

static bool conditional(struct predictor *predictor, uint64_t pc, bool taken)
{
	uint8_t *plain = &predictor->counters[(pc >> 2) % COUNTERS];
	uint32_t hashes[HISTORIES];
	struct tagged *found = NULL;
	bool other = *plain >= 2;
	bool guess = other;
	int at = -1;

	for (int i = 0; i < HISTORIES; i++) {
		struct tagged *entry;

		hashes[i] = fold(pc, predictor->history, history_bits[i]);
		entry = &predictor->tagged[i][hashes[i] % TAGGED];
		if (entry->tag == (uint16_t)(hashes[i] >> 16 | 1)) {
			other = guess;
			found = entry;
			at = i;
			guess = entry->counter >= 4;
		}
	}
	if (found) {
		if (guess != other)
			count(&found->useful, guess == taken, 3);
		count(&found->counter, taken, 7);
	} else {
		count(plain, taken, 3);
	}
	if (guess != taken)
		allocate(predictor, hashes, at + 1, taken);
	predictor->history = predictor->history << 1 | taken;
	return guess == taken;
}

static bool indirect(struct predictor *predictor, uint64_t pc, uint64_t next)
{
	uint64_t *target = &predictor->targets[(pc >> 2) % TARGETS];
	bool right = *target == next;

	*target = next;
	return right;
}

static void push(struct predictor *predictor, uint64_t address)
{
	predictor->returns[predictor->return_top++ % predictor->return_limit] = address;
}

bool predictor_was_right(struct predictor *predictor, uint64_t pc, enum branch_kind kind, uint64_t next,
			 uint64_t behind)
{
	switch (kind) {
	case BRANCH_IF:
		return conditional(predictor, pc, next != behind);
	case BRANCH_CALL:
		push(predictor, behind);
		return true;
	case BRANCH_CALL_REGISTER:
		push(predictor, behind);
		return indirect(predictor, pc, next);
	case BRANCH_JUMP:
		return indirect(predictor, pc, next);
	case BRANCH_RETURN:
		return predictor->returns[--predictor->return_top % predictor->return_limit] == next;
	default:
		return true;
	}
}
