/* SPDX-License-Identifier: BSD-2-Clause */
#include "tee.h"

#include <string.h>

#include "id.h"
#include "watchdog.h"

_Static_assert(sizeof(struct keycache_pair) % 4 == 0, "additional data stands right behind a pair");

const char *tee_command_name(uint32_t command)
{
	static const char *const names[TEE_COMMANDS] = {
		[KEYCACHE_CONFIGURE] = "configure", [KEYCACHE_SET] = "set",       [KEYCACHE_GET] = "get",
		[KEYCACHE_DELETE] = "delete",       [KEYCACHE_EXISTS] = "exists", [KEYCACHE_REENCRYPT] = "reencrypt",
		[KEYCACHE_SEAL] = "seal",           [KEYCACHE_OPEN] = "open",     [KEYCACHE_LOAD] = "load",
		[KEYCACHE_EVICT] = "evict",         [KEYCACHE_STATS] = "stats",   [KEYCACHE_RECORD] = "record",
		[KEYCACHE_LIST] = "list",           [KEYCACHE_FLUSH] = "flush",   [KEYCACHE_REPAIR] = "repair",
		[KEYCACHE_FANOUT] = "fanout",       [KEYCACHE_FORGET] = "forget", [KEYCACHE_GENERATE] = "generate",
		[KEYCACHE_IDENTITY] = "identity",   [KEYCACHE_TRUST] = "trust",   [KEYCACHE_ENROL] = "enrol",
		[KEYCACHE_BACKUP] = "backup",
	};

	return names[command];
}

static uint64_t now_ms(void)
{
	return histogram_clock_ns() / 1000000;
}

static struct tee_parameter input(const void *data, size_t size)
{
	/* The back ends do not write to what goes in. */
	return (struct tee_parameter){ .kind = TEE_MEMORY_IN, .data = (void *)(uintptr_t)data, .size = size };
}

static struct tee_parameter output(void *data, size_t size)
{
	return (struct tee_parameter){ .kind = TEE_MEMORY_OUT, .data = data, .size = size };
}

static struct tee_parameter value(uint32_t a, uint32_t b)
{
	return (struct tee_parameter){ .kind = TEE_VALUE_IN, .a = a, .b = b };
}

static struct tee_parameter name(const char *id)
{
	return input(id, strlen(id));
}

static struct tee_parameter offered(struct tee_key key)
{
	return input(key.offer, key.offer ? sizeof(*key.offer) : 0);
}

static uint32_t configure(const struct tee *tee, enum keycache_policy policy)
{
	struct tee_parameter parameters[4] = { value(tee->setup.storage, policy),
					       value(tee->setup.bound, tee->setup.flags), value(tee->setup.index, 0) };

	return tee_backend.invoke(KEYCACHE_CONFIGURE, parameters);
}

static uint32_t start(struct tee *tee)
{
	uint32_t res;

	watchdog_begin(true);
	res = tee_backend.open();
	if (res) {
		watchdog_end();
		return res;
	}
	/* The TA keeps its cache while servers come and go. Ours does not know then what is kept: begin empty. */
	if (tee->setup.policy == KEYCACHE_POLICY_HOST)
		res = configure(tee, KEYCACHE_POLICY_NONE);
	if (!res)
		res = configure(tee, tee->setup.policy);
	watchdog_end();
	if (res) {
		tee_backend.close();
		return res;
	}
	tee->open = true;
	tee->generation++;
	return RESULT_OK;
}

static uint32_t invoke(struct tee *tee, uint32_t command, struct tee_parameter parameters[4])
{
	uint64_t begin;
	uint32_t res;

	if (!tee->open) {
		if (now_ms() < tee->retry_at)
			return RESULT_TARGET_DEAD;
		tee->retry_at = now_ms() + TEE_RETRY_MS;
		if (start(tee))
			return RESULT_TARGET_DEAD;
	}
	tee->calls++;
	watchdog_begin(command == KEYCACHE_REPAIR);
	begin = histogram_clock_ns();
	res = tee_backend.invoke(command, parameters);
	histogram_add(&tee->latency[command], histogram_clock_ns() - begin);
	watchdog_end();
	/* Without its configuration it is as good as new, and has nothing in its cache. */
	if (res == RESULT_TARGET_DEAD || res == RESULT_COMMUNICATION || res == KEYCACHE_NOT_CONFIGURED) {
		tee_backend.close();
		tee->open = false;
		tee->restarts++;
		tee->retry_at = 0;
		return RESULT_TARGET_DEAD;
	}
	return res;
}

