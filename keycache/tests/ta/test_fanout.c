/* SPDX-License-Identifier: BSD-2-Clause */
/* One message for several receivers. */
#include <stddef.h>

#include "test.h"

#define MOST KEYCACHE_FAN_MOST

struct fan_call {
	uint8_t words[sizeof(struct keycache_fan) +
		      MOST * (sizeof(struct keycache_receiver) + sizeof(struct keycache_offer))];
	size_t size;
	uint8_t out[MOST * 64];
	uint32_t results[MOST];
};

static struct fan_call call;
/* What is reserved there is no zero. */
static bool odd_receiver;
static struct text message;
static struct text copy;
static struct text plain;

static void begin(const char *from, const struct keycache_offer *offer)
{
	struct keycache_fan fan = { .from_length = (uint8_t)strlen(from), .has_from = offer != NULL };

	memcpy(fan.from, from, fan.from_length);
	if (offer)
		fan.from_offer = *offer;
	memcpy(call.words, &fan, sizeof(fan));
	call.size = sizeof(fan);
	memset(call.out, 0, sizeof(call.out));
	memset(call.results, 0xff, sizeof(call.results));
}

static void add(const char *id, const struct keycache_offer *offer)
{
	struct keycache_receiver receiver = { .length = (uint8_t)strlen(id), .has_offer = offer != NULL };

	memcpy(receiver.id, id, receiver.length);
	receiver.reserved[1] = odd_receiver;
	memcpy(call.words + call.size, &receiver, sizeof(receiver));
	call.size += sizeof(receiver);
	if (offer) {
		memcpy(call.words + call.size, offer, sizeof(*offer));
		call.size += sizeof(*offer);
	}
	call.words[0]++;
}

static TEE_Result fan_out(void)
{
	TEE_Param params[4] = { { .memref = { call.words, call.size } },
				{ .memref = { message.bytes, message.size } },
				{ .memref = { call.out, sizeof(call.out) } },
				{ .memref = { call.results, sizeof(call.results) } } };

	return shim_invoke(KEYCACHE_FANOUT, TEE_PARAM_TYPES(MEMORY_IN, MEMORY_IN, MEMORY_OUT, MEMORY_OUT), params);
}

static bool opens(unsigned int part, const uint8_t *key, size_t bytes)
{
	memcpy(copy.bytes, call.out + part * KEYCACHE_FAN_STRIDE(message.size), message.size);
	copy.size = message.size;
	return client_open(key, bytes, &copy, &plain) && plain.size == 6 && !memcmp(plain.bytes, "to all", 6);
}

