/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands.
 *
 * Who has no right to a key gets the very answer of a key that does not exist. To leave no difference in time either, the
 * request is not refused: it goes its way about the id ID_ABSENT, through the same table, the same calls of the TA and the
 * same reply. What remains is what any two absent ids differ in: where they fall in the tables of server and TA.
 */
#include "command.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>

#include "figures.h"
#include "version.h"

/* The first key's record is missing, then stale; then the second one's is; then both are good. */
#define RECORD_TRIES 4
#define SCAN_BYTES 4096

bool number(const struct resp_argument *one, uint32_t *value)
{
	uint64_t sum = 0;

	if (!one->size || one->size > 10)
		return false;
	for (size_t i = 0; i < one->size; i++) {
		if (one->data[i] < '0' || one->data[i] > '9')
			return false;
		sum = sum * 10 + (one->data[i] - '0');
	}
	*value = (uint32_t)sum;
	return sum <= UINT32_MAX;
}

/* A key whose time is up is not there for who uses it, whether or not it is deleted yet. */
static struct id unless_over(const struct call *call, struct id id)
{
	if (!expiry_is_over(call->service->expiry, EXPIRY_DELETE, id.text))
		return id;
	note(call, "the key's time is up");
	return (struct id){ ID_ABSENT };
}

struct id key_of(const struct call *call, size_t index, enum purpose purpose)
{
	const struct acl *acl = call->service->acl;
	const char *name = call->client->id.text;
	struct id absent = { ID_ABSENT };
	static const char *const reasons[] = { "no right to use the key", "no right to re-encrypt to the second key",
					       "no right to know of the key", "not an administrator" };
	struct id id;
	bool valid = id_make(&id, argument(call, index)->data, argument(call, index)->size);
	bool may;

	if (purpose == TO_MANAGE)
		may = acl_may(acl, ACL_ADMIN, name, NULL, NULL);
	else
		may = !strcmp(id.text, name) || acl_may(acl, ACL_USE, name, id.text, NULL) ||
		      (purpose != TO_USE && acl_may(acl, ACL_REENCRYPT, name, id.text, NULL)) ||
		      (purpose == TO_KNOW && acl_may(acl, ACL_ADMIN, name, NULL, NULL));
	if (may && valid)
		return purpose == TO_MANAGE ? id : unless_over(call, id);
	call->service->counts.denied++;
	note(call, valid ? reasons[purpose] : "not an id");
	return absent;
}

bool take_id_to_manage(const struct call *call, size_t index, struct id *id)
{
	if (!is_admin(call)) {
		call->service->counts.denied++;
		resp_error(call->reply, "NOPERM only an administrator sets keys");
		return false;
	}
	if (id_make(id, argument(call, index)->data, argument(call, index)->size))
		return true;
	resp_error(call->reply, "ERR a client id has 1 to 64 printable characters, without spaces");
	return false;
}

void answer_result(const struct call *call, uint32_t res)
{
	char text[120];

	switch (res) {
	case KEYCACHE_NO_KEY:
		resp_error(call->reply, "NOKEY no such key");
		break;
	case KEYCACHE_BAD_TAG:
		resp_error(call->reply, "BADTAG the ciphertext does not open under this key");
		break;
	case KEYCACHE_GET_OFF:
		resp_error(call->reply,
			   "NOGET keys do not leave the TEE: use SEAL, OPEN and REENCRYPT. A server started with "
			   "--allow-get gives out keys that were set while it was on");
		break;
	case KEYCACHE_USE_DENIED:
		resp_error(call->reply,
			   "NOUSE the key is not for that: KEYINFO says what it is for, SET or ENROL gives another "
			   "one. What is sealed for a key that is not for OPEN is re-encrypted to such keys "
			   "alone, and for an enrolled one to enrolled ones");
		break;
	case KEYCACHE_IS_ENROLLED:
		resp_error(call->reply,
			   "ENROLLED the key is enrolled: only a statement of the authority replaces it (ENROL)");
		break;
	case KEYCACHE_UNTRUSTED:
		resp_error(call->reply,
			   "UNTRUSTED that is not signed by the authority that this device trusts, or made for "
			   "another device, or there is no authority yet: IDENTITY says who both are, TRUST "
			   "names the first. A key that was enrolled before the device lost its secure "
			   "storage is to be enrolled anew");
		break;
	case KEYCACHE_OLD:
		resp_error(call->reply,
			   "OLD a statement with a higher serial was taken before: have the authority make a new one");
		break;
	case RESULT_NOT_SUPPORTED:
		resp_error(call->reply, "ERR not with --naive, which has no restrictions, previous keys and enrolment");
		break;
	case KEYCACHE_WORN_OUT:
		resp_error(call->reply, "WORN the key, of REENCRYPT the receiver's, has sealed as many messages as it "
					"is good for: set a new one");
		break;
	case RESULT_TARGET_DEAD:
		resp_error(call->reply, "TRYAGAIN the trusted application starts anew");
		break;
	case RESULT_OUT_OF_MEMORY:
		resp_error(call->reply, "TRYAGAIN the trusted application is out of memory");
		break;
	case RESULT_STORAGE_NO_SPACE:
		resp_error(call->reply, "OOM secure storage is full");
		break;
	case RESULT_CORRUPT_OBJECT:
		resp_error(call->reply, "CORRUPT secure storage cannot be read here; see the server's --repair");
		break;
	default:
		(void)snprintf(text, sizeof(text), "ERR the trusted application answers 0x%08" PRIx32, res);
		resp_error(call->reply, text);
		break;
	}
}

