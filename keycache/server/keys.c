/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What gives clients their keys, and says what they are for. All of it is an administrator's; what the TA believes of it is not: an
 * enrolled key is replaced by a statement of the authority alone, whoever brings it.
 */
#include <inttypes.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "keycache_use.h"

/* At a time: 126 keys, a few buckets of secure storage. */
#define BACKUP_BYTES 16384u
#define KEEP_MOST_SECONDS (10u * 365 * 86400)
#define SECOND_MS 1000u

/* Where no id is named. */
static bool refuse_others(const struct call *call)
{
	if (service_is_admin(call->service, call->client))
		return false;
	call->service->counts.denied++;
	resp_error(call->reply, "NOPERM only an administrator sets keys");
	return true;
}

/* What stands behind a key: USE, KEEP, and its deadline. */
struct wishes {
	uint32_t restrictions;
	uint32_t keep; /* seconds that the key before goes on opening, or 0 */
	struct lifetime lifetime;
};

/* False, and an answer, if they are none. */
static bool take_wishes(const struct call *call, size_t index, bool may_use, struct wishes *wishes)
{
	*wishes = (struct wishes){ 0 };
	while (index < call->request->count) {
		bool more = index + 1 < call->request->count;
		const char *problem = "syntax error";
		char text[120];
		bool wrong;

		if (take_lifetime(call, &index, &wishes->lifetime, &wrong))
			continue;
		if (wrong)
			return false;
		if (more && word_is(argument(call, index), "KEEP")) {
			if (number(argument(call, index + 1), &wishes->keep) && wishes->keep &&
			    wishes->keep <= KEEP_MOST_SECONDS)
				problem = NULL;
			else
				problem = "KEEP takes 1 to 315360000 seconds, which is ten years";
		} else if (more && may_use && word_is(argument(call, index), "USE")) {
			problem = keycache_use_read((const char *)argument(call, index + 1)->data,
						    argument(call, index + 1)->size, &wishes->restrictions);
		}
		if (problem) {
			(void)snprintf(text, sizeof(text), "ERR %s", problem);
			resp_error(call->reply, text);
			return false;
		}
		index += 2;
	}
	return true;
}

static struct tee_how how_of(const struct wishes *wishes, bool relaxed)
{
	return (struct tee_how){ .flags = (relaxed ? KEYCACHE_RELAXED : 0) | (wishes->keep ? KEYCACHE_KEEP : 0),
				 .restrictions = wishes->restrictions };
}

/* What the TA made of a key's client, or did not. */
static void take_records(struct service *service, const struct id *id, uint32_t res, const struct tee_records *records)
{
	/* Old key or new one? The record that the TA asks for next says it. */
	if (res)
		service_uncache(service, id->text);
	/* The server does not know which one the TA's cache has as the previous key. */
	service_uncache(service, id_previous(id->text).text);
	for (size_t i = 0; !res && i < records->count; i++)
		(void)shadow_put(service->shadow, &records->record[i]);
}

/*
 * Has `replace` set a key, with the deadlines that were wished. That of the previous key is there before that key is: should power
 * fail in between, it ends nothing that is needed. False, and an answer, if the key was not set.
 */
static bool replace_key(const struct call *call, const struct id *id, struct wishes *wishes,
			uint32_t (*replace)(const struct call *call, const struct id *id, struct tee_how how,
					    struct tee_records *records, void *context),
			void *context, bool relaxed)
{
	struct expiry *expiry = call->service->expiry;
	uint64_t before = expiry_when(expiry, EXPIRY_FORGET, id->text);
	struct tee_records records = { 0 };
	uint32_t res;

	if (!begin_lifetime(call, &wishes->lifetime, id->text))
		return false;
	if (wishes->keep &&
	    !expiry_set(expiry, EXPIRY_FORGET, id->text, expiry_now(expiry) + (uint64_t)wishes->keep * SECOND_MS)) {
		(void)end_lifetime(call, &wishes->lifetime, id->text, RESULT_OUT_OF_MEMORY);
		resp_error(call->reply,
			   "ERR the disk does not take the deadline of KEEP (see --shadow): nothing was changed");
		return false;
	}
	/* A relaxed SET can be lost: the key of before would be back, without its deadline. */
	relaxed = relaxed && !wishes->keep && !wishes->lifetime.limited && wishes->lifetime.before == EXPIRY_NEVER;
	res = replace(call, id, how_of(wishes, relaxed), &records, context);
	take_records(call->service, id, res, &records);
	/* Of a TA that ended nobody knows which key is there. */
	if (res && res != RESULT_TARGET_DEAD && wishes->keep)
		(void)expiry_set(expiry, EXPIRY_FORGET, id->text, before);
	if (res) {
		(void)end_lifetime(call, &wishes->lifetime, id->text, res);
		answer_result(call, res);
		return false;
	}
	return end_lifetime(call, &wishes->lifetime, id->text, res);
}

