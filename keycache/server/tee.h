/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trusted application as the server sees it: one call per command of keycache_ta.h, answers as they come from there.
 *
 * When the TA panics (or its supplicant is gone) the call answers RESULT_TARGET_DEAD; the session is opened anew by the next
 * call, at most every TEE_RETRY_MS, and `generation` grows: what the TA had in its cache is gone then.
 */
#ifndef KEYCACHE_TEE_H
#define KEYCACHE_TEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "keycache_ta.h"

#define TEE_RETRY_MS 100
/* Numbers of commands are below. */
#define TEE_COMMANDS (KEYCACHE_BACKUP + 1)

/* GlobalPlatform's results that the server tells apart. */
#define RESULT_OK 0u
#define RESULT_ACCESS_DENIED 0xFFFF0001u
#define RESULT_BAD_PARAMETERS 0xFFFF0006u
#define RESULT_BAD_STATE 0xFFFF0007u
#define RESULT_NOT_SUPPORTED 0xFFFF000Au
#define RESULT_OUT_OF_MEMORY 0xFFFF000Cu
#define RESULT_COMMUNICATION 0xFFFF000Eu
#define RESULT_SHORT_BUFFER 0xFFFF0010u
#define RESULT_TARGET_DEAD 0xFFFF3024u
#define RESULT_STORAGE_NO_SPACE 0xFFFF3041u
#define RESULT_CORRUPT_OBJECT 0xF0100001u

/* How a way to the TA is made: libteec, or the TA's own sources in this process (tests). */
enum tee_kind { TEE_NOTHING, TEE_VALUE_IN, TEE_VALUE_OUT, TEE_VALUE_INOUT, TEE_MEMORY_IN, TEE_MEMORY_OUT };

struct tee_parameter {
	enum tee_kind kind;
	uint32_t a;
	uint32_t b;
	void *data;
	size_t size; /* of an output: what there is room for, then what was written (or is needed, with a short buffer) */
};

struct tee_backend {
	const char *name;
	uint32_t (*open)(void);
	void (*close)(void);
	uint32_t (*invoke)(uint32_t command, struct tee_parameter parameters[4]);
};

/* The one that is linked. */
extern const struct tee_backend tee_backend;

struct tee_setup {
	enum keycache_storage storage;
	enum keycache_policy policy;
	uint32_t bound;
	uint32_t index; /* bytes for the TA's index, 0: what the TA takes by itself */
	uint32_t flags; /* KEYCACHE_ALLOW_GET, KEYCACHE_NAIVE */
};

struct tee {
	struct tee_setup setup;
	bool open;
	uint64_t retry_at;
	uint32_t generation;
	uint64_t restarts;
	uint64_t calls; /* commands asked of the TA */
	struct histogram latency[TEE_COMMANDS];
};

/* A key to use: what it is called (see id.h), and what goes with it or NULL. */
struct tee_key {
	const char *id;
	const struct keycache_offer *offer;
};

/* Additional data of a message, at most KEYCACHE_AAD_BYTES. */
struct tee_aad {
	const void *data;
	size_t size;
};

/* Of SET, GENERATE and ENROL: KEYCACHE_RELAXED, KEYCACHE_KEEP; and what the key is not for. */
struct tee_how {
	uint32_t flags;
	uint32_t restrictions;
};

/* What they leave: the key's record, and with KEYCACHE_KEEP that of the previous one if there is one. In naive mode none. */
struct tee_records {
	struct keycache_record record[2];
	size_t count;
};

/* In lower case. */
const char *tee_command_name(uint32_t command);
/* Opens a session and configures it. */
uint32_t tee_open(struct tee *tee, const struct tee_setup *setup);
void tee_close(struct tee *tee);

uint32_t tee_set(struct tee *tee, const char *id, const void *key, size_t size, struct tee_how how,
		 struct tee_records *records);
/* A key of so many bytes that nobody sees. */
uint32_t tee_generate(struct tee *tee, const char *id, uint32_t size, struct tee_how how, struct tee_records *records);
/* `*has_handover`: the key is one that the client is to have, and `handover` holds it. */
uint32_t tee_enrol(struct tee *tee, const struct keycache_enrolment *statement, struct tee_how how,
		   struct tee_records *records, struct keycache_handover *handover, bool *has_handover);
/* Whether tee_enrol would take it; nothing is done. */
uint32_t tee_verify(struct tee *tee, const struct keycache_enrolment *statement);
uint32_t tee_forget(struct tee *tee, const char *id);
uint32_t tee_identity(struct tee *tee, struct keycache_identity *identity);
uint32_t tee_trust(struct tee *tee, const struct keycache_trust *statement);
/* A part of the backup, from *next on (0: the first); *next is 0 when it is the last one. */
uint32_t tee_backup(struct tee *tee, uint32_t *next, void *part, size_t *size);
uint32_t tee_get(struct tee *tee, struct tee_key key, void *out, size_t *size);
uint32_t tee_delete(struct tee *tee, const char *id);
uint32_t tee_exists(struct tee *tee, const char *id);
uint32_t tee_seal(struct tee *tee, struct tee_key key, struct tee_aad aad, const void *in, size_t in_size, void *out,
		  size_t *size);
uint32_t tee_unseal(struct tee *tee, struct tee_key key, struct tee_aad aad, const void *in, size_t in_size, void *out,
		    size_t *size);
/* `whose`: which key an error is about, KEYCACHE_OF_FROM or KEYCACHE_OF_TO or both. */
uint32_t tee_reencrypt(struct tee *tee, struct tee_key from, struct tee_key to, struct tee_aad aad, const void *in,
		       size_t in_size, void *out, size_t *size, uint32_t *whose);
/* What one call of tee_fan_out answers at most. */
#define TEE_FAN_BYTES (160u * 1024u)

/* A receiver of tee_fan_out: its key, and its result. */
struct tee_receiver {
	struct tee_key key;
	uint32_t result;
};

/*
 * One message for `count` receivers (at most KEYCACHE_FAN_MOST, and of TEE_FAN_BYTES in all): in `out` a message for each
 * whose result is RESULT_OK, KEYCACHE_FAN_STRIDE(in_size) bytes apart. The result is about the sender.
 */
uint32_t tee_fan_out(struct tee *tee, struct tee_key from, struct tee_receiver *to, size_t count, struct tee_aad aad,
		     const void *in, size_t in_size, void *out);
uint32_t tee_evict(struct tee *tee, const char *id);
uint32_t tee_stats(struct tee *tee, struct keycache_stats *stats);
uint32_t tee_record(struct tee *tee, const char *id, struct keycache_record *record);
/* Ids, each ended by a zero, from *next on (0: the first); *next is 0 when there are no more. */
uint32_t tee_list(struct tee *tee, uint32_t *next, char *ids, size_t *size);
uint32_t tee_flush(struct tee *tee);
uint32_t tee_repair(struct tee *tee, uint32_t *count);

#endif /* KEYCACHE_TEE_H */