static bool naive(const struct service *service)
{
	return service->tee.setup.flags & KEYCACHE_NAIVE;
}

/* A policy that knows what the TA keeps, or NULL. */
static struct policy *policy(struct service *service)
{
	struct keycache_stats stats;
	uint32_t objects = service->policy_objects ? service->policy_objects : 1024;

	if (!service->smart)
		return NULL;
	if (service->policy && service->policy_generation == service->tee.generation)
		return service->policy;
	if (service->policy)
		policy_destroy(service->policy);
	service->policy = NULL;
	if (tee_stats(&service->tee, &stats))
		return NULL;
	service->policy = policy_create(&POLICY_SMART, stats.capacity, objects);
	service->policy_objects = objects;
	service->policy_generation = service->tee.generation;
	return service->policy;
}

/* A key on its way to the TA. */
struct use {
	struct id id;
	uint32_t slot;
	struct policy_choice choice;
	bool bare; /* goes without its record: the TA has it, as far as the policy knows */
	struct keycache_offer offer;
};

static void forget(struct service *service, uint32_t slot)
{
	if (service->policy && slot < service->policy_objects)
		POLICY_SMART.forget(service->policy, slot);
}

void service_uncache(struct service *service, const char *name)
{
	forget(service, shadow_find(service->shadow, name));
}

void service_drop(struct service *service, const char *name)
{
	service_uncache(service, name);
	shadow_remove(service->shadow, name);
}

/* From the shadow, or anew from secure storage. */
static uint32_t find_record(struct service *service, struct use *use, bool anew)
{
	uint32_t res;

	use->slot = shadow_find(service->shadow, use->id.text);
	if (use->slot != SHADOW_NONE && !anew) {
		use->offer.record = *shadow_record(service->shadow, use->slot);
		return RESULT_OK;
	}
	res = tee_record(&service->tee, use->id.text, &use->offer.record);
	if (res == KEYCACHE_NO_KEY)
		service_drop(service, use->id.text);
	if (res)
		return res;
	use->slot = shadow_put(service->shadow, &use->offer.record);
	return RESULT_OK;
}

static void decide(struct service *service, struct use *use)
{
	struct policy *smart = policy(service);
	const struct keycache_record *victim;

	use->choice = (struct policy_choice){ .evict = POLICY_NOTHING };
	if (!smart || use->slot == SHADOW_NONE)
		return;
	if (use->slot >= service->policy_objects) {
		uint32_t objects = use->slot * 2;

		if (!policy_grow(smart, objects))
			return;
		service->policy_objects = objects;
	}
	use->choice = POLICY_SMART.use(smart, use->slot);
	/* With a hit, too: should the TA have lost it, it takes it again when it is asked once more. */
	use->offer.keep = use->choice.keep || use->choice.hit;
	use->bare = use->choice.hit;
	victim = shadow_record(service->shadow, use->choice.evict);
	if (victim) {
		use->offer.victim_length = victim->id_length;
		memcpy(use->offer.victim, victim->id, sizeof(use->offer.victim));
	}
}

/* The TA did not do it. Whether it kept the key or gave up the victim is not known: have both out, as the policy has them. */
static void undo(struct service *service, struct use *use)
{
	struct id victim;

	if (!use->choice.keep)
		return;
	forget(service, use->slot);
	(void)tee_evict(&service->tee, use->id.text);
	if (id_take(&victim, use->offer.victim, use->offer.victim_length))
		(void)tee_evict(&service->tee, victim.text);
}

/* For results that come after all keys were found, and kept if the request said so: nothing needs undoing. */
static bool all_were_found(uint32_t res)
{
	return !res || res == KEYCACHE_BAD_TAG || res == KEYCACHE_GET_OFF || res == KEYCACHE_WORN_OUT ||
	       res == KEYCACHE_USE_DENIED;
}

enum operation { GET, SEAL, UNSEAL, REENCRYPT };

/* service->in has in_size bytes, and what they are about. */
struct job {
	enum operation operation;
	size_t in_size;
	struct tee_aad aad;
};

static uint32_t operate(struct service *service, const struct job *job, struct use uses[2], size_t *size,
			uint32_t *whose)
{
	struct tee_key first = { uses[0].id.text, uses[0].bare ? NULL : &uses[0].offer };
	struct tee_key second = { uses[1].id.text, uses[1].bare ? NULL : &uses[1].offer };

	size_t in_size = job->in_size;

	/* No more than is needed: what is offered for output is mapped into the TA page by page. */
	*size = in_size;
	*whose = KEYCACHE_OF_FROM;
	switch (job->operation) {
	case GET:
		*size = KEYCACHE_KEY_BYTES;
		return tee_get(&service->tee, first, service->out, size);
	case SEAL:
		*size = in_size + KEYCACHE_EXTRA_BYTES;
		return tee_seal(&service->tee, first, job->aad, service->in, in_size, service->out, size);
	case UNSEAL:
		/* An output needs a buffer, even one of no bytes. */
		*size = in_size > KEYCACHE_EXTRA_BYTES ? in_size - KEYCACHE_EXTRA_BYTES : 1;
		return tee_unseal(&service->tee, first, job->aad, service->in, in_size, service->out, size);
	default:
		return tee_reencrypt(&service->tee, first, second, job->aad, service->in, in_size, service->out, size,
				     whose);
	}
}