uint32_t tee_open(struct tee *tee, const struct tee_setup *setup)
{
	*tee = (struct tee){ .setup = *setup };
	return start(tee);
}

void tee_close(struct tee *tee)
{
	if (tee->open)
		tee_backend.close();
	tee->open = false;
}

static struct tee_parameter records_output(struct tee_records *records, struct tee_how how)
{
	*records = (struct tee_records){ 0 };
	return output(records->record, sizeof(records->record[0]) * (how.flags & KEYCACHE_KEEP ? 2 : 1));
}

static uint32_t count_records(const struct tee *tee, uint32_t res, const struct tee_parameter *parameter,
			      struct tee_records *records)
{
	bool naive = tee->setup.flags & KEYCACHE_NAIVE;

	if (res)
		return res;
	records->count = parameter->size / sizeof(records->record[0]);
	return parameter->size % sizeof(records->record[0]) || records->count > 2 || (!records->count && !naive)
		       ? RESULT_BAD_PARAMETERS
		       : RESULT_OK;
}

uint32_t tee_set(struct tee *tee, const char *id, const void *key, size_t size, struct tee_how how,
		 struct tee_records *records)
{
	struct tee_parameter parameters[4] = { name(id), input(key, size), records_output(records, how),
					       value(how.flags, how.restrictions) };
	uint32_t res = invoke(tee, KEYCACHE_SET, parameters);

	return count_records(tee, res, &parameters[2], records);
}

uint32_t tee_generate(struct tee *tee, const char *id, uint32_t size, struct tee_how how, struct tee_records *records)
{
	struct tee_parameter parameters[4] = { name(id), value(size, how.restrictions), records_output(records, how),
					       value(how.flags, 0) };
	uint32_t res = invoke(tee, KEYCACHE_GENERATE, parameters);

	return count_records(tee, res, &parameters[2], records);
}

uint32_t tee_enrol(struct tee *tee, const struct keycache_enrolment *statement, struct tee_how how,
		   struct tee_records *records, struct keycache_handover *handover, bool *has_handover)
{
	struct tee_parameter parameters[4] = { input(statement, sizeof(*statement)), value(how.flags, 0),
					       records_output(records, how), output(handover, sizeof(*handover)) };
	uint32_t res = invoke(tee, KEYCACHE_ENROL, parameters);

	*has_handover = !res && parameters[3].size == sizeof(*handover);
	return count_records(tee, res, &parameters[2], records);
}

uint32_t tee_verify(struct tee *tee, const struct keycache_enrolment *statement)
{
	/* An output needs a buffer, even one of no bytes. */
	uint8_t nothing[2];
	struct tee_parameter parameters[4] = { input(statement, sizeof(*statement)), value(KEYCACHE_VERIFY, 0),
					       output(&nothing[0], 1), output(&nothing[1], 1) };

	return invoke(tee, KEYCACHE_ENROL, parameters);
}

uint32_t tee_identity(struct tee *tee, struct keycache_identity *identity)
{
	struct tee_parameter parameters[4] = { output(identity, sizeof(*identity)) };
	uint32_t res = invoke(tee, KEYCACHE_IDENTITY, parameters);

	if (!res && parameters[0].size != sizeof(*identity))
		return RESULT_BAD_PARAMETERS;
	return res;
}

uint32_t tee_trust(struct tee *tee, const struct keycache_trust *statement)
{
	struct tee_parameter parameters[4] = { input(statement, sizeof(*statement)) };

	return invoke(tee, KEYCACHE_TRUST, parameters);
}

uint32_t tee_backup(struct tee *tee, uint32_t *next, void *part, size_t *size)
{
	struct tee_parameter parameters[4] = { { .kind = TEE_VALUE_INOUT, .a = *next }, output(part, *size) };
	uint32_t res = invoke(tee, KEYCACHE_BACKUP, parameters);

	*next = parameters[0].a;
	*size = parameters[1].size;
	return res;
}