void test_fan_out(void)
{
	struct keycache_record records[3];
	struct keycache_offer offers[3];
	uint8_t keys[3][32];
	unsigned int i;

	start(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 4, 0);
	for (i = 0; i < 3; i++) {
		make_key(i, keys[i]);
		EXPECT(set(name(i), keys[i], i ? 32 : 16, 0, &records[i]), TEE_SUCCESS);
		offers[i] = offer_of(&records[i]);
	}
	client_seal(keys[0], 16, "to all", 6, &message);

	begin(name(0), NULL);
	add(name(1), NULL);
	add("nobody", NULL);
	add(name(2), NULL);
	add(name(0), NULL);
	EXPECT(fan_out(), TEE_SUCCESS);
	EXPECT(call.results[0], TEE_SUCCESS);
	EXPECT(call.results[1], KEYCACHE_NO_KEY);
	EXPECT(call.results[2], TEE_SUCCESS);
	EXPECT(call.results[3], TEE_SUCCESS);
	CHECK(opens(0, keys[1], 32));
	CHECK(!opens(0, keys[2], 32));
	CHECK(!opens(0, keys[0], 16));
	CHECK(!opens(1, keys[1], 32));
	CHECK(opens(2, keys[2], 32));
	CHECK(opens(3, keys[0], 16));

	/* One key that is missing, and one with another's record, do not keep the others from theirs. */
	EXPECT(evict(name(1)), TEE_SUCCESS);
	EXPECT(evict(name(2)), TEE_SUCCESS);
	begin(name(0), NULL);
	add(name(1), NULL);
	add(name(2), &offers[1]);
	add(name(1), &offers[1]);
	EXPECT(fan_out(), TEE_SUCCESS);
	EXPECT(call.results[0], KEYCACHE_MISS);
	EXPECT(call.results[1], KEYCACHE_FORGED);
	EXPECT(call.results[2], TEE_SUCCESS);
	CHECK(opens(2, keys[1], 32));

	/* The sender's key decides for all, and nothing is written. */
	EXPECT(evict(name(0)), TEE_SUCCESS);
	begin(name(0), NULL);
	add(name(1), NULL);
	EXPECT(fan_out(), KEYCACHE_MISS);
	begin(name(0), &offers[0]);
	add(name(1), NULL);
	EXPECT(fan_out(), TEE_SUCCESS);
	CHECK(opens(0, keys[1], 32));
	message.bytes[message.size - 1] ^= 1;
	begin(name(0), NULL);
	add(name(1), NULL);
	EXPECT(fan_out(), KEYCACHE_BAD_TAG);
	CHECK(call.results[0] == UINT32_MAX && !call.out[0] && !memcmp(call.out, call.out + 1, sizeof(call.out) - 1));

	/* Nobody receives it: is it genuine? */
	begin(name(0), NULL);
	EXPECT(fan_out(), KEYCACHE_BAD_TAG);
	message.bytes[message.size - 1] ^= 1;
	begin(name(0), NULL);
	EXPECT(fan_out(), TEE_SUCCESS);

	/* Keys that are not for it: the sender's is all's affair, a receiver's its own. */
	{
		struct keycache_record sealed[2];
		uint64_t denials = stats().use_denied;
		size_t count;

		EXPECT(set_as(name(3), 3, 0, KEYCACHE_NO_TO, sealed, &count), TEE_SUCCESS);
		begin(name(0), NULL);
		add(name(3), NULL);
		add(name(1), NULL);
		EXPECT(fan_out(), TEE_SUCCESS);
		EXPECT(call.results[0], KEYCACHE_USE_DENIED);
		EXPECT(call.results[1], TEE_SUCCESS);
		CHECK(!call.out[0] && !memcmp(call.out, call.out + 1, message.size - 1) && opens(1, keys[1], 32));
		EXPECT(stats().use_denied - denials, 1);
		EXPECT(set_as(name(3), 3, 0, KEYCACHE_NO_FROM, sealed, &count), TEE_SUCCESS);
		begin(name(3), NULL);
		add(name(1), NULL);
		EXPECT(fan_out(), KEYCACHE_USE_DENIED);
		EXPECT(set_as(name(3), 3, 0, KEYCACHE_NAMED, sealed, &count), TEE_SUCCESS);
		EXPECT(fan_out(), KEYCACHE_USE_DENIED);
		CHECK(!call.out[0] && !memcmp(call.out, call.out + 1, sizeof(call.out) - 1));
		EXPECT(stats().use_denied - denials, 3);
	}

	/* As many as there may be, and one more. */
	begin(name(0), NULL);
	for (i = 0; i < MOST; i++)
		add(name(1 + i % 2), &offers[1 + i % 2]);
	EXPECT(fan_out(), TEE_SUCCESS);
	for (i = 0; i < MOST; i++)
		CHECK(!call.results[i] && opens(i, keys[1 + i % 2], 32));
	call.words[0]++;
	EXPECT(fan_out(), TEE_ERROR_BAD_PARAMETERS);

	/* What cannot be read is nobody's, from there on. */
	begin(name(0), NULL);
	add(name(1), NULL);
	add(name(2), NULL);
	call.words[sizeof(struct keycache_fan) + sizeof(struct keycache_receiver) + 1] = 2;
	add(name(1), NULL);
	EXPECT(fan_out(), TEE_SUCCESS);
	EXPECT(call.results[0], TEE_SUCCESS);
	EXPECT(call.results[1], TEE_ERROR_BAD_PARAMETERS);
	EXPECT(call.results[2], TEE_ERROR_BAD_PARAMETERS);
	begin(name(0), NULL);
	add(name(1), &offers[1]);
	call.size--;
	EXPECT(fan_out(), TEE_SUCCESS);
	EXPECT(call.results[0], TEE_ERROR_BAD_PARAMETERS);
	/* What is reserved there is zeros. */
	begin(name(0), NULL);
	odd_receiver = true;
	add(name(1), NULL);
	odd_receiver = false;
	add(name(2), NULL);
	EXPECT(fan_out(), TEE_SUCCESS);
	EXPECT(call.results[0], TEE_ERROR_BAD_PARAMETERS);
	EXPECT(call.results[1], TEE_ERROR_BAD_PARAMETERS);
	begin(name(0), NULL);
	offers[1].reserved[1] = 1;
	add(name(1), &offers[1]);
	EXPECT(fan_out(), TEE_SUCCESS);
	EXPECT(call.results[0], TEE_ERROR_BAD_PARAMETERS);
	offers[0].reserved[0] = 1;
	begin(name(0), &offers[0]);
	EXPECT(fan_out(), TEE_ERROR_BAD_PARAMETERS);
	begin(name(0), NULL);
	call.words[offsetof(struct keycache_fan, reserved)] = 1;
	EXPECT(fan_out(), TEE_ERROR_BAD_PARAMETERS);
	begin(name(0), NULL);
	call.size--;
	EXPECT(fan_out(), TEE_ERROR_BAD_PARAMETERS);
	/* More additional data than there is. */
	begin(name(0), NULL);
	memset(call.words + sizeof(struct keycache_fan) - sizeof(uint32_t), 1, 1);
	EXPECT(fan_out(), TEE_ERROR_BAD_PARAMETERS);
}