static uint32_t work_once(struct service *service, const struct job *job, struct use uses[2], size_t *size)
{
	size_t count = job->operation == REENCRYPT ? 2 : 1;
	uint32_t anew = 0;
	uint32_t whose = 0;
	uint32_t res = RESULT_OK;

	for (size_t k = 0; k < count; k++)
		uses[k].bare = naive(service);
	for (int i = 0; i < RECORD_TRIES; i++) {
		for (size_t k = 0; k < count && !naive(service); k++) {
			uint32_t found = RESULT_OK;

			if (!i || anew & (1u << k))
				found = find_record(service, &uses[k], anew & (1u << k));
			/* Both are looked for, whether or not the first is there. */
			if (found)
				res = found;
		}
		if (res)
			break;
		if (!i)
			for (size_t k = 0; k < count && !naive(service); k++)
				decide(service, &uses[k]);
		res = operate(service, job, uses, size, &whose);
		if (res != KEYCACHE_MISS && res != KEYCACHE_STALE && res != KEYCACHE_FORGED)
			break;
		/* KEYCACHE_OF_FROM is bit 0. */
		anew = whose ? whose : KEYCACHE_OF_FROM | KEYCACHE_OF_TO;
		for (size_t k = 0; k < count; k++) {
			/* Missed without its record: it goes along now. Else the shadow was wrong: have it made anew. */
			if (uses[k].bare)
				anew &= ~(1u << k);
			uses[k].bare = false;
		}
		if (i + 1 < RECORD_TRIES)
			res = RESULT_OK;
	}
	if (!all_were_found(res))
		for (size_t k = 0; k < count; k++)
			undo(service, &uses[k]);
	return res;
}

/* Whether what a client's key does not open may be older than that key. */
static bool may_be_older(struct service *service, const struct id *id, uint32_t res)
{
	return res == KEYCACHE_BAD_TAG && !naive(service) && !id_is_previous(id->text) &&
	       !expiry_is_over(service->expiry, EXPIRY_FORGET, id->text);
}

/*
 * What is said of a message that a client's key does not open, by what the key before it says. That this one is not there, or not for
 * that, is no answer: most likely the message is nobody's.
 */
static uint32_t of_previous(uint32_t res)
{
	return res == KEYCACHE_NO_KEY || res == KEYCACHE_USE_DENIED || res == KEYCACHE_UNTRUSTED ? KEYCACHE_BAD_TAG
												 : res;
}

static uint32_t work_with_previous(struct service *service, const struct job *job, const struct use uses[2],
				   size_t *size)
{
	struct use before[2] = { { .id = id_previous(uses[0].id.text) }, { .id = uses[1].id } };

	return of_previous(work_once(service, job, before, size));
}

/*
 * service->in is worked on under one or two keys; the result is in service->out. What the sender's key does not open is tried with
 * the key before it, if there is one.
 */
static uint32_t work(struct service *service, const struct job *job, struct use uses[2], size_t *size)
{
	uint32_t res = work_once(service, job, uses, size);

	return may_be_older(service, &uses[0].id, res) ? work_with_previous(service, job, uses, size) : res;
}

/* Of a receiver, on its way to the TA. */
struct fan_use {
	struct use use;
	uint32_t result;
	size_t part; /* of what the TA answered */
	bool asked;
};

static bool record_is_wrong(uint32_t res)
{
	return res == KEYCACHE_MISS || res == KEYCACHE_STALE || res == KEYCACHE_FORGED;
}

static uint32_t find_again(struct service *service, struct use *use)
{
	uint32_t res = RESULT_OK;

	/* Missed without its record: it goes along now. Else the shadow was wrong: have it made anew. */
	if (!use->bare)
		res = find_record(service, use, true);
	use->bare = false;
	return res;
}

static struct tee_key key_to_send(const struct use *use)
{
	return (struct tee_key){ use->id.text, use->bare ? NULL : &use->offer };
}

/* One message for these receivers, in one call of the TA but for keys whose records it did not take. */
static uint32_t fan_out_once(struct service *service, struct use *from, struct fan_use *to, size_t count,
			     const struct job *job)
{
	struct tee_receiver receivers[KEYCACHE_FAN_MOST];
	size_t asked = 0;
	uint32_t res = RESULT_OK;

	from->bare = naive(service);
	if (!naive(service)) {
		res = find_record(service, from, false);
		if (res)
			return res;
		decide(service, from);
	}
	for (size_t k = 0; k < count; k++) {
		to[k].use.bare = naive(service);
		to[k].result = naive(service) ? RESULT_OK : find_record(service, &to[k].use, false);
		to[k].asked = !to[k].result;
		if (!to[k].asked)
			continue;
		if (!naive(service))
			decide(service, &to[k].use);
		to[k].part = asked;
		receivers[asked++].key = key_to_send(&to[k].use);
	}
	for (int i = 0; i < RECORD_TRIES; i++) {
		res = tee_fan_out(&service->tee, key_to_send(from), receivers, asked, job->aad, service->in,
				  job->in_size, service->fan);
		if (!record_is_wrong(res) || i + 1 == RECORD_TRIES)
			break;
		res = find_again(service, from);
		if (res)
			break;
	}
	for (size_t k = 0; k < count; k++) {
		struct tee_receiver again = { .key = { NULL, NULL } };

		if (!to[k].asked)
			continue;
		to[k].result = res ? res : receivers[to[k].part].result;
		for (int i = 1; !res && i < RECORD_TRIES && record_is_wrong(to[k].result); i++) {
			to[k].result = find_again(service, &to[k].use);
			if (to[k].result)
				break;
			again.key = key_to_send(&to[k].use);
			(void)tee_fan_out(&service->tee, key_to_send(from), &again, 1, job->aad, service->in,
					  job->in_size, service->fan + to[k].part * KEYCACHE_FAN_STRIDE(job->in_size));
			to[k].result = again.result;
		}
		/* Of a message that is refused the TA has not looked at the receivers. */
		if (res || !all_were_found(to[k].result))
			undo(service, &to[k].use);
	}
	if (!all_were_found(res))
		undo(service, from);
	return res;
}

