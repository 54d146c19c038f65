/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cases of storage, the same for objects and for plain files: each call finds a known state, and what it did is
 * looked at afterwards. Only the access itself is measured.
 */
#ifndef WORLDWISE_APPS_ACCESS_H
#define WORLDWISE_APPS_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bench/bench.h"

/* Small objects that are there besides, and their size; what is appended; how many of its size are listed. */
#define ACCESS_OTHERS 3
#define ACCESS_OTHER_BYTES 32
#define ACCESS_APPENDED_BYTES 32
#define ACCESS_LISTED 3

#define ACCESS_MEASURE "access"

enum access_action {
	ACCESS_CREATE,
	ACCESS_READ,
	ACCESS_OVERWRITE,
	ACCESS_APPEND,
	ACCESS_RENAME,
	ACCESS_ENUMERATE,
	ACCESS_DELETE,
	ACCESS_ACTIONS,
	ACCESS_TRUNCATE = ACCESS_ACTIONS, /* never measured: it takes back what was appended */
};

/* What is done with one object: `data` of `size` bytes goes to it or comes from it, as the action needs. */
struct access {
	enum access_action action;
	uint32_t object;
	uint32_t renamed; /* the object's new number, for ACCESS_RENAME */
	uint8_t *data;
	size_t size;    /* for ACCESS_TRUNCATE: what is left */
	uint32_t count; /* set by ACCESS_ENUMERATE: how many there are; `size` is then the bytes of all */
};

/* How a kind of storage does it. */
struct access_storage {
	/* Does it, and ends the program if it fails. `index` is the call's number, or ACCESS_UNMEASURED. */
	void (*run)(const struct bench_plan *plan, struct access *access, uint32_t index);
	/* Whether an object is there. */
	bool (*there)(uint32_t object);
};

/* The call is preparation or verification: it goes into no sample. */
#define ACCESS_UNMEASURED UINT32_MAX

/* Makes every call of a case and records its checks. */
void access_case(const struct bench_plan *plan, const struct access_storage *storage);

#endif /* WORLDWISE_APPS_ACCESS_H */
