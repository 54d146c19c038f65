/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points, and what each command takes. Memory of the parameters belongs to the normal world as well and may
 * change at any time: what is in it is copied once, before it is looked at, and results are copied there when they are
 * complete.
 */
#include <tee_internal_api.h>

#include "enrol.h"
#include "index.h"
#include "keycache_ta.h"
#include "keys.h"
#include "messages.h"
#include "points.h"
#include "records.h"
#include "siphash.h"
#include "types.h"

#define NONE TEE_PARAM_TYPE_NONE
#define VALUE_IN TEE_PARAM_TYPE_VALUE_INPUT
#define VALUE_OUT TEE_PARAM_TYPE_VALUE_OUTPUT
#define VALUE_INOUT TEE_PARAM_TYPE_VALUE_INOUT
#define MEMORY_IN TEE_PARAM_TYPE_MEMREF_INPUT
#define MEMORY_OUT TEE_PARAM_TYPE_MEMREF_OUTPUT

#define LIST_BYTES 4096

/* What the server counts on, whatever compiles either. */
_Static_assert(sizeof(struct keycache_record) == 132, "a record has no gaps");
_Static_assert(sizeof(struct keycache_offer) == 200, "an offer has no gaps");
_Static_assert(sizeof(struct keycache_pair) == 532, "a pair has no gaps");
_Static_assert(sizeof(struct keycache_fan) == 272, "a sender has no gaps");
_Static_assert(sizeof(struct keycache_receiver) == 68, "a receiver has no gaps");

#define MESSAGE_BYTES (KEYCACHE_PAYLOAD_BYTES + KEYCACHE_EXTRA_BYTES)

/*
 * Copies of a command's texts. Commands run one at a time. What is behind a message's nonce begins at a multiple of 16, too:
 * OP-TEE's GCM in software works by whole words there, and byte by byte elsewhere.
 */
static _Alignas(16) uint8_t room[16 - KEYCACHE_NONCE_BYTES + MESSAGE_BYTES];
static uint8_t *const message = room + 16 - KEYCACHE_NONCE_BYTES;
static _Alignas(16) uint8_t plain[KEYCACHE_PAYLOAD_BYTES];
/* KEYCACHE_PREVIOUS or nothing, an id, a zero and additional data; or the additional data of REENCRYPT alone. */
#define NAMED_BYTES (1 + KEYCACHE_ID_BYTES + 1 + KEYCACHE_AAD_BYTES)
/* One more, so that what is behind a name without additional data is a place, too. */
static uint8_t named[NAMED_BYTES + 1];

/* Who opened a session: Linux says by which user, if it was asked to (TEEC_LOGIN_USER). */
struct session {
	TEE_Identity client;
};

/*
 * Whose TA it is: of whom configured it first. Others get nothing of it before it is unloaded, or any program that may open the
 * TEE's device could configure it behind its server's back.
 */
static TEE_Identity owner;
static bool owned;
/* The owner's session that was asked last: found without another comparison. */
static const struct session *trusted;

static bool is_owner(const TEE_Identity *client)
{
	return client->login == owner.login && !TEE_MemCompare(&client->uuid, &owner.uuid, sizeof(owner.uuid));
}

static bool may_ask(const struct session *session)
{
	if (!owned || session == trusted)
		return true;
	if (!is_owner(&session->client))
		return false;
	trusted = session;
	return true;
}

TEE_Result TA_CreateEntryPoint(void)
{
	TEE_Result res = messages_open();

	if (!res)
		res = records_open();
	if (!res)
		res = points_open();
	if (res) {
		records_close();
		messages_close();
	}
	siphash_start();
	return res;
}

void TA_DestroyEntryPoint(void)
{
	keys_close();
	enrol_forget();
	points_close();
	records_close();
	messages_close();
	owned = false;
	trusted = NULL;
}

TEE_Result TA_OpenSessionEntryPoint(uint32_t types, TEE_Param params[TEE_NUM_PARAMS], void **context)
{
	struct session *session;
	TEE_Identity client;
	TEE_Result res;

	(void)params;
	if (types != TEE_PARAM_TYPES(NONE, NONE, NONE, NONE))
		return TEE_ERROR_BAD_PARAMETERS;
	res = TEE_GetPropertyAsIdentity(TEE_PROPSET_CURRENT_CLIENT, "gpd.client.identity", &client);
	if (res)
		return res;
	if (owned && !is_owner(&client))
		return TEE_ERROR_ACCESS_DENIED;
	session = TEE_Malloc(sizeof(*session), TEE_MALLOC_FILL_ZERO);
	if (!session)
		return TEE_ERROR_OUT_OF_MEMORY;
	session->client = client;
	*context = session;
	return TEE_SUCCESS;
}

void TA_CloseSessionEntryPoint(void *context)
{
	if (trusted == context)
		trusted = NULL;
	TEE_Free(context);
}