static uint32_t replace_by_set(const struct call *call, const struct id *id, struct tee_how how,
			       struct tee_records *records, void *context)
{
	struct service *service = call->service;
	const struct resp_argument *key = context;
	uint32_t res = tee_set(&service->tee, id->text, key->data, key->size, how, records);

	service->unflushed = service->unflushed || how.flags & KEYCACHE_RELAXED;
	return res;
}

void command_set(const struct call *call)
{
	struct resp_argument key = *argument(call, 2);
	struct wishes wishes;
	struct id id;

	if (!take_id_to_manage(call, 1, &id))
		return;
	if (key.size != 16 && key.size != KEYCACHE_KEY_BYTES) {
		resp_error(call->reply, "ERR a key has 16 or 32 bytes");
		return;
	}
	if (!take_wishes(call, 3, true, &wishes))
		return;
	if (replace_key(call, &id, &wishes, replace_by_set, &key, call->service->relaxed))
		resp_status(call->reply, "OK");
}

static uint32_t replace_by_generating(const struct call *call, const struct id *id, struct tee_how how,
				      struct tee_records *records, void *context)
{
	return tee_generate(&call->service->tee, id->text, *(const uint32_t *)context, how, records);
}

/* GENERATE id [16|32] [EX s] [KEEP s] [USE ...] */
void command_generate(const struct call *call)
{
	uint32_t size = KEYCACHE_KEY_BYTES;
	bool has_size = call->request->count > 2 && number(argument(call, 2), &size);
	struct wishes wishes;
	struct id id;

	if (!take_id_to_manage(call, 1, &id))
		return;
	if (size != 16 && size != KEYCACHE_KEY_BYTES) {
		resp_error(call->reply, "ERR a key has 16 or 32 bytes");
		return;
	}
	if (!take_wishes(call, has_size ? 3 : 2, true, &wishes))
		return;
	if (replace_key(call, &id, &wishes, replace_by_generating, &size, false))
		resp_status(call->reply, "OK");
}

struct enrolling {
	struct keycache_enrolment statement;
	struct keycache_handover handover;
	bool has_handover;
};

static uint32_t replace_by_enrolling(const struct call *call, const struct id *id, struct tee_how how,
				     struct tee_records *records, void *context)
{
	struct enrolling *enrolling = context;

	uint32_t res;

	(void)id;
	res = tee_enrol(&call->service->tee, &enrolling->statement, how, records, &enrolling->handover,
			&enrolling->has_handover);
	/* Signed, but its key is not wrapped for this device. */
	return res == KEYCACHE_FORGED ? KEYCACHE_UNTRUSTED : res;
}

/* A deadline is written down before its key is set, and for a statement only if it is a good one. False, and an answer, if not. */
static bool is_signed(const struct call *call, const struct keycache_enrolment *statement, const struct wishes *wishes)
{
	uint32_t res;

	if (!wishes->lifetime.limited && !wishes->keep)
		return true;
	res = tee_verify(&call->service->tee, statement);
	if (res)
		answer_result(call, res);
	return !res;
}

/* ENROL statement [EX s] [KEEP s] */
void command_enrol(const struct call *call)
{
	const struct resp_argument *statement = argument(call, 1);
	struct enrolling enrolling = { 0 };
	struct wishes wishes;
	struct id id;

	if (refuse_others(call))
		return;
	if (statement->size != sizeof(enrolling.statement)) {
		resp_error(call->reply, "ERR that is no statement of an enrolment: `keycache authority` makes them");
		return;
	}
	memcpy(&enrolling.statement, statement->data, sizeof(enrolling.statement));
	/* Of the client itself: who has a previous key is not said by a statement. */
	if (!id_make(&id, enrolling.statement.id,
		     enrolling.statement.id_length <= KEYCACHE_ID_BYTES ? enrolling.statement.id_length : 0)) {
		resp_error(call->reply, "ERR the statement names no client");
		return;
	}
	call->service->about = id;
	if (!take_wishes(call, 2, false, &wishes))
		return;
	/* Whatever the request says, the statement says that none is kept. */
	if (enrolling.statement.at_once)
		wishes.keep = 0;
	if (!is_signed(call, &enrolling.statement, &wishes) ||
	    !replace_key(call, &id, &wishes, replace_by_enrolling, &enrolling, false))
		return;
	if (enrolling.statement.at_once) {
		service_drop(call->service, id_previous(id.text).text);
		(void)expiry_set(call->service->expiry, EXPIRY_FORGET, id.text, EXPIRY_NEVER);
	}
	if (enrolling.has_handover)
		resp_bulk(call->reply, &enrolling.handover, sizeof(enrolling.handover));
	else
		resp_status(call->reply, "OK");
}

void command_trust(const struct call *call)
{
	const struct resp_argument *given = argument(call, 1);
	struct keycache_trust statement;
	uint32_t res;

	if (refuse_others(call))
		return;
	if (given->size != sizeof(statement)) {
		resp_error(call->reply, "ERR that is no statement of an authority: `keycache authority` makes them");
		return;
	}
	memcpy(&statement, given->data, sizeof(statement));
	res = tee_trust(&call->service->tee, &statement);
	if (res)
		answer_result(call, res);
	else
		resp_status(call->reply, "OK");
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	while (size && !*bytes) {
		bytes++;
		size--;
	}
	return !size;
}