static uint32_t fan_out_with_previous(struct service *service, struct use *from, struct fan_use *to, size_t count,
				      const struct job *job)
{
	struct use before = { .id = id_previous(from->id.text) };
	uint32_t res;

	for (size_t k = 0; k < count; k++)
		to[k] = (struct fan_use){ .use = { .id = to[k].use.id } };
	res = fan_out_once(service, &before, to, count, job);
	if (!res)
		*from = before;
	return of_previous(res);
}

/* The same; the sender's previous key is tried as in work(), and stays in `from` if it was that one. */
static uint32_t fan_out(struct service *service, struct use *from, struct fan_use *to, size_t count,
			const struct job *job)
{
	uint32_t res = fan_out_once(service, from, to, count, job);

	return may_be_older(service, &from->id, res) ? fan_out_with_previous(service, from, to, count, job) : res;
}

static void wipe(struct service *service, size_t in_size, size_t out_size)
{
	OPENSSL_cleanse(service->in, in_size < sizeof(service->in) ? in_size : sizeof(service->in));
	OPENSSL_cleanse(service->out, out_size < sizeof(service->out) ? out_size : sizeof(service->out));
}

static void command_ping(const struct call *call)
{
	if (call->request->count == 2)
		resp_bulk(call->reply, argument(call, 1)->data, argument(call, 1)->size);
	else
		resp_status(call->reply, "PONG");
}

static void command_quit(const struct call *call)
{
	call->client->quit = true;
	resp_status(call->reply, "OK");
}

static const char wrong_name[] = "WRONGPASS invalid username-password pair or user is disabled.";

static bool own_name(const struct call *call, size_t index)
{
	const struct resp_argument *name = argument(call, index);
	const char *own = call->client->id.text;

	return name->size == strlen(own) && !memcmp(name->data, own, name->size);
}

/* Who it is was settled by the certificate; a name may be said, and must be that one. */
static void command_auth(const struct call *call)
{
	if (call->request->count == 2)
		resp_error(call->reply,
			   "ERR AUTH <password> called without any password configured: the client certificate "
			   "says who you are");
	else if (own_name(call, 1))
		resp_status(call->reply, "OK");
	else
		resp_error(call->reply, wrong_name);
}

/* HELLO [VERSION [AUTH name password] [SETNAME name]]. Nothing is changed unless all of it is right. */
static void command_hello(const struct call *call)
{
	uint32_t version = call->client->resp3 ? 3 : 2;
	char text[120];

	if (call->request->count > 1 && !number(argument(call, 1), &version)) {
		resp_error(call->reply, "ERR Protocol version is not an integer or out of range");
		return;
	}
	if (version != 2 && version != 3) {
		resp_error(call->reply, "NOPROTO unsupported protocol version");
		return;
	}
	for (size_t i = 2; i < call->request->count;) {
		size_t left = call->request->count - i;

		if (word_is(argument(call, i), "AUTH") && left > 2) {
			if (!own_name(call, i + 1)) {
				resp_error(call->reply, wrong_name);
				return;
			}
			i += 3;
		} else if (word_is(argument(call, i), "SETNAME") && left > 1) {
			i += 2;
		} else {
			(void)snprintf(text, sizeof(text), "ERR Syntax error in HELLO option '%.64s'",
				       (const char *)argument(call, i)->data);
			resp_error(call->reply, text);
			note(call, "an option that is none");
			return;
		}
	}
	call->client->resp3 = version == 3;
	resp_map(call->reply, call->client->resp3, 6);
	resp_bulk_text(call->reply, "server");
	resp_bulk_text(call->reply, "keycache");
	resp_bulk_text(call->reply, "version");
	resp_bulk_text(call->reply, KEYCACHE_VERSION);
	resp_bulk_text(call->reply, "proto");
	resp_integer(call->reply, version);
	resp_bulk_text(call->reply, "mode");
	resp_bulk_text(call->reply, "standalone");
	resp_bulk_text(call->reply, "role");
	resp_bulk_text(call->reply, "master");
	resp_bulk_text(call->reply, "modules");
	resp_array(call->reply, 0);
}

/* What client libraries say about themselves when they connect. */
static void command_client(const struct call *call)
{
	if (word_is(argument(call, 1), "SETINFO") || word_is(argument(call, 1), "SETNAME"))
		resp_status(call->reply, "OK");
	else
		resp_error(call->reply, "ERR unknown subcommand of CLIENT");
}