/* Copies all of an input of a size that is due. */
static TEE_Result take(const TEE_Param *param, void *to, size_t bytes)
{
	if (!param->memref.buffer || param->memref.size != bytes)
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(to, param->memref.buffer, bytes);
	return TEE_SUCCESS;
}

/* Copies a plaintext, which may be empty. */
static TEE_Result take_plain(const TEE_Param *param)
{
	if (!param->memref.buffer && param->memref.size)
		return TEE_ERROR_BAD_PARAMETERS;
	if (param->memref.size > sizeof(plain))
		return TEE_ERROR_EXCESS_DATA;
	if (param->memref.size)
		TEE_MemMove(plain, param->memref.buffer, param->memref.size);
	return TEE_SUCCESS;
}

/* The same of a message, in two steps: if the normal world aligns it as we do, each goes by whole words. */
static TEE_Result take_message(const TEE_Param *param)
{
	size_t bytes = param->memref.size;
	const uint8_t *from = param->memref.buffer;

	if (bytes < KEYCACHE_EXTRA_BYTES || !from)
		return TEE_ERROR_BAD_PARAMETERS;
	if (bytes > MESSAGE_BYTES)
		return TEE_ERROR_EXCESS_DATA;
	TEE_MemMove(message, from, KEYCACHE_NONCE_BYTES);
	TEE_MemMove(message + KEYCACHE_NONCE_BYTES, from + KEYCACHE_NONCE_BYTES, bytes - KEYCACHE_NONCE_BYTES);
	return TEE_SUCCESS;
}

static void give_message(TEE_Param *param, size_t bytes)
{
	uint8_t *to = param->memref.buffer;

	TEE_MemMove(to, message, KEYCACHE_NONCE_BYTES);
	TEE_MemMove(to + KEYCACHE_NONCE_BYTES, message + KEYCACHE_NONCE_BYTES, bytes - KEYCACHE_NONCE_BYTES);
	param->memref.size = bytes;
}

/* Whether an output has room for so many bytes; the answer says in any case how many there are. */
static TEE_Result fits(TEE_Param *param, size_t bytes)
{
	size_t size = param->memref.size;

	param->memref.size = bytes;
	return bytes && (!param->memref.buffer || size < bytes) ? TEE_ERROR_SHORT_BUFFER : TEE_SUCCESS;
}

/* Gives an output that fits. */
static void give(TEE_Param *param, const void *from, size_t bytes)
{
	if (bytes)
		TEE_MemMove(param->memref.buffer, from, bytes);
	param->memref.size = bytes;
}