uint32_t tee_get(struct tee *tee, struct tee_key key, void *out, size_t *size)
{
	struct tee_parameter parameters[4] = { name(key.id), offered(key), output(out, *size) };
	uint32_t res = invoke(tee, KEYCACHE_GET, parameters);

	*size = parameters[2].size;
	return res;
}

static uint32_t by_name(struct tee *tee, uint32_t command, const char *id)
{
	struct tee_parameter parameters[4] = { name(id) };

	return invoke(tee, command, parameters);
}

uint32_t tee_delete(struct tee *tee, const char *id)
{
	return by_name(tee, KEYCACHE_DELETE, id);
}

uint32_t tee_exists(struct tee *tee, const char *id)
{
	return by_name(tee, KEYCACHE_EXISTS, id);
}

uint32_t tee_forget(struct tee *tee, const char *id)
{
	return by_name(tee, KEYCACHE_FORGET, id);
}

/* With the id alone, if there is no additional data. */
static uint32_t crypt_with(struct tee *tee, uint32_t command, struct tee_key key, struct tee_aad aad, const void *in,
			   size_t in_size, void *out, size_t *size)
{
	struct tee_parameter parameters[4] = { name(key.id), input(in, in_size), output(out, *size), offered(key) };
	uint8_t named[sizeof(struct id) + KEYCACHE_AAD_BYTES];
	size_t length = parameters[0].size;
	uint32_t res;

	if (aad.size) {
		if (aad.size > KEYCACHE_AAD_BYTES)
			return RESULT_BAD_PARAMETERS;
		memcpy(named, key.id, length + 1);
		memcpy(named + length + 1, aad.data, aad.size);
		parameters[0] = input(named, length + 1 + aad.size);
	}
	res = invoke(tee, command, parameters);
	*size = parameters[2].size;
	return res;
}

uint32_t tee_seal(struct tee *tee, struct tee_key key, struct tee_aad aad, const void *in, size_t in_size, void *out,
		  size_t *size)
{
	return crypt_with(tee, KEYCACHE_SEAL, key, aad, in, in_size, out, size);
}

uint32_t tee_unseal(struct tee *tee, struct tee_key key, struct tee_aad aad, const void *in, size_t in_size, void *out,
		    size_t *size)
{
	return crypt_with(tee, KEYCACHE_OPEN, key, aad, in, in_size, out, size);
}

uint32_t tee_reencrypt(struct tee *tee, struct tee_key from, struct tee_key to, struct tee_aad aad, const void *in,
		       size_t in_size, void *out, size_t *size, uint32_t *whose)
{
	struct {
		struct keycache_pair pair;
		uint8_t aad[KEYCACHE_AAD_BYTES];
	} both;
	struct keycache_pair *pair = &both.pair;
	struct tee_parameter parameters[4] = { input(&both, sizeof(*pair) + aad.size),
					       input(in, in_size),
					       output(out, *size),
					       { .kind = TEE_VALUE_OUT } };
	uint32_t res;

	if (aad.size > KEYCACHE_AAD_BYTES)
		return RESULT_BAD_PARAMETERS;
	if (aad.size)
		memcpy(both.aad, aad.data, aad.size);
	*pair = (struct keycache_pair){ 0 };
	pair->from_length = id_put(pair->from, from.id);
	pair->to_length = id_put(pair->to, to.id);
	if (from.offer) {
		pair->has_from = 1;
		pair->from_offer = *from.offer;
	}
	if (to.offer) {
		pair->has_to = 1;
		pair->to_offer = *to.offer;
	}
	res = invoke(tee, KEYCACHE_REENCRYPT, parameters);
	*size = parameters[2].size;
	*whose = parameters[3].b;
	return res;
}

/* What all this is compared with: for each receiver a session of its own and one call, which reads both keys from storage. */
static uint32_t fan_out_naively(struct tee *tee, struct tee_key from, struct tee_receiver *to, size_t count,
				struct tee_aad aad, const void *in, size_t in_size, void *out)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = in_size;
		uint32_t whose = 0;

		tee_close(tee);
		if (start(tee))
			return RESULT_TARGET_DEAD;
		to[i].result = tee_reencrypt(tee, from, to[i].key, aad, in, in_size,
					     (uint8_t *)out + i * KEYCACHE_FAN_STRIDE(in_size), &size, &whose);
		if (to[i].result && whose != KEYCACHE_OF_TO)
			return to[i].result;
	}
	return RESULT_OK;
}