/* redis-cli asks for help texts. */
static void command_command(const struct call *call)
{
	if (call->request->count > 1 && word_is(argument(call, 1), "DOCS"))
		resp_map(call->reply, call->client->resp3, 0);
	else
		resp_array(call->reply, 0);
}

static void command_get(const struct call *call)
{
	struct service *service = call->service;
	struct use uses[2] = { { .id = key_of(call, 1, TO_USE) } };
	size_t size;
	uint32_t res;

	/* Before anything is looked up, and for every id alike. */
	if (!(service->tee.setup.flags & KEYCACHE_ALLOW_GET)) {
		answer_result(call, KEYCACHE_GET_OFF);
		return;
	}
	res = work(service, &(const struct job){ .operation = GET }, uses, &size);
	if (res == KEYCACHE_NO_KEY) {
		resp_nil(call->reply, call->client->resp3);
		note(call, "no such key");
	} else if (res)
		answer_result(call, res);
	else
		resp_bulk(call->reply, service->out, size);
	wipe(service, 0, KEYCACHE_KEY_BYTES);
}

/* Asks the TA about each key in turn, some of them at a time; counts those that were there. */
static void count_keys(const struct call *call, uint32_t (*ask)(const struct call *call, size_t index))
{
	struct client *client = call->client;
	uint32_t res = RESULT_OK;

	do {
		res = ask(call, ++client->done);
		client->found += !res;
		report_key(call, argument(call, client->done), NULL, res);
		if (res == KEYCACHE_NO_KEY)
			res = RESULT_OK;
	} while (!res && client->done + 1 < call->request->count && call->service->tee.calls < call->service->stop_at);
	if (!res && client->done + 1 < call->request->count)
		return;
	if (res)
		answer_result(call, res);
	else
		resp_integer(call->reply, (long long)client->found);
	client->done = 0;
	client->found = 0;
}

uint32_t service_delete(struct service *service, const char *id)
{
	uint32_t res = tee_delete(&service->tee, id);

	if (res && res != KEYCACHE_NO_KEY)
		return res;
	service_drop(service, id);
	service_drop(service, id_previous(id).text);
	/* A deadline that the disk does not let go of finds no key when it has come. */
	(void)expiry_set(service->expiry, EXPIRY_DELETE, id, EXPIRY_NEVER);
	(void)expiry_set(service->expiry, EXPIRY_FORGET, id, EXPIRY_NEVER);
	return res;
}

static uint32_t delete_one(const struct call *call, size_t index)
{
	struct id id = key_of(call, index, TO_MANAGE);
	bool over = expiry_is_over(call->service->expiry, EXPIRY_DELETE, id.text);
	uint32_t res = service_delete(call->service, id.text);

	/* It was not there any more, but for its waiting to be deleted. */
	return over && !res ? KEYCACHE_NO_KEY : res;
}

static uint32_t find_one(const struct call *call, size_t index)
{
	struct id id = key_of(call, index, TO_KNOW);

	return tee_exists(&call->service->tee, id.text);
}

static void command_del(const struct call *call)
{
	count_keys(call, delete_one);
}

static void command_exists(const struct call *call)
{
	count_keys(call, find_one);
}

