/* SPDX-License-Identifier: BSD-2-Clause */
/* What the storage TA and its client agree on. */
#ifndef WORLDWISE_APPS_STORAGE_H
#define WORLDWISE_APPS_STORAGE_H

#define STORAGE_TA_UUID { 0xa1f5c2de, 0x0004, 0x4b1c, { 0x9a, 0x3e, 0x73, 0x74, 0x6f, 0x72, 0x65, 0x00 } }

/* What one call brings or fetches, and with that an object can have: 1 MiB and something appended. */
#define STORAGE_BYTES (1024 * 1024 + 4096)

/* Objects have numbers: the one that is measured, its other name, and those that are there besides. */
#define STORAGE_OBJECT 0
#define STORAGE_RENAMED 1
#define STORAGE_OTHERS 2
#define STORAGE_OBJECTS 10

/* Where objects are: parameter [1]'s a of every command but the last. */
enum storage_kind {
	STORAGE_REE = 0,
	STORAGE_RPMB,
};

/*
 * Each opens the object, does one thing with it and closes it again. [1] value in: a is where (storage_kind), b the
 * object's number. [2], [3] value out: the counter at the region's begin and end.
 *
 * Beside the errors that the storage itself gives: BAD_PARAMETERS for a number, a buffer or a size of none,
 * EXCESS_DATA for more than STORAGE_BYTES, ITEM_NOT_FOUND for a storage that is not there (of which enumerating says that it has no objects).
 */
enum storage_command {
	STORAGE_CREATE = 0, /* [0] memory in: its content; ACCESS_CONFLICT if it is there already */
	STORAGE_READ,       /* [0] memory out: all of it; SHORT_BUFFER and its size if there is not room enough */
	STORAGE_OVERWRITE,  /* [0] memory in: what is written over its begin; BAD_PARAMETERS for more than it has */
	STORAGE_APPEND,     /* [0] memory in: what is written behind its end; OVERFLOW beyond STORAGE_BYTES */
	STORAGE_RENAME,     /* [0] value in: a is the new number; ACCESS_CONFLICT if that one is there already */
	STORAGE_ENUMERATE, /* [0] value out: a is how many objects there are, b how many bytes they have; [1]'s b is 0 */
	STORAGE_DELETE,

	/* [0] value in: a is how many bytes it has afterwards; BAD_PARAMETERS for none and for more than it has. */
	STORAGE_TRUNCATE,

	/* [0] value out: what an empty region costs in the TA; [1] value out: what an inner region adds to an outer. */
	STORAGE_CALIBRATE,
};

#endif /* WORLDWISE_APPS_STORAGE_H */