TEE_Result id_make(const uint8_t *bytes, size_t length, struct id *id)
{
	size_t at;

	if (!length || length > KEYCACHE_ID_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemFill(id, 0, sizeof(*id));
	TEE_MemMove(id->bytes, bytes, length);
	id->length = (uint8_t)length;
	for (at = 0; at < length; at++)
		if (id->bytes[at] <= ' ' || id->bytes[at] > '~')
			return TEE_ERROR_BAD_PARAMETERS;
	return TEE_SUCCESS;
}

/* The name of a client's key, or of its previous one. */
static TEE_Result make_either(const uint8_t *bytes, size_t length, bool previous, struct id *id)
{
	TEE_Result res = id_make(bytes, length, id);

	id->previous = previous;
	return !res && previous && keys_naive() ? TEE_ERROR_NOT_SUPPORTED : res;
}

/* The same, as structs have it. */
static TEE_Result make_marked(const uint8_t *bytes, uint8_t length, struct id *id)
{
	return make_either(bytes, length & (uint8_t)~KEYCACHE_PREVIOUS, length & KEYCACHE_PREVIOUS, id);
}

/* Of commands that have nothing to do with a previous key. */
static TEE_Result take_id(const TEE_Param *param, struct id *id)
{
	if (!param->memref.buffer)
		return TEE_ERROR_BAD_PARAMETERS;
	return id_make(param->memref.buffer, param->memref.size, id);
}

/* The same of an id that additional data may follow; with KEYCACHE_PREVIOUS before it, it names the previous key. */
static TEE_Result take_named(const TEE_Param *param, struct id *id, struct aad *aad)
{
	size_t bytes = param->memref.size;
	size_t begin;
	size_t end;

	if (!param->memref.buffer || !bytes || bytes > NAMED_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(named, param->memref.buffer, bytes);
	begin = named[0] == KEYCACHE_PREVIOUS;
	end = begin;
	while (end < bytes && named[end])
		end++;
	*aad = (struct aad){ .bytes = named + end + 1, .size = end < bytes ? bytes - end - 1 : 0 };
	if (aad->size > KEYCACHE_AAD_BYTES)
		return TEE_ERROR_EXCESS_DATA;
	return make_either(named + begin, end - begin, begin, id);
}

/* The same without additional data. */
static TEE_Result take_either(const TEE_Param *param, struct id *id)
{
	uint8_t copy[1 + KEYCACHE_ID_BYTES];
	size_t bytes = param->memref.size;
	size_t begin;

	if (!param->memref.buffer || !bytes || bytes > sizeof(copy))
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(copy, param->memref.buffer, bytes);
	begin = copy[0] == KEYCACHE_PREVIOUS;
	return make_either(copy + begin, bytes - begin, begin, id);
}

/* Two ids, and additional data behind them. */
static TEE_Result take_pair(const TEE_Param *param, struct keycache_pair *pair, struct aad *aad)
{
	const uint8_t *from = param->memref.buffer;
	size_t bytes = param->memref.size;

	if (!from || bytes < sizeof(*pair) || bytes > sizeof(*pair) + KEYCACHE_AAD_BYTES)
		return TEE_ERROR_BAD_PARAMETERS;
	TEE_MemMove(pair, from, sizeof(*pair));
	*aad = (struct aad){ .bytes = named, .size = bytes - sizeof(*pair) };
	if (aad->size)
		TEE_MemMove(named, from + sizeof(*pair), aad->size);
	return TEE_SUCCESS;
}

/* So that what is reserved can be given a meaning one day: no caller sends anything in it. */
static bool is_offer(const struct keycache_offer *offer)
{
	return !(offer->reserved[0] | offer->reserved[1]);
}

/* `*offer` becomes NULL, or points to `copy`. */
static TEE_Result take_offer(const TEE_Param *param, struct keycache_offer *copy, const struct keycache_offer **offer)
{
	TEE_Result res;

	*offer = NULL;
	if (!param->memref.size)
		return TEE_SUCCESS;
	*offer = copy;
	res = take(param, copy, sizeof(*copy));
	return !res && !is_offer(copy) ? TEE_ERROR_BAD_PARAMETERS : res;
}

static TEE_Result configure(TEE_Param params[TEE_NUM_PARAMS])
{
	const struct config config = {
		.storage = params[0].value.a,
		.policy = params[0].value.b,
		.cache_bytes = params[1].value.a,
		.flags = params[1].value.b,
		.index_bytes = params[2].value.a ? params[2].value.a : INDEX_DEFAULT,
	};

	if (config.storage != KEYCACHE_REE && config.storage != KEYCACHE_RPMB)
		return TEE_ERROR_BAD_PARAMETERS;
	if (config.policy < KEYCACHE_POLICY_NONE || config.policy > KEYCACHE_POLICY_HOST)
		return TEE_ERROR_BAD_PARAMETERS;
	if (config.flags & ~(KEYCACHE_ALLOW_GET | KEYCACHE_NAIVE) || params[2].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	if (config.index_bytes < INDEX_LEAST)
		return TEE_ERROR_BAD_PARAMETERS;
	messages_forget();
	enrol_forget();
	return keys_configure(&config);
}

/* How many bytes of records a command that sets a key may have to give. */
static size_t records_due(bool keeps)
{
	if (keys_naive())
		return 0;
	return (keeps ? 2 : 1) * sizeof(struct keycache_record);
}

static void give_records(TEE_Param *param, const struct records *records)
{
	give(param, records->records, keys_naive() ? 0 : records->count * sizeof(struct keycache_record));
}

static bool are_restrictions(uint32_t flags)
{
	return !(flags & ~(uint32_t)(KEYCACHE_RESTRICTIONS | KEYCACHE_NO_GET));
}

/* A key's flags, if the normal world asks for it with these restrictions. */
static uint8_t flags_of(uint32_t restrictions)
{
	uint8_t gettable = restrictions & KEYCACHE_NO_GET ? 0 : KEYCACHE_GETTABLE;

	return keys_flags((uint8_t)(restrictions & KEYCACHE_RESTRICTIONS) | gettable);
}

static TEE_Result set(TEE_Param params[TEE_NUM_PARAMS])
{
	const uint32_t how = params[3].value.a;
	const uint32_t restrictions = params[3].value.b;
	const struct setting setting = { .relaxed = how == KEYCACHE_RELAXED, .keep = how == KEYCACHE_KEEP };
	size_t bytes = params[1].memref.size;
	struct records records;
	struct key key = { 0 };
	struct id id;
	TEE_Result res = take_id(&params[0], &id);

	if (res)
		return res;
	if (bytes != 16 && bytes != 32)
		return TEE_ERROR_BAD_PARAMETERS;
	if ((how && !setting.relaxed && !setting.keep) || !are_restrictions(restrictions))
		return TEE_ERROR_BAD_PARAMETERS;
	if (keys_naive() && (setting.keep || restrictions & KEYCACHE_RESTRICTIONS))
		return TEE_ERROR_NOT_SUPPORTED;
	res = fits(&params[2], records_due(setting.keep));
	if (!res)
		res = take(&params[1], key.bytes, bytes);
	if (res)
		return res;
	key.length = (uint8_t)bytes;
	key.flags = flags_of(restrictions);
	if (!keys_naive())
		res = keys_may_set(&id, key.flags, 0);
	if (!res)
		res = keys_set(&id, &key, &setting, &records);
	if (!res)
		give_records(&params[2], &records);
	wipe(&key, sizeof(key));
	messages_forget();
	return res;
}

static TEE_Result generate(TEE_Param params[TEE_NUM_PARAMS])
{
	const struct setting setting = { .keep = params[3].value.a == KEYCACHE_KEEP };
	struct records records;
	struct key key = { .length = (uint8_t)params[1].value.a, .flags = (uint8_t)params[1].value.b };
	struct id id;
	TEE_Result res = take_id(&params[0], &id);

	if (res)
		return res;
	if (params[1].value.a != 16 && params[1].value.a != 32)
		return TEE_ERROR_BAD_PARAMETERS;
	if (!are_restrictions(params[1].value.b) || (params[3].value.a && !setting.keep) || params[3].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	res = fits(&params[2], records_due(setting.keep));
	if (!res)
		res = keys_may_set(&id, key.flags, 0);
	if (res)
		return res;
	TEE_GenerateRandom(key.bytes, key.length);
	res = keys_set(&id, &key, &setting, &records);
	if (!res)
		give_records(&params[2], &records);
	wipe(&key, sizeof(key));
	messages_forget();
	return res;
}

static TEE_Result identity(TEE_Param params[TEE_NUM_PARAMS])
{
	struct keycache_identity copy;
	TEE_Result res = fits(&params[0], sizeof(copy));

	if (res)
		return res;
	enrol_identity(&copy);
	give(&params[0], &copy, sizeof(copy));
	return TEE_SUCCESS;
}

static TEE_Result trust(TEE_Param params[TEE_NUM_PARAMS])
{
	struct keycache_trust copy;
	TEE_Result res = take(&params[0], &copy, sizeof(copy));

	return res ? res : enrol_trust(&copy);
}

static TEE_Result enrol(TEE_Param params[TEE_NUM_PARAMS])
{
	const bool keep = params[1].value.a == KEYCACHE_KEEP;
	const bool verify = params[1].value.a == KEYCACHE_VERIFY;
	struct keycache_enrolment copy;
	struct keycache_handover handover;
	struct records records;
	bool hands_over = false;
	struct id id;
	TEE_Result res = take(&params[0], &copy, sizeof(copy));
	TEE_Result other;

	if (!res)
		res = enrol_look(&copy, &id, &hands_over);
	if (res)
		return res;
	if ((params[1].value.a && !keep && !verify) || params[1].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	if (verify) {
		params[2].memref.size = 0;
		params[3].memref.size = 0;
		return enrol_verify(&copy, &id);
	}
	res = fits(&params[2], records_due(keep));
	other = fits(&params[3], hands_over ? sizeof(handover) : 0);
	if (res || other)
		return TEE_ERROR_SHORT_BUFFER;
	res = enrol_key(&copy, &id, keep, &records, hands_over ? &handover : NULL);
	if (!res) {
		give_records(&params[2], &records);
		give(&params[3], &handover, hands_over ? sizeof(handover) : 0);
	}
	messages_forget();
	return res;
}

static TEE_Result backup(TEE_Param params[TEE_NUM_PARAMS])
{
	const size_t least = sizeof(struct keycache_backup) + sizeof(struct keycache_saved);
	size_t bytes = params[1].memref.size < sizeof(plain) ? params[1].memref.size : sizeof(plain);
	uint32_t position = params[0].value.a;
	TEE_Result res;

	if (params[0].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	if (!params[1].memref.buffer || bytes < least) {
		params[1].memref.size = least;
		return TEE_ERROR_SHORT_BUFFER;
	}
	res = enrol_backup(&position, plain, &bytes);
	if (res)
		return res;
	give(&params[1], plain, bytes);
	params[0].value.a = position;
	return TEE_SUCCESS;
}

static TEE_Result forget(TEE_Param params[TEE_NUM_PARAMS])
{
	struct id id;
	TEE_Result res = take_id(&params[0], &id);

	messages_forget();
	return res ? res : keys_forget(&id);
}

/* Whether a key is for a use: `without` is the restriction that says it is not. */
static TEE_Result may(const struct key *key, uint8_t without)
{
	return key->flags & without ? KEYCACHE_USE_DENIED : TEE_SUCCESS;
}

static TEE_Result get(TEE_Param params[TEE_NUM_PARAMS])
{
	const struct keycache_offer *offer;
	struct keycache_offer copy;
	struct key key = { 0 };
	struct id id;
	bool cached;
	TEE_Result res = take_id(&params[0], &id);

	if (!res)
		res = take_offer(&params[1], &copy, &offer);
	if (res)
		return res;
	if (!keys_can_be_got())
		return KEYCACHE_GET_OFF;
	res = keys_use(&id, offer, &key, &cached);
	if (!res)
		res = may(&key, KEYCACHE_NO_OPEN);
	if (!res && !(key.flags & KEYCACHE_GETTABLE))
		res = KEYCACHE_GET_OFF;
	if (!res)
		res = fits(&params[2], key.length);
	if (!res)
		give(&params[2], key.bytes, key.length);
	wipe(&key, sizeof(key));
	return res;
}

static TEE_Result delete(TEE_Param params[TEE_NUM_PARAMS])
{
	struct id id;
	TEE_Result res = take_id(&params[0], &id);

	messages_forget();
	return res ? res : keys_delete(&id);
}

static TEE_Result exists(TEE_Param params[TEE_NUM_PARAMS])
{
	struct id id;
	TEE_Result res = take_either(&params[0], &id);

	return res ? res : keys_exists(&id);
}

/* Whether a key may seal one more message; once in a while that is written down. */
static TEE_Result may_seal(const struct id *id, struct key *key)
{
	if (key->flags & KEYCACHE_WORN)
		return KEYCACHE_WORN_OUT;
	return messages_next_counts() ? keys_count(id, key) : TEE_SUCCESS;
}

/*
 * Whether a sender's key is for that, and this is what it says about itself: "KC1" or "KC2", its length and its name, which the
 * additional data of a named key begins with.
 */
static TEE_Result may_send(const struct id *id, const struct key *key, const struct aad *aad)
{
	const uint8_t *at = aad->bytes;

	if (key->flags & KEYCACHE_NO_FROM)
		return KEYCACHE_USE_DENIED;
	if (!(key->flags & KEYCACHE_NAMED))
		return TEE_SUCCESS;
	if (aad->size < 4u + id->length || at[0] != 'K' || at[1] != 'C' || (at[2] != '1' && at[2] != '2') ||
	    at[3] != id->length || TEE_MemCompare(at + 4, id->bytes, id->length))
		return KEYCACHE_USE_DENIED;
	return TEE_SUCCESS;
}

/* Whether what a key of some flags has sealed may be sealed with one of others: no way down, and enrolled to enrolled. */
static TEE_Result may_become(uint8_t from, uint8_t to)
{
	if ((from ^ to) & KEYCACHE_ENROLLED)
		return KEYCACHE_USE_DENIED;
	/* Which cannot be got either: see keys_flags(). */
	if (from & KEYCACHE_NO_OPEN && !(to & KEYCACHE_NO_OPEN))
		return KEYCACHE_USE_DENIED;
	return TEE_SUCCESS;
}

/* Both, and the receiver's own; `whose` is whose fault it is. */
static TEE_Result may_pass(const struct id *from, const struct key *from_key, const struct aad *aad,
			   const struct key *to_key, uint32_t *whose)
{
	TEE_Result res = may_send(from, from_key, aad);

	if (res) {
		*whose = KEYCACHE_OF_FROM;
		return res;
	}
	res = may(to_key, KEYCACHE_NO_TO);
	if (res) {
		*whose = KEYCACHE_OF_TO;
		return res;
	}
	res = may_become(from_key->flags, to_key->flags);
	if (res)
		*whose = KEYCACHE_OF_FROM | KEYCACHE_OF_TO;
	return res;
}

static TEE_Result reencrypt(TEE_Param params[TEE_NUM_PARAMS])
{
	size_t bytes = params[1].memref.size;
	struct keycache_pair pair;
	struct id from;
	struct id to;
	struct key from_key = { 0 };
	struct key to_key = { 0 };
	bool from_cached = false;
	bool to_cached = false;
	struct aad aad;
	TEE_Result res = take_pair(&params[0], &pair, &aad);
	TEE_Result other;

	params[3].value.a = 0;
	params[3].value.b = 0;
	if (!res)
		res = make_marked(pair.from, pair.from_length, &from);
	if (!res)
		res = id_make(pair.to, pair.to_length, &to);
	if (!res && (pair.has_from > 1 || pair.has_to > 1))
		res = TEE_ERROR_BAD_PARAMETERS;
	if (!res && ((pair.has_from && !is_offer(&pair.from_offer)) || (pair.has_to && !is_offer(&pair.to_offer))))
		res = TEE_ERROR_BAD_PARAMETERS;
	/* The size is read once: what is taken is what is worked on. */
	if (!res)
		res = take_message(&params[1]);
	if (!res)
		res = fits(&params[2], bytes);
	if (res)
		return res;

	res = keys_use(&from, pair.has_from ? &pair.from_offer : NULL, &from_key, &from_cached);
	other = keys_use(&to, pair.has_to ? &pair.to_offer : NULL, &to_key, &to_cached);
	params[3].value.a = (uint32_t)from_cached + (uint32_t)to_cached;
	if (res)
		params[3].value.b = other == res ? KEYCACHE_OF_FROM | KEYCACHE_OF_TO : KEYCACHE_OF_FROM;
	else if (other)
		params[3].value.b = KEYCACHE_OF_TO;
	if (!res)
		res = other;
	if (!res)
		res = may_pass(&from, &from_key, &aad, &to_key, &params[3].value.b);
	if (!res) {
		res = message_open(&from_key, &aad, message, bytes, plain);
		if (!res) {
			res = may_seal(&to, &to_key);
			if (res)
				params[3].value.b = KEYCACHE_OF_TO;
		}
		if (!res)
			res = message_seal(&to_key, &aad, plain, bytes - KEYCACHE_EXTRA_BYTES, message);
		if (!res)
			give_message(&params[2], bytes);
		wipe(plain, bytes - KEYCACHE_EXTRA_BYTES);
	}
	wipe(&from_key, sizeof(from_key));
	wipe(&to_key, sizeof(to_key));
	return res;
}

/* The rest of an input that is taken piece by piece, each once. */
struct rest {
	const uint8_t *at;
	size_t bytes;
};

static bool take_piece(struct rest *rest, void *to, size_t bytes)
{
	if (rest->bytes < bytes)
		return false;
	if (bytes)
		TEE_MemMove(to, rest->at, bytes);
	rest->at += bytes;
	rest->bytes -= bytes;
	return true;
}

/*
 * Seals what is in `plain`, which a key of `from_flags` has opened, for the next receiver into `to`. False: what follows cannot be
 * read.
 */
static bool seal_for_next(struct rest *rest, uint8_t from_flags, const struct aad *aad, size_t plain_bytes,
			  TEE_Param *to, uint32_t *result)
{
	struct keycache_receiver receiver;
	struct keycache_offer offer;
	struct key key = { 0 };
	struct id id;
	bool cached;
	TEE_Result res;

	*result = TEE_ERROR_BAD_PARAMETERS;
	if (!take_piece(rest, &receiver, sizeof(receiver)) || receiver.has_offer > 1 ||
	    receiver.reserved[0] | receiver.reserved[1])
		return false;
	if (receiver.has_offer && (!take_piece(rest, &offer, sizeof(offer)) || !is_offer(&offer)))
		return false;
	res = id_make(receiver.id, receiver.length, &id);
	if (!res)
		res = keys_use(&id, receiver.has_offer ? &offer : NULL, &key, &cached);
	if (!res)
		res = may(&key, KEYCACHE_NO_TO);
	if (!res)
		res = may_become(from_flags, key.flags);
	if (res == KEYCACHE_USE_DENIED)
		keys_denied();
	if (!res)
		res = may_seal(&id, &key);
	if (!res)
		res = message_seal(&key, aad, plain, plain_bytes, message);
	if (!res)
		give_message(to, plain_bytes + KEYCACHE_EXTRA_BYTES);
	wipe(&key, sizeof(key));
	*result = res;
	return true;
}

static TEE_Result fan_out(TEE_Param params[TEE_NUM_PARAMS])
{
	static uint32_t results[KEYCACHE_FAN_MOST];
	size_t bytes = params[1].memref.size;
	size_t stride = KEYCACHE_FAN_STRIDE(bytes);
	struct rest rest = { params[0].memref.buffer, params[0].memref.size };
	struct keycache_fan fan;
	struct aad aad;
	struct key from_key = { 0 };
	struct id from;
	bool cached;
	bool readable = true;
	TEE_Result res;
	TEE_Result other;
	uint8_t i;

	if (!rest.at || !take_piece(&rest, &fan, sizeof(fan)))
		return TEE_ERROR_BAD_PARAMETERS;
	if (fan.count > KEYCACHE_FAN_MOST || fan.has_from > 1 || fan.reserved ||
	    (fan.has_from && !is_offer(&fan.from_offer)))
		return TEE_ERROR_BAD_PARAMETERS;
	if (fan.aad_size > KEYCACHE_AAD_BYTES || !take_piece(&rest, named, fan.aad_size))
		return TEE_ERROR_BAD_PARAMETERS;
	aad = (struct aad){ .bytes = named, .size = fan.aad_size };
	res = make_marked(fan.from, fan.from_length, &from);
	if (!res)
		res = take_message(&params[1]);
	if (res)
		return res;
	res = fits(&params[2], fan.count * stride);
	other = fits(&params[3], fan.count * sizeof(results[0]));
	if (res || other)
		return TEE_ERROR_SHORT_BUFFER;

	res = keys_use(&from, fan.has_from ? &fan.from_offer : NULL, &from_key, &cached);
	if (!res)
		res = may_send(&from, &from_key, &aad);
	if (!res)
		res = message_open(&from_key, &aad, message, bytes, plain);
	wipe(from_key.bytes, sizeof(from_key.bytes));
	if (res)
		return res;
	for (i = 0; i < fan.count; i++) {
		/* Of the one output, this receiver's part. */
		TEE_Param to = { .memref = { (uint8_t *)params[2].memref.buffer + i * stride, stride } };

		results[i] = TEE_ERROR_BAD_PARAMETERS;
		if (readable)
			readable = seal_for_next(&rest, from_key.flags, &aad, bytes - KEYCACHE_EXTRA_BYTES, &to,
						 &results[i]);
	}
	wipe(plain, bytes - KEYCACHE_EXTRA_BYTES);
	give(&params[3], results, fan.count * sizeof(results[0]));
	return TEE_SUCCESS;
}

static TEE_Result seal(TEE_Param params[TEE_NUM_PARAMS])
{
	size_t bytes = params[1].memref.size;
	const struct keycache_offer *offer;
	struct keycache_offer copy;
	struct key key = { 0 };
	struct id id;
	bool cached;
	struct aad aad;
	TEE_Result res = take_named(&params[0], &id, &aad);

	/* A previous key seals nothing. */
	if (!res && id.previous)
		res = TEE_ERROR_BAD_PARAMETERS;
	if (!res)
		res = take_offer(&params[3], &copy, &offer);
	if (!res)
		res = take_plain(&params[1]);
	if (res)
		return res;
	res = fits(&params[2], bytes + KEYCACHE_EXTRA_BYTES);
	if (!res)
		res = keys_use(&id, offer, &key, &cached);
	if (!res)
		res = may(&key, KEYCACHE_NO_SEAL);
	if (!res)
		res = may_seal(&id, &key);
	if (!res)
		res = message_seal(&key, &aad, plain, bytes, message);
	if (!res)
		give_message(&params[2], bytes + KEYCACHE_EXTRA_BYTES);
	wipe(plain, bytes);
	wipe(&key, sizeof(key));
	return res;
}

static TEE_Result open(TEE_Param params[TEE_NUM_PARAMS])
{
	size_t bytes = params[1].memref.size;
	const struct keycache_offer *offer;
	struct keycache_offer copy;
	struct key key = { 0 };
	struct id id;
	bool cached;
	struct aad aad;
	TEE_Result res = take_named(&params[0], &id, &aad);

	if (!res)
		res = take_offer(&params[3], &copy, &offer);
	if (!res)
		res = take_message(&params[1]);
	if (!res)
		res = fits(&params[2], bytes - KEYCACHE_EXTRA_BYTES);
	if (res)
		return res;
	res = keys_use(&id, offer, &key, &cached);
	if (!res)
		res = may(&key, KEYCACHE_NO_OPEN);
	if (!res)
		res = message_open(&key, &aad, message, bytes, plain);
	if (!res)
		give(&params[2], plain, bytes - KEYCACHE_EXTRA_BYTES);
	wipe(plain, bytes - KEYCACHE_EXTRA_BYTES);
	wipe(&key, sizeof(key));
	return res;
}

static TEE_Result load(TEE_Param params[TEE_NUM_PARAMS])
{
	struct keycache_offer offer;
	struct id id;
	TEE_Result res = take_either(&params[0], &id);

	if (!res)
		res = take(&params[1], &offer, sizeof(offer));
	if (!res && !is_offer(&offer))
		res = TEE_ERROR_BAD_PARAMETERS;
	if (res)
		return res;
	offer.keep = 1;
	return keys_load(&id, &offer);
}

static TEE_Result evict(TEE_Param params[TEE_NUM_PARAMS])
{
	struct id id;
	TEE_Result res = take_either(&params[0], &id);

	messages_forget();
	return res ? res : keys_evict(&id);
}

static TEE_Result stats(TEE_Param params[TEE_NUM_PARAMS])
{
	struct keycache_stats copy;
	TEE_Result res = fits(&params[0], sizeof(copy));

	if (res)
		return res;
	keys_stats(&copy);
	give(&params[0], &copy, sizeof(copy));
	return TEE_SUCCESS;
}

static TEE_Result record(TEE_Param params[TEE_NUM_PARAMS])
{
	struct keycache_record copy;
	struct id id;
	TEE_Result res = take_either(&params[0], &id);

	if (!res)
		res = fits(&params[1], sizeof(copy));
	if (!res)
		res = keys_record(&id, &copy);
	if (!res)
		give(&params[1], &copy, sizeof(copy));
	return res;
}

static TEE_Result list(TEE_Param params[TEE_NUM_PARAMS])
{
	static uint8_t ids[LIST_BYTES];
	size_t bytes = params[1].memref.size < sizeof(ids) ? params[1].memref.size : sizeof(ids);
	uint32_t position = params[0].value.a;
	TEE_Result res;

	if (params[0].value.b)
		return TEE_ERROR_BAD_PARAMETERS;
	if (!params[1].memref.buffer || bytes < KEYCACHE_ID_BYTES + 1) {
		params[1].memref.size = KEYCACHE_ID_BYTES + 1;
		return TEE_ERROR_SHORT_BUFFER;
	}
	res = keys_list(&position, ids, &bytes);
	if (res)
		return res;
	give(&params[1], ids, bytes);
	params[0].value.a = position;
	return TEE_SUCCESS;
}

static TEE_Result flush(TEE_Param params[TEE_NUM_PARAMS])
{
	(void)params;
	return keys_flush();
}

static TEE_Result repair(TEE_Param params[TEE_NUM_PARAMS])
{
	params[0].value.b = 0;
	messages_forget();
	return keys_repair(&params[0].value.a);
}

TEE_Result TA_InvokeCommandEntryPoint(void *context, uint32_t command, uint32_t types, TEE_Param params[TEE_NUM_PARAMS])
{
	static const struct {
		uint32_t types;
		TEE_Result (*run)(TEE_Param params[TEE_NUM_PARAMS]);
	} commands[] = {
		[KEYCACHE_CONFIGURE] = { TEE_PARAM_TYPES(VALUE_IN, VALUE_IN, VALUE_IN, NONE), configure },
		[KEYCACHE_SET] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, VALUE_IN), set },
		[KEYCACHE_GET] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, NONE), get },
		[KEYCACHE_DELETE] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), delete },
		[KEYCACHE_EXISTS] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), exists },
		[KEYCACHE_REENCRYPT] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, VALUE_OUT), reencrypt },
		[KEYCACHE_SEAL] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_IN), seal },
		[KEYCACHE_OPEN] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_IN), open },
		[KEYCACHE_LOAD] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, NONE, NONE), load },
		[KEYCACHE_EVICT] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), evict },
		[KEYCACHE_STATS] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), stats },
		[KEYCACHE_RECORD] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_OUT, NONE, NONE), record },
		[KEYCACHE_LIST] = { TEE_PARAM_TYPES(VALUE_INOUT, MEMORY_OUT, NONE, NONE), list },
		[KEYCACHE_FLUSH] = { TEE_PARAM_TYPES(NONE, NONE, NONE, NONE), flush },
		[KEYCACHE_REPAIR] = { TEE_PARAM_TYPES(VALUE_OUT, NONE, NONE, NONE), repair },
		[KEYCACHE_FANOUT] = { TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_OUT), fan_out },
		[KEYCACHE_FORGET] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), forget },
		[KEYCACHE_GENERATE] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, VALUE_IN), generate },
		[KEYCACHE_IDENTITY] = { TEE_PARAM_TYPES(MEMORY_OUT, NONE, NONE, NONE), identity },
		[KEYCACHE_TRUST] = { TEE_PARAM_TYPES(MEMORY_IN, NONE, NONE, NONE), trust },
		[KEYCACHE_ENROL] = { TEE_PARAM_TYPES(MEMORY_IN, VALUE_IN, MEMORY_OUT, MEMORY_OUT), enrol },
		[KEYCACHE_BACKUP] = { TEE_PARAM_TYPES(VALUE_INOUT, MEMORY_OUT, NONE, NONE), backup },
	};

	const struct session *session = context;
	TEE_Result res;
	unsigned int i;

	if (!may_ask(session))
		return TEE_ERROR_ACCESS_DENIED;
	if (command >= sizeof(commands) / sizeof(commands[0]) || !commands[command].run)
		return TEE_ERROR_NOT_SUPPORTED;
	if (types != commands[command].types)
		return TEE_ERROR_BAD_PARAMETERS;
	if (command != KEYCACHE_CONFIGURE && !keys_configured())
		return KEYCACHE_NOT_CONFIGURED;
	if (command >= KEYCACHE_FORGET && keys_naive())
		return TEE_ERROR_NOT_SUPPORTED;
	res = commands[command].run(params);
	if (res == KEYCACHE_USE_DENIED)
		keys_denied();
	if (command == KEYCACHE_CONFIGURE && !res && !owned) {
		owner = session->client;
		owned = true;
	}
	/* libteec copies back as many bytes as the size says, whatever the result is. */
	for (i = 0; res && res != TEE_ERROR_SHORT_BUFFER && i < TEE_NUM_PARAMS; i++)
		if (TEE_PARAM_TYPE_GET(types, i) == MEMORY_OUT)
			params[i].memref.size = 0;
	return res;
}