/* `*` and `?`; after a mismatch the last star takes one more, which is enough and never takes long. */
static bool glob(const uint8_t *pattern, size_t size, const char *text)
{
	size_t at = 0;
	size_t star = SIZE_MAX;
	const char *from = NULL;

	while (*text) {
		if (at < size && pattern[at] == '*') {
			star = at++;
			from = text;
		} else if (at < size && (pattern[at] == '?' || pattern[at] == (uint8_t)*text)) {
			at++;
			text++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (at < size && pattern[at] == '*')
		at++;
	return at == size;
}

static void command_scan(const struct call *call)
{
	const struct resp_argument *match = NULL;
	struct buffer found = { 0 };
	char ids[SCAN_BYTES];
	char cursor[16];
	size_t size = sizeof(ids);
	size_t count = 0;
	uint32_t next;
	uint32_t ignored;
	uint32_t res;

	if (!number(argument(call, 1), &next)) {
		resp_error(call->reply, "ERR invalid cursor");
		return;
	}
	for (size_t i = 2; i < call->request->count; i += 2) {
		bool more = i + 1 < call->request->count;

		if (more && word_is(argument(call, i), "MATCH")) {
			match = argument(call, i + 1);
		} else if (!more || !word_is(argument(call, i), "COUNT") || !number(argument(call, i + 1), &ignored)) {
			resp_error(call->reply, "ERR syntax error");
			return;
		}
	}
	if (!is_admin(call)) {
		call->service->counts.denied++;
		note(call, "not an administrator");
		next = 0;
		size = 0;
	} else {
		res = tee_list(&call->service->tee, &next, ids, &size);
		if (res) {
			answer_result(call, res);
			return;
		}
	}
	for (size_t at = 0; at < size && memchr(ids + at, 0, size - at); at += strlen(ids + at) + 1) {
		if ((match && !glob(match->data, match->size, ids + at)) ||
		    expiry_is_over(call->service->expiry, EXPIRY_DELETE, ids + at))
			continue;
		resp_bulk_text(&found, ids + at);
		count++;
	}
	(void)snprintf(cursor, sizeof(cursor), "%" PRIu32, next);
	resp_array(call->reply, 2);
	resp_bulk_text(call->reply, cursor);
	resp_array(call->reply, count);
	buffer_append(call->reply, found.data, found.size);
	if (found.failed)
		call->reply->failed = true;
	buffer_free(&found);
}

/* nonce || ciphertext || tag, from two arguments. False, and an answer, if that cannot be one. */
static bool take_message(const struct call *call, size_t index, size_t *size)
{
	const struct resp_argument *nonce = argument(call, index);
	const struct resp_argument *sealed = argument(call, index + 1);

	if (nonce->size != KEYCACHE_NONCE_BYTES) {
		resp_error(call->reply, "ERR a nonce has 12 bytes");
		return false;
	}
	if (sealed->size < KEYCACHE_TAG_BYTES || sealed->size > KEYCACHE_PAYLOAD_BYTES + KEYCACHE_TAG_BYTES) {
		resp_error(call->reply, "ERR a ciphertext has 16 to 65552 bytes, the tag is its last 16");
		return false;
	}
	memcpy(call->service->in, nonce->data, nonce->size);
	memcpy(call->service->in + nonce->size, sealed->data, sealed->size);
	*size = nonce->size + sealed->size;
	return true;
}

static void answer_message(const struct call *call, uint32_t res, size_t size)
{
	const uint8_t *message = call->service->out;

	if (res) {
		answer_result(call, res);
		return;
	}
	resp_array(call->reply, 2);
	resp_bulk(call->reply, message, KEYCACHE_NONCE_BYTES);
	resp_bulk(call->reply, message + KEYCACHE_NONCE_BYTES, size - KEYCACHE_NONCE_BYTES);
}

/* The additional data of a request, if it has that argument. False, and an answer, if it is too much. */
static bool take_aad(const struct call *call, size_t index, struct tee_aad *aad)
{
	*aad = (struct tee_aad){ 0 };
	if (call->request->count <= index)
		return true;
	*aad = (struct tee_aad){ argument(call, index)->data, argument(call, index)->size };
	if (aad->size > KEYCACHE_AAD_BYTES)
		resp_error(call->reply, "ERR additional data has at most 1024 bytes");
	return aad->size <= KEYCACHE_AAD_BYTES;
}

static void command_seal(const struct call *call)
{
	struct job job = { .operation = SEAL };
	struct use uses[2] = { { .id = key_of(call, 1, TO_USE) } };
	const struct resp_argument *plain = argument(call, 2);
	size_t size;
	uint32_t res;

	if (plain->size > KEYCACHE_PAYLOAD_BYTES) {
		resp_error(call->reply, "ERR a plaintext has at most 65536 bytes");
		return;
	}
	if (!take_aad(call, 3, &job.aad))
		return;
	memcpy(call->service->in, plain->data, plain->size);
	job.in_size = plain->size;
	res = work(call->service, &job, uses, &size);
	answer_message(call, res, size);
	wipe(call->service, plain->size, 0);
}

static void command_open(const struct call *call)
{
	struct job job = { .operation = UNSEAL };
	struct use uses[2] = { { .id = key_of(call, 1, TO_USE) } };
	size_t size;
	uint32_t res;

	if (!take_aad(call, 4, &job.aad) || !take_message(call, 2, &job.in_size))
		return;
	res = work(call->service, &job, uses, &size);
	if (res)
		answer_result(call, res);
	else
		resp_bulk(call->reply, call->service->out, size);
	wipe(call->service, 0, job.in_size);
}

/* The ids of the first two arguments, if there is a right to pass messages on from the one to the other. */
static bool may_relay(const struct call *call, struct id *from, struct id *to)
{
	return id_make(from, argument(call, 1)->data, argument(call, 1)->size) &&
	       id_make(to, argument(call, 2)->data, argument(call, 2)->size) &&
	       acl_may(call->service->acl, ACL_RELAY, call->client->id.text, from->text, to->text);
}

static void command_reencrypt(const struct call *call)
{
	struct job job = { .operation = REENCRYPT };
	struct use uses[2] = { 0 };
	size_t size;
	uint32_t res;

	if (may_relay(call, &uses[0].id, &uses[1].id)) {
		uses[0].id = unless_over(call, uses[0].id);
		uses[1].id = unless_over(call, uses[1].id);
	} else {
		uses[0].id = key_of(call, 1, TO_USE);
		uses[1].id = key_of(call, 2, TO_REENCRYPT);
	}
	if (!take_aad(call, 5, &job.aad) || !take_message(call, 3, &job.in_size))
		return;
	res = work(call->service, &job, uses, &size);
	/* The size is read only where there is one. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
	answer_message(call, res, size);
}

/* Whether, of a message of the first argument's client, the one of argument `index` may have a copy. */
static bool may_receive(const struct call *call, bool use_from, const struct id *from, size_t index, struct id *to)
{
	const struct acl *acl = call->service->acl;
	const char *name = call->client->id.text;

	if (!id_make(to, argument(call, index)->data, argument(call, index)->size))
		return false;
	if (acl_may(acl, ACL_RELAY, name, from->text, to->text))
		return true;
	return use_from && (!strcmp(to->text, name) || acl_may(acl, ACL_USE, name, to->text, NULL) ||
			    acl_may(acl, ACL_REENCRYPT, name, to->text, NULL));
}

/*
 * RELAY from nonce ciphertext aad [to ...]: answers as many as there are receivers, each a message or an error; an error alone if
 * it is about the sender.
 */
static void command_relay(const struct call *call)
{
	struct service *service = call->service;
	const struct acl *acl = service->acl;
	const char *name = call->client->id.text;
	const size_t first = 5;
	size_t count = call->request->count - first;
	struct fan_use to[KEYCACHE_FAN_MOST];
	struct resp_argument copies[KEYCACHE_FAN_MOST];
	const char *why[KEYCACHE_FAN_MOST];
	const char *why_from;
	size_t copied = 0;
	struct use from = { .id = { ID_ABSENT } };
	struct job job = { .operation = REENCRYPT };
	struct id id;
	size_t stride;
	size_t at_once;
	bool use_from;
	uint32_t res = RESULT_OK;

	if (!take_aad(call, 4, &job.aad) || !take_message(call, 2, &job.in_size))
		return;
	if (!id_make(&id, argument(call, 1)->data, argument(call, 1)->size))
		id = from.id;
	use_from = !strcmp(id.text, name) || acl_may(acl, ACL_USE, name, id.text, NULL);
	if (use_from || acl_may(acl, ACL_CHECK, name, id.text, NULL)) {
		from.id = unless_over(call, id);
	} else {
		service->counts.denied++;
		note(call, "no right to relay from the key");
	}
	why_from = service->why;
	stride = KEYCACHE_FAN_STRIDE(job.in_size);
	at_once = TEE_FAN_BYTES / stride < KEYCACHE_FAN_MOST ? TEE_FAN_BYTES / stride : KEYCACHE_FAN_MOST;
	for (size_t k = 0; k < count; k++) {
		to[k] = (struct fan_use){ .use = { .id = { ID_ABSENT } } };
		service->why = NULL;
		if (may_receive(call, use_from, &from.id, first + k, &id)) {
			to[k].use.id = unless_over(call, id);
		} else {
			service->counts.denied++;
			note(call, "no right to relay to the second key");
		}
		why[k] = service->why;
	}
	service->why = why_from;
	for (size_t begin = 0; begin < count || !begin; begin += at_once) {
		size_t size = count - begin < at_once ? count - begin : at_once;

		res = fan_out(service, &from, to + begin, size, &job);
		if (res) {
			/* The first receivers may have theirs: it is the answer for each of the others then. */
			for (size_t k = begin; k < (begin ? count : 1); k++) {
				answer_result(call, res);
				if (begin)
					report_key(call, argument(call, 1), argument(call, first + k), res);
			}
			break;
		}
		if (!begin)
			resp_array(call->reply, count);
		for (size_t k = begin; k < begin + size; k++) {
			const uint8_t *copy = service->fan + to[k].part * stride;

			if (to[k].result) {
				answer_result(call, to[k].result);
				service->why = why[k];
				report_key(call, argument(call, 1), argument(call, first + k), to[k].result);
				continue;
			}
			copies[copied++] = *argument(call, first + k);
			resp_array(call->reply, 2);
			resp_bulk(call->reply, copy, KEYCACHE_NONCE_BYTES);
			resp_bulk(call->reply, copy + KEYCACHE_NONCE_BYTES, job.in_size - KEYCACHE_NONCE_BYTES);
		}
	}
	if (copied || (!count && !res))
		report_copies(call, argument(call, 1), copies, copied);
}

/* A client learns about the server; what other clients do, only the administrator may know. */
static void command_info(const struct call *call)
{
	struct service *service = call->service;
	struct buffer text = { 0 };
	struct figures figures;

	buffer_text(&text, "# Server\r\n");
	buffer_text(&text, "keycache_version:" KEYCACHE_VERSION "\r\n");
	buffer_format(&text, "tee:%s\r\n", tee_backend.name);
	if (is_admin(call)) {
		figures_take(service, &figures);
		figures_info(service, &figures, &text);
	}
	resp_verbatim(call->reply, call->client->resp3, text.data, text.size);
	if (text.failed)
		call->reply->failed = true;
	buffer_free(&text);
}

static const struct command commands[] = {
	{ "PING", 1, 2, command_ping, .kind = AUDIT_NOTHING },
	{ "SET", 3, RESP_ELEMENTS, command_set, .kind = AUDIT_CHANGE, .from = 1 },
	{ "GENERATE", 2, RESP_ELEMENTS, command_generate, .kind = AUDIT_CHANGE, .from = 1 },
	{ "ENROL", 2, RESP_ELEMENTS, command_enrol, .kind = AUDIT_CHANGE },
	{ "TRUST", 2, 2, command_trust, .kind = AUDIT_CHANGE },
	{ "IDENTITY", 1, 1, command_identity, .kind = AUDIT_NOTHING },
	{ "FORGET", 2, 2, command_forget, .kind = AUDIT_CHANGE, .from = 1 },
	{ "BACKUP", 2, 2, command_backup, .kind = AUDIT_CHANGE },
	{ "KEYINFO", 2, 2, command_keyinfo, .kind = AUDIT_NOTHING, .from = 1 },
	{ "GET", 2, 2, command_get, .kind = AUDIT_USE, .from = 1 },
	{ "DEL", 2, RESP_ELEMENTS, command_del, .kind = AUDIT_CHANGE, .several = 1 },
	{ "EXISTS", 2, RESP_ELEMENTS, command_exists, .kind = AUDIT_NOTHING, .several = 1 },
	{ "EXPIRE", 3, 3, command_expire, .kind = AUDIT_CHANGE, .from = 1 },
	{ "TTL", 2, 2, command_ttl, .kind = AUDIT_NOTHING, .from = 1 },
	{ "PERSIST", 2, 2, command_persist, .kind = AUDIT_CHANGE, .from = 1 },
	{ "SCAN", 2, 6, command_scan, .kind = AUDIT_NOTHING },
	{ "INFO", 1, 2, command_info, .kind = AUDIT_NOTHING },
	{ "AUTH", 2, 3, command_auth, .kind = AUDIT_NOTHING },
	{ "QUIT", 1, 1, command_quit, .kind = AUDIT_NOTHING, .at_once = true },
	{ "SEAL", 3, 4, command_seal, .kind = AUDIT_USE, .from = 1 },
	{ "OPEN", 4, 5, command_open, .kind = AUDIT_USE, .from = 1 },
	{ "REENCRYPT", 5, 6, command_reencrypt, .kind = AUDIT_USE, .from = 1, .to = 2 },
	{ "RELAY", 5, 5 + KEYCACHE_FAN_MOST, command_relay, .kind = AUDIT_USE, .from = 1, .several = 5 },
	{ "HELLO", 1, RESP_ELEMENTS, command_hello, .kind = AUDIT_NOTHING },
	{ "CLIENT", 2, RESP_ELEMENTS, command_client, .kind = AUDIT_NOTHING },
	{ "COMMAND", 1, RESP_ELEMENTS, command_command, .kind = AUDIT_NOTHING },
	{ "MULTI", 1, 1, command_multi, .kind = AUDIT_NOTHING, .at_once = true },
	{ "EXEC", 1, 1, command_exec, .kind = AUDIT_NOTHING, .at_once = true },
	{ "DISCARD", 1, 1, command_discard, .kind = AUDIT_NOTHING, .at_once = true },
	{ "WATCH", 2, RESP_ELEMENTS, command_watch, .kind = AUDIT_NOTHING, .at_once = true },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))
_Static_assert(COMMANDS < SERVICE_COMMANDS, "a histogram for each command, and one for what is none");

const char *service_command(unsigned index)
{
	return index < COMMANDS ? commands[index].name : index == COMMANDS ? "unknown" : NULL;
}

/* COMMANDS if there is none. */
static unsigned command_of(const struct resp_argument *name)
{
	unsigned index = 0;

	while (index < COMMANDS && !word_is(name, commands[index].name))
		index++;
	return index;
}

bool run_request(const struct call *call)
{
	struct service *service = call->service;
	size_t begin = call->reply->size;

	service->why = NULL;
	service->reported = false;
	service->about = (struct id){ 0 };
	call->command->run(call);
	if (call->client->done)
		return false;
	report_request(call, begin);
	return true;
}

/* An answer to what is no command, or has not the words of one. */
static void refuse_request(const struct call *call)
{
	const struct command *command = call->command;
	size_t begin = call->reply->size;
	char text[160];

	call->service->why = NULL;
	call->service->reported = false;
	call->service->about = (struct id){ 0 };
	if (command)
		(void)snprintf(text, sizeof(text), "ERR wrong number of arguments for '%s' command", command->name);
	else
		(void)snprintf(text, sizeof(text), "ERR unknown command '%.64s'",
			       (const char *)argument(call, 0)->data);
	resp_error(call->reply, text);
	/* What a client takes for a command could be a secret, too. */
	if (!command)
		note(call, "unknown command");
	spoil_transaction(call->client);
	report_request(call, begin);
}

bool service_answer(struct service *service, struct client *client, struct resp_request **request, struct buffer *reply)
{
	const unsigned index = command_of(&(*request)->arguments[0]);
	const struct command *command = index < COMMANDS ? &commands[index] : NULL;
	const struct call call = { command, service, client, *request, reply };

	service->counts.requests += !client->done;
	client->command = index;
	if (!command || call.request->count < command->least || call.request->count > command->most) {
		refuse_request(&call);
		return true;
	}
	if (!client->transaction || command->at_once)
		return run_request(&call);
	if (queue_request(&call))
		*request = NULL;
	return true;
}

bool service_is_admin(const struct service *service, const struct client *client)
{
	return acl_may(service->acl, ACL_ADMIN, client->id.text, NULL, NULL);
}

bool service_admits(const struct service *service, const struct client *client)
{
	return !acl_may(service->acl, ACL_DENY, client->id.text, NULL, NULL);
}

uint32_t service_flush(struct service *service)
{
	uint32_t res;

	if (!service->unflushed)
		return RESULT_OK;
	res = tee_flush(&service->tee);
	if (!res)
		service->unflushed = false;
	/* A TA that ended took them along, as --help says. */
	if (res == RESULT_TARGET_DEAD)
		return res;
	if (res && !service->unwritable)
		(void)fprintf(stderr,
			      "keycached: relaxed SETs cannot be written to secure storage (result 0x%08" PRIx32
			      "): they wait in the TA's memory, and each further SET is written before it is "
			      "answered\n",
			      res);
	else if (!res && service->unwritable)
		(void)fputs("keycached: relaxed SETs are written to secure storage again\n", stderr);
	service->unwritable = res;
	return res;
}

void service_end(struct service *service)
{
	if (service->policy)
		policy_destroy(service->policy);
	service->policy = NULL;
	audit_close(service->audit);
	expiry_close(service->expiry);
	shadow_close(service->shadow);
	acl_free(service->acl);
	tee_close(&service->tee);
}
