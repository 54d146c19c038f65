/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Labels: addresses at which regions of a program that has guest/own/worldwise.h begin and end. */
#ifndef WORLDWISE_LABELS_H
#define WORLDWISE_LABELS_H

#include <stdbool.h>
#include <stdint.h>

struct label {
	unsigned int call; /* the region's number, as those of calls */
	bool ends;         /* it ends there; else it begins */
};

/* Reads NUMBER:ADDRESS. False if it is not that. `of_ta`: the address is the TA's, as it was linked. */
bool labels_add(const char *value, bool ends, bool of_ta);

/* Whether there are any, and any of the TA. */
bool labels_are_there(void);
bool labels_are_in_ta(void);

/* The label at an address; NULL if there is none. */
const struct label *labels_at(uint64_t address, bool of_ta);

#endif /* WORLDWISE_LABELS_H */
