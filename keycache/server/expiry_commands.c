/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that end by themselves: the commands about their deadlines, and what is done when these have come.
 *
 * A key whose time is up is not there for anybody, whether or not the TA could delete it: see key_of(). A deadline is on the disk
 * before the key it is for is in the TA. So a lost power never leaves a key without the deadline that it was to have.
 */
#include "command.h"

#include <inttypes.h>
#include <stdio.h>

/* How many deadlines are looked after at once, before it is the connections' turn again. */
#define EXPIRE_AT_ONCE 16u

static const char disk_failed[] = "ERR the disk does not take the deadline (see --shadow): nothing was changed";

/* Seconds, as Redis takes them. */
static bool seconds_of(const struct call *call, size_t index, const char *command, bool may_be_past, int64_t *seconds)
{
	const struct resp_argument *one = argument(call, index);
	const int64_t most = (int64_t)(EXPIRY_MOST_MS / 1000);
	bool minus = one->size && one->data[0] == '-';
	int64_t sum = 0;
	char text[64];

	if (one->size == minus || one->size > 18)
		goto no_number;
	for (size_t i = minus; i < one->size; i++) {
		if (one->data[i] < '0' || one->data[i] > '9')
			goto no_number;
		sum = sum * 10 + (one->data[i] - '0');
	}
	*seconds = minus ? -sum : sum;
	if (*seconds <= most && (*seconds > 0 || may_be_past))
		return true;
	(void)snprintf(text, sizeof(text), "ERR invalid expire time in '%s' command", command);
	resp_error(call->reply, text);
	return false;
no_number:
	resp_error(call->reply, "ERR value is not an integer or out of range");
	return false;
}

bool take_lifetime(const struct call *call, size_t *index, struct lifetime *lifetime, bool *wrong)
{
	const struct resp_argument *option = argument(call, *index);
	bool more = *index + 1 < call->request->count;
	int64_t seconds;

	*wrong = false;
	if (word_is(option, "KEEPTTL") && !lifetime->keep && !lifetime->limited) {
		lifetime->keep = true;
		++*index;
		return true;
	}
	if (!word_is(option, "EX") || !more || lifetime->keep || lifetime->limited)
		return false;
	*wrong = !seconds_of(call, *index + 1, "set", false, &seconds);
	if (*wrong)
		return false;
	lifetime->limited = true;
	lifetime->when = expiry_now(call->service->expiry) + (uint64_t)seconds * 1000;
	*index += 2;
	return true;
}

bool begin_lifetime(const struct call *call, struct lifetime *lifetime, const char *id)
{
	struct expiry *expiry = call->service->expiry;
	bool earlier;

	lifetime->before = expiry_when(expiry, EXPIRY_DELETE, id);
	if (!lifetime->limited)
		return true;
	/* Until it is known which key there is, the old one or the new one, the earlier deadline of the two holds. */
	earlier = lifetime->before != EXPIRY_NEVER && lifetime->before < lifetime->when;
	if (earlier || expiry_set(expiry, EXPIRY_DELETE, id, lifetime->when))
		return true;
	resp_error(call->reply, disk_failed);
	return false;
}

bool end_lifetime(const struct call *call, const struct lifetime *lifetime, const char *id, uint32_t res)
{
	struct expiry *expiry = call->service->expiry;
	uint64_t when = lifetime->limited ? lifetime->when : EXPIRY_NEVER;

	if (res) {
		/* The key is the old one. But who knows, of a TA that ended? */
		if (res != RESULT_TARGET_DEAD)
			(void)expiry_set(expiry, EXPIRY_DELETE, id, lifetime->before);
		return true;
	}
	/* A key whose time was up was not there: what is kept is its having none. */
	if (lifetime->keep && lifetime->before > expiry_now(expiry))
		when = lifetime->before;
	if (expiry_set(expiry, EXPIRY_DELETE, id, when))
		return true;
	resp_error(call->reply, "ERR the key is set, but the disk does not take its new deadline (see --shadow): the "
				"old one holds");
	return false;
}

