/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer: bytes as calls of the TA's commands, of whoever owns the normal world. Statements for the right device are signed by
 * the authority, unless a bit says no; so what comes behind the signature is reached, too.
 *
 * Alice's key is enrolled for relaying alone, and calls can take a message of hers. Looked for, besides what the sanitizers and the
 * shim find (a panic of the TA, an input that is read twice, an object that stays open): her text or her key in an output.
 */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "authority.h"
#include "command_types.h"

#define MOST_CALLS 24
#define MOST_BYTES 1400u
/* A new storage after so many inputs. */
#define RUNS_BETWEEN_CLEANINGS 512u
#define SECRET "what alice sends to nobody but bob"
#define NAME "KC1\5alice"
#define RELAYING (KEYCACHE_NO_SEAL | KEYCACHE_NO_OPEN | KEYCACHE_NO_TO | KEYCACHE_NAMED)

/* Besides the command, in its byte. */
enum { COMMAND = 0x1f, UNSIGNED = 0x20, ALICES_MESSAGE = 0x40 };

struct input {
	const uint8_t *at;
	size_t left;
};

static struct authority authority;
static struct text message;
static uint8_t alices_key[32];
static char place[64];
static uint64_t serial;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "fuzz_commands: %s\n", what);
	abort();
}

/* A device whose only client is alice. */
static void begin(void)
{
	struct keycache_trust first;
	TEE_Result res;

	must(!shim_start(place), "no TA");
	/* Room for three keys. */
	must(!configure(KEYCACHE_REE, KEYCACHE_POLICY_LRU, 400, KEYCACHE_ALLOW_GET, 0), "no configuration");
	authority_make(&authority);
	serial = 1;
	first = authority_trust(NULL, &authority, serial);
	must(!trust(&first), "no trust");
	res = authority_enrol(&authority, "alice", 1, RELAYING, ++serial, 0);
	must(!res, "alice is not enrolled");
}

static void clean(void)
{
	char path[512];
	unsigned int number;

	shim_stop();
	authority_free(&authority);
	/* As the shim names them: the object's name in hexadecimal. */
	for (number = 0; number < KEYCACHE_BUCKETS; number++) {
		(void)snprintf(path, sizeof(path), "%s/ree-6275636b65742d3%u3%u", place, number / 10, number % 10);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/ree-6d657461", place);
	(void)unlink(path);
	begin();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[] = "/tmp/keycache-fuzz-XXXXXX";

	(void)argc;
	(void)argv;
	must(mkdtemp(path) != NULL, "no directory");
	(void)snprintf(place, sizeof(place), "%s/tee", path);
	make_key(1, alices_key);
	client_seal_aad(alices_key, 32, NAME, strlen(NAME), SECRET, sizeof(SECRET), &message);
	begin();
	return 0;
}

static uint32_t take(struct input *input, size_t bytes)
{
	uint32_t number = 0;

	for (; bytes && input->left; bytes--, input->left--)
		number = number << 8 | *input->at++;
	return number;
}

/* Fills in what nobody could guess. */
static void complete(uint32_t command, bool sign, uint8_t *bytes, size_t size)
{
	struct keycache_trust *statement = (struct keycache_trust *)(void *)bytes;
	struct keycache_enrolment *enrolment = (struct keycache_enrolment *)(void *)bytes;

	if (command == KEYCACHE_TRUST && size == sizeof(*statement)) {
		const struct keycache_trust own = authority_trust(&authority, &authority, ++serial);
		const uint8_t format = statement->format;

		*statement = own;
		statement->format = format;
		if (sign)
			authority_sign_trust(&authority, statement);
	} else if (command == KEYCACHE_ENROL && size == sizeof(*enrolment)) {
		const struct keycache_enrolment own = enrolment_of(&authority, "", 0, ++serial);

		memcpy(enrolment->device, own.device, sizeof(own.device));
		/* A serial that is new, or its own. */
		if (!enrolment->serial)
			enrolment->serial = own.serial;
		/* Alice's restrictions are the authority's to change; and it does not. */
		if (sign && memcmp(enrolment->id, "alice", 5) != 0) {
			if (enrolment->kind == KEYCACHE_WRAPPED && enrolment->key_length <= KEYCACHE_KEY_BYTES)
				authority_wrap(&authority, enrolment, enrolment->key_length == 16 ? 2 : 3);
			else
				authority_let_generate(enrolment, enrolment->at_once ? authority.signer : NULL);
			authority_sign(&authority, enrolment);
		}
	}
}

static void call(struct input *input)
{
	static _Alignas(16) uint8_t memory[4][MOST_BYTES];
	uint8_t first = (uint8_t)take(input, 1);
	uint32_t command = first & COMMAND;
	TEE_Param params[4] = { 0 };
	TEE_Result res;
	uint32_t types;
	unsigned int i;

	if (command >= sizeof(types_of) / sizeof(types_of[0]) || command < KEYCACHE_SET)
		return;
	types = types_of[command];
	for (i = 0; i < 4; i++) {
		uint32_t type = TEE_PARAM_TYPE_GET(types, i);
		size_t size;

		if (type == VALUE_IN || type == VALUE_INOUT) {
			params[i].value.a = take(input, 1);
			params[i].value.b = take(input, 2);
		}
		if (type != MEMORY_IN && type != MEMORY_OUT)
			continue;
		size = take(input, 2) % (MOST_BYTES + 1);
		if (!i && !(first & UNSIGNED) && command == KEYCACHE_TRUST)
			size = sizeof(struct keycache_trust);
		if (!i && !(first & UNSIGNED) && command == KEYCACHE_ENROL)
			size = sizeof(struct keycache_enrolment);
		params[i].memref.buffer = memory[i];
		params[i].memref.size = size;
		memset(memory[i], 0, sizeof(memory[i]));
		if (type == MEMORY_OUT)
			continue;
		if (i == 1 && first & ALICES_MESSAGE) {
			memcpy(memory[i], message.bytes, message.size);
			params[i].memref.size = message.size;
			continue;
		}
		/* What is missing is zeros. */
		if (size > input->left)
			size = input->left;
		memcpy(memory[i], input->at, size);
		input->at += size;
		input->left -= size;
	}
	complete(command, !(first & UNSIGNED), memory[0], params[0].memref.size);
	res = shim_invoke(command, types, params);
	must(res != TEE_ERROR_TARGET_DEAD, "a command made the TA panic");
	for (i = 0; i < 4; i++)
		if (TEE_PARAM_TYPE_GET(types, i) == MEMORY_OUT &&
		    (memmem(memory[i], MOST_BYTES, SECRET, sizeof(SECRET)) ||
		     memmem(memory[i], MOST_BYTES, alices_key, 16)))
			must(false, "alice's text, or her key");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned int runs;
	struct input input = { data, size };
	unsigned int calls;

	if (++runs % RUNS_BETWEEN_CLEANINGS == 0)
		clean();
	for (calls = 0; input.left && calls < MOST_CALLS; calls++)
		call(&input);
	return 0;
}
