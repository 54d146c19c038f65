/* SPDX-License-Identifier: BSD-2-Clause */
/* What the faults TA and its client agree on. */
#ifndef WORLDWISE_APPS_FAULTS_H
#define WORLDWISE_APPS_FAULTS_H

#define FAULTS_TA_UUID { 0xa1f5c2de, 0x0005, 0x4b1c, { 0x9a, 0x3e, 0x66, 0x61, 0x75, 0x6c, 0x74, 0x00 } }

/* The same program as another TA: what one has stored, the other may not read. */
#define FAULTS_OTHER_TA_UUID { 0xa1f5c2de, 0x0105, 0x4b1c, { 0x9a, 0x3e, 0x66, 0x61, 0x75, 0x6c, 0x74, 0x00 } }

/* The largest object: a read needs as much heap twice, for the call and for the copy. */
#define FAULTS_MAX_OBJECT (64 * 1024)
#define FAULTS_MAX_ID 64

enum faults_storage {
	FAULTS_REE = 0,
	FAULTS_RPMB,
};

/*
 * Each takes [0] value in: a is the storage (enum faults_storage), b is 0; [1] memory in: the object's name, of 1 to
 * FAULTS_MAX_ID bytes. An object is opened and closed within the call.
 */
enum faults_command {
	/* [2] memory in: the content. Fails if there is such an object. */
	FAULTS_CREATE = 0,

	/* [2] memory in: written over the object's begin, in one call of the API. */
	FAULTS_OVERWRITE,

	/* [2] memory in: written behind the object's end, in one call of the API. */
	FAULTS_APPEND,

	/* [2] memory in: the new name. */
	FAULTS_RENAME,

	FAULTS_DELETE,

	/* [2] memory in: the content of a new object that takes the place of the one of this name, in one call. */
	FAULTS_REPLACE,

	/* [2] memory out: the content; TEE_ERROR_SHORT_BUFFER and the size if it does not fit. */
	FAULTS_READ,

	/* [0], [1] value out: what measuring costs; see guest/apps/common/app.h. */
	FAULTS_CALIBRATE,
};

#endif /* WORLDWISE_APPS_FAULTS_H */