void command_expire(const struct call *call)
{
	struct service *service = call->service;
	struct id id;
	int64_t seconds;
	uint32_t res;

	if (!take_id_to_manage(call, 1, &id) || !seconds_of(call, 2, "expire", true, &seconds))
		return;
	res = expiry_is_over(service->expiry, EXPIRY_DELETE, id.text) ? KEYCACHE_NO_KEY
								      : tee_exists(&service->tee, id.text);
	if (!res && seconds <= 0)
		res = service_delete(service, id.text);
	if (res == KEYCACHE_NO_KEY)
		note(call, "no such key");
	if (res && res != KEYCACHE_NO_KEY)
		answer_result(call, res);
	else if (!res && seconds > 0 &&
		 !expiry_set(service->expiry, EXPIRY_DELETE, id.text,
			     expiry_now(service->expiry) + (uint64_t)seconds * 1000))
		resp_error(call->reply, disk_failed);
	else
		resp_integer(call->reply, !res);
}

void command_ttl(const struct call *call)
{
	struct service *service = call->service;
	struct id id = key_of(call, 1, TO_KNOW);
	uint64_t when = expiry_when(service->expiry, EXPIRY_DELETE, id.text);
	uint64_t now = expiry_now(service->expiry);
	uint32_t res = tee_exists(&service->tee, id.text);

	if (res && res != KEYCACHE_NO_KEY)
		answer_result(call, res);
	else if (res)
		resp_integer(call->reply, -2);
	else if (when == EXPIRY_NEVER)
		resp_integer(call->reply, -1);
	else
		resp_integer(call->reply, when > now ? (long long)(when - now + 500) / 1000 : 0);
}

void command_persist(const struct call *call)
{
	struct expiry *expiry = call->service->expiry;
	struct id id;
	bool has;

	if (!take_id_to_manage(call, 1, &id))
		return;
	has = expiry_when(expiry, EXPIRY_DELETE, id.text) > expiry_now(expiry);
	if (!has)
		note(call, "no such key, or it has no deadline");
	if (has && !expiry_set(expiry, EXPIRY_DELETE, id.text, EXPIRY_NEVER))
		resp_error(call->reply, disk_failed);
	else
		resp_integer(call->reply, has);
}

static uint32_t forget_previous(struct service *service, const char *id)
{
	uint32_t res = service_forget_previous(service, id);

	if (!res || res == KEYCACHE_NO_KEY)
		(void)expiry_set(service->expiry, EXPIRY_FORGET, id, EXPIRY_NEVER);
	return res;
}

static void report_end(struct service *service, enum expiry_kind kind, struct id *id, uint32_t res)
{
	const struct resp_argument from = { (uint8_t *)id->text, strlen(id->text) };
	char outcome[16];
	struct audit_event event = { .kind = AUDIT_CHANGE,
				     .name = kind == EXPIRY_DELETE ? "expired" : "forgotten",
				     .from = &from,
				     .outcome = "OK" };

	if (res == KEYCACHE_NO_KEY)
		return;
	if (res) {
		(void)snprintf(outcome, sizeof(outcome), "0x%08" PRIx32, res);
		event.kind = AUDIT_REFUSAL;
		event.outcome = outcome;
		event.why = "the trusted application does not delete it: it is not used any more, and this is tried "
			    "again";
	}
	audit_write(service->audit, &event);
}

bool service_expire(struct service *service)
{
	enum expiry_kind kind;
	struct id id;

	for (unsigned i = 0; i < EXPIRE_AT_ONCE; i++) {
		uint32_t res;

		if (!expiry_due(service->expiry, &kind, &id))
			return false;
		res = kind == EXPIRY_DELETE ? service_delete(service, id.text) : forget_previous(service, id.text);
		if (!res)
			service->counts.expired++;
		report_end(service, kind, &id, res);
		/* Also if the disk did not take it that this deadline is done with. */
		expiry_put_off(service->expiry, kind, id.text);
	}
	return true;
}