/* A point, and its fingerprint: nothing if there is none. */
static void say_point(const struct call *call, const char *name, const uint8_t point[KEYCACHE_POINT_BYTES])
{
	bool none = is_zero(point, KEYCACHE_POINT_BYTES);
	char text[2 * SHA256_DIGEST_LENGTH + 1] = "";
	uint8_t digest[SHA256_DIGEST_LENGTH];
	char label[32];

	resp_bulk_text(call->reply, name);
	resp_bulk(call->reply, point, none ? 0 : KEYCACHE_POINT_BYTES);
	(void)snprintf(label, sizeof(label), "%s-fingerprint", name);
	resp_bulk_text(call->reply, label);
	if (!none && SHA256(point, KEYCACHE_POINT_BYTES, digest))
		for (size_t i = 0; i < sizeof(digest); i++)
			(void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
	resp_bulk_text(call->reply, text);
}

void command_identity(const struct call *call)
{
	struct keycache_identity identity;
	uint32_t res;

	if (refuse_others(call))
		return;
	res = tee_identity(&call->service->tee, &identity);
	if (res) {
		answer_result(call, res);
		return;
	}
	resp_map(call->reply, call->client->resp3, 6);
	say_point(call, "device", identity.ta);
	say_point(call, "signer", identity.signer);
	say_point(call, "backup", identity.backup);
}

uint32_t service_forget_previous(struct service *service, const char *id)
{
	uint32_t res = tee_forget(&service->tee, id);

	if (!res || res == KEYCACHE_NO_KEY)
		service_drop(service, id_previous(id).text);
	return res;
}

/* FORGET id: 1, or 0 if there is no previous key. */
void command_forget(const struct call *call)
{
	struct service *service = call->service;
	struct id id = key_of(call, 1, TO_MANAGE);
	uint32_t res = service_forget_previous(service, id.text);

	if (res && res != KEYCACHE_NO_KEY) {
		answer_result(call, res);
		return;
	}
	if (res)
		note(call, "no previous key");
	(void)expiry_set(service->expiry, EXPIRY_FORGET, id.text, EXPIRY_NEVER);
	resp_integer(call->reply, !res);
}

void command_backup(const struct call *call)
{
	uint8_t part[BACKUP_BYTES];
	char cursor[16];
	size_t size = sizeof(part);
	uint32_t next;
	uint32_t res;

	if (refuse_others(call))
		return;
	if (!number(argument(call, 1), &next)) {
		resp_error(call->reply, "ERR invalid cursor");
		return;
	}
	res = tee_backup(&call->service->tee, &next, part, &size);
	if (res == RESULT_BAD_STATE) {
		resp_error(call->reply,
			   "ERR that backup does not go on there: another one was begun since, or the trusted "
			   "application began anew: begin with 0");
		return;
	}
	if (res) {
		answer_result(call, res);
		return;
	}
	(void)snprintf(cursor, sizeof(cursor), "%" PRIu32, next);
	resp_array(call->reply, 2);
	resp_bulk_text(call->reply, cursor);
	resp_bulk(call->reply, part, size);
}

static void say_number(const struct call *call, const char *name, long long value)
{
	resp_bulk_text(call->reply, name);
	resp_integer(call->reply, value);
}

/* Seconds until then, -1 for never. */
static long long seconds_until(struct service *service, enum expiry_kind kind, const char *id)
{
	uint64_t when = expiry_when(service->expiry, kind, id);
	uint64_t now = expiry_now(service->expiry);

	if (when == EXPIRY_NEVER)
		return -1;
	return when < now ? 0 : (long long)((when - now + SECOND_MS - 1) / SECOND_MS);
}

/* From secure storage, not from the shadow, which could have been changed. */
void command_keyinfo(const struct call *call)
{
	struct service *service = call->service;
	struct id id = key_of(call, 1, TO_MANAGE);
	struct keycache_record record;
	char words[KEYCACHE_USE_BYTES];
	uint32_t res = tee_record(&service->tee, id.text, &record);
	bool previous;

	if (res) {
		answer_result(call, res);
		return;
	}
	(void)shadow_put(service->shadow, &record);
	previous = !tee_exists(&service->tee, id_previous(id.text).text);
	keycache_use_write(words, record.flags);
	resp_map(call->reply, call->client->resp3, 8);
	say_number(call, "bytes", record.key_length);
	say_number(call, "version", record.version);
	resp_bulk_text(call->reply, "use");
	resp_bulk_text(call->reply, words);
	say_number(call, "enrolled", !!(record.flags & KEYCACHE_ENROLLED));
	say_number(call, "worn", !!(record.flags & KEYCACHE_WORN));
	say_number(call, "previous", previous);
	say_number(call, "forget-in", previous ? seconds_until(service, EXPIRY_FORGET, id.text) : -1);
	say_number(call, "delete-in", seconds_until(service, EXPIRY_DELETE, id.text));
}