uint32_t tee_fan_out(struct tee *tee, struct tee_key from, struct tee_receiver *to, size_t count, struct tee_aad aad,
		     const void *in, size_t in_size, void *out)
{
	uint8_t words[sizeof(struct keycache_fan) + KEYCACHE_AAD_BYTES +
		      KEYCACHE_FAN_MOST * (sizeof(struct keycache_receiver) + sizeof(struct keycache_offer))];
	struct keycache_fan fan = { .count = (uint8_t)count, .aad_size = (uint32_t)aad.size };
	uint32_t results[KEYCACHE_FAN_MOST] = { 0 };
	/* An output needs a buffer, even one of no bytes. */
	size_t most = count ? count : 1;
	size_t at = sizeof(fan);
	struct tee_parameter parameters[4];
	uint32_t res;

	if (aad.size > KEYCACHE_AAD_BYTES)
		return RESULT_BAD_PARAMETERS;
	if (count && tee->setup.flags & KEYCACHE_NAIVE)
		return fan_out_naively(tee, from, to, count, aad, in, in_size, out);
	fan.from_length = id_put(fan.from, from.id);
	if (from.offer) {
		fan.has_from = 1;
		fan.from_offer = *from.offer;
	}
	memcpy(words, &fan, sizeof(fan));
	if (aad.size)
		memcpy(words + at, aad.data, aad.size);
	at += aad.size;
	for (size_t i = 0; i < count; i++) {
		struct keycache_receiver receiver = { .has_offer = to[i].key.offer != NULL };

		receiver.length = id_put(receiver.id, to[i].key.id);
		memcpy(words + at, &receiver, sizeof(receiver));
		at += sizeof(receiver);
		if (to[i].key.offer) {
			memcpy(words + at, to[i].key.offer, sizeof(*to[i].key.offer));
			at += sizeof(*to[i].key.offer);
		}
	}
	parameters[0] = input(words, at);
	parameters[1] = input(in, in_size);
	parameters[2] = output(out, most * KEYCACHE_FAN_STRIDE(in_size));
	parameters[3] = output(results, most * sizeof(results[0]));
	res = invoke(tee, KEYCACHE_FANOUT, parameters);
	for (size_t i = 0; i < count; i++)
		to[i].result = res ? res : results[i];
	return res;
}

uint32_t tee_evict(struct tee *tee, const char *id)
{
	return by_name(tee, KEYCACHE_EVICT, id);
}

uint32_t tee_stats(struct tee *tee, struct keycache_stats *stats)
{
	struct tee_parameter parameters[4] = { output(stats, sizeof(*stats)) };
	uint32_t res = invoke(tee, KEYCACHE_STATS, parameters);

	if (!res && parameters[0].size != sizeof(*stats))
		return RESULT_BAD_PARAMETERS;
	return res;
}

uint32_t tee_record(struct tee *tee, const char *id, struct keycache_record *record)
{
	struct tee_parameter parameters[4] = { name(id), output(record, sizeof(*record)) };
	uint32_t res = invoke(tee, KEYCACHE_RECORD, parameters);

	if (!res && parameters[1].size != sizeof(*record))
		return RESULT_BAD_PARAMETERS;
	return res;
}

uint32_t tee_list(struct tee *tee, uint32_t *next, char *ids, size_t *size)
{
	struct tee_parameter parameters[4] = { { .kind = TEE_VALUE_INOUT, .a = *next }, output(ids, *size) };
	uint32_t res = invoke(tee, KEYCACHE_LIST, parameters);

	*next = parameters[0].a;
	*size = parameters[1].size;
	return res;
}

uint32_t tee_flush(struct tee *tee)
{
	struct tee_parameter parameters[4] = { 0 };

	return invoke(tee, KEYCACHE_FLUSH, parameters);
}

uint32_t tee_repair(struct tee *tee, uint32_t *count)
{
	struct tee_parameter parameters[4] = { { .kind = TEE_VALUE_OUT } };
	uint32_t res = invoke(tee, KEYCACHE_REPAIR, parameters);

	*count = parameters[0].a;
	return res;
}
