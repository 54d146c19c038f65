/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer: bytes as a client sends them, through the reader of requests and the commands into the TA's own sources.
 *
 * The first byte says who sends, how the rest is cut into pieces, whether alice's key was changed without the shadow's
 * knowledge, and whether GET is off. Looked for, besides what the sanitizers find: replies
 * that are not RESP, another number of replies than of requests, and a key of somebody else's in what a client gets.
 *
 * Chance signs no statement. So the authority does, whatever is in it: a statement of ENROL whose last byte is not zero gets the device's
 * digest and a serial, and is signed before the server sees it. What stands in it (kind, flags, lengths, points, a wrapped key that
 * does not open) is the fuzzer's.
 */
#include <hiredis/hiredis.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service.h"

/* Half of the most that libFuzzer sends, so that some requests are too large. */
#define MAX_REQUEST 1024u
/* Two keys: a third one that is used puts one of them out. */
#define BOUND_BYTES 256u
#define RUNS_BETWEEN_CLEANINGS 2048u

static const char bobs_key[] = "0123456789ABCDEFfedcba9876543210";
static const char list[] = "admin admin\nuse broker a*\nreencrypt alice bob\nreencrypt broker *\n"
			   "relay mallory alice bob\n";
static const char *const names[] = { "alice", "admin", "broker", "mallory" };
/* The first byte's bits. */
enum { WHO = 0x3, BEHIND_THE_SHADOW = 0x4, NO_GET = 0x8, PIECE_SHIFT = 4 };

static struct service service;
static EVP_PKEY *signer;
static uint64_t serial;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what)
{
	if (good)
		return;
	(void)fprintf(stderr, "fuzz_requests: %s\n", what);
	abort();
}

static const char alices_key[] = "alice's own key!";

static void set_key(const char *id, const char *key)
{
	const struct tee_how how = { .flags = KEYCACHE_RELAXED };
	struct tee_records records;

	must(!tee_set(&service.tee, id, key, strlen(key), how, &records), "a key is not set");
	must(shadow_put(service.shadow, &records.record[0]) != SHADOW_NONE, "no shadow of a key");
}

static void point_of(EVP_PKEY *pair, uint8_t point[KEYCACHE_POINT_BYTES])
{
	uint8_t encoded[1 + KEYCACHE_POINT_BYTES];
	size_t size = 0;

	must(EVP_PKEY_get_octet_string_param(pair, "pub", encoded, sizeof(encoded), &size) == 1 &&
		     size == sizeof(encoded),
	     "no point");
	memcpy(point, encoded + 1, KEYCACHE_POINT_BYTES);
}

static void digest_of_device(uint8_t digest[32])
{
	struct keycache_identity identity;

	must(!tee_identity(&service.tee, &identity), "no identity");
	(void)SHA256(identity.ta, sizeof(identity.ta), digest);
}

static void name_authority(void)
{
	struct keycache_trust trust = { .format = KEYCACHE_STATEMENT_FORMAT, .serial = ++serial };

	signer = EVP_EC_gen("P-256");
	must(signer != NULL, "no pair");
	point_of(signer, trust.signer);
	point_of(signer, trust.backup);
	digest_of_device(trust.device);
	must(!tee_trust(&service.tee, &trust), "no authority");
}

static void sign(struct keycache_enrolment *statement)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t der[80];
	const uint8_t *at = der;
	size_t size = sizeof(der);
	ECDSA_SIG *parts;

	statement->serial = ++serial;
	digest_of_device(statement->device);
	memset(statement->end, 0, sizeof(statement->end));
	must(context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, signer) == 1 &&
		     EVP_DigestSign(context, der, &size, (const uint8_t *)statement,
				    offsetof(struct keycache_enrolment, signature)) == 1,
	     "no signature");
	parts = d2i_ECDSA_SIG(NULL, &at, (long)size);
	must(parts && BN_bn2binpad(ECDSA_SIG_get0_r(parts), statement->signature, 32) == 32 &&
		     BN_bn2binpad(ECDSA_SIG_get0_s(parts), statement->signature + 32, 32) == 32,
	     "no signature");
	ECDSA_SIG_free(parts);
	EVP_MD_CTX_free(context);
}

static void sign_request(struct resp_request *request)
{
	struct keycache_enrolment statement;

	if (request->count < 2 || request->arguments[0].size != 5 || request->arguments[1].size != sizeof(statement) ||
	    memcmp(request->arguments[0].data, "ENROL", 5) != 0)
		return;
	memcpy(&statement, request->arguments[1].data, sizeof(statement));
	if (!statement.end[sizeof(statement.end) - 1])
		return;
	sign(&statement);
	memcpy(request->arguments[1].data, &statement, sizeof(statement));
}

static void set_keys(void)
{
	set_key("bob", bobs_key);
	set_key("alice", alices_key);
	/* The broker's, beside alice's. */
	set_key("a1", "a1 a1 a1 a1 a1 a");
	set_key("a2", "a2 a2 a2 a2 a2 a");
	set_key("a3", "a3 a3 a3 a3 a3 a");
}

static void clean(void)
{
	char problem[256];
	uint32_t next = 0;
	char ids[4096];

	do {
		size_t size = sizeof(ids);

		must(!tee_list(&service.tee, &next, ids, &size), "no list");
		for (size_t at = 0; at < size; at += strlen(ids + at) + 1) {
			(void)service_delete(&service, ids + at);
		}
	} while (next);
	/* Nor do they end any more. */
	expiry_close(service.expiry);
	service.expiry = expiry_open(-1, problem, sizeof(problem));
	must(service.expiry != NULL, "no deadlines");
	/* The policy's slots are others' now. */
	policy_destroy(service.policy);
	service.policy = NULL;
	set_keys();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct tee_setup setup = { .storage = KEYCACHE_REE,
					 .policy = KEYCACHE_POLICY_HOST,
					 .bound = BOUND_BYTES,
					 .flags = KEYCACHE_ALLOW_GET };
	char path[] = "/tmp/keycache-fuzz-XXXXXX";
	char folder[64];
	char problem[256] = "";
	FILE *file;

	(void)argc;
	(void)argv;
	/* Each process has a storage of its own: libFuzzer runs several. */
	must(mkdtemp(path) != NULL, "no directory");
	(void)snprintf(folder, sizeof(folder), "%s/tee", path);
	must(!setenv("KEYCACHE_NATIVE_DIR", folder, 1), "no environment");
	(void)snprintf(folder, sizeof(folder), "%s/acl", path);
	file = fopen(folder, "w");
	must(file && fputs(list, file) >= 0 && !fclose(file), "no access list");
	service.acl = acl_read(folder, problem, sizeof(problem));
	service.shadow = shadow_open(NULL, problem, sizeof(problem));
	service.expiry = expiry_open(-1, problem, sizeof(problem));
	service.audit = audit_open("/dev/null", true, problem, sizeof(problem));
	service.smart = true;
	service.relaxed = true;
	must(service.acl && service.shadow && service.expiry && service.audit && !tee_open(&service.tee, &setup),
	     "no TA");
	name_authority();
	set_keys();
	return 0;
}

static void check(const struct buffer *reply, size_t requests)
{
	redisReader *reader = redisReaderCreate();
	size_t replies = 0;
	void *got;

	must(reader && !redisReaderFeed(reader, (const char *)reply->data, reply->size), "no memory");
	while (!redisReaderGetReply(reader, &got) && got) {
		freeReplyObject(got);
		replies++;
	}
	must(!reader->err && reader->pos == reader->len, "the replies are not RESP");
	must(replies == requests, "a request without its reply, or a reply too many");
	redisReaderFree(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned runs;
	struct client client = { 0 };
	struct buffer reply = { 0 };
	struct resp *resp;
	size_t requests = 0;
	size_t piece;
	bool good = true;

	if (!size)
		return 0;
	if (++runs % RUNS_BETWEEN_CLEANINGS == 0)
		clean();
	must(id_make(&client.id, names[data[0] & WHO], strlen(names[data[0] & WHO])), "no name");
	if (data[0] & BEHIND_THE_SHADOW) {
		const struct tee_how how = { .flags = KEYCACHE_RELAXED };
		struct tee_records unseen;
		uint32_t res = tee_set(&service.tee, "alice", alices_key, strlen(alices_key), how, &unseen);

		must(!res || res == KEYCACHE_IS_ENROLLED, "no other record");
	}
	service.tee.setup.flags = data[0] & NO_GET ? 0 : KEYCACHE_ALLOW_GET;
	piece = data[0] >> PIECE_SHIFT ? (size_t)data[0] >> PIECE_SHIFT : size;
	data++;
	size--;
	resp = resp_new(MAX_REQUEST);
	must(resp != NULL, "no memory");
	for (size_t at = 0; good && at < size; at += piece) {
		struct resp_request *request;
		enum resp_state state = resp_feed(resp, data + at, size - at < piece ? size - at : piece);

		while (good && state != RESP_ERROR && (state = resp_next(resp, &request)) == RESP_REQUEST) {
			/* A key at a time, so that requests about several are interrupted. */
			sign_request(request);
			while (!service_answer(&service, &client, &request, &reply))
				;
			resp_request_free(request);
			requests++;
			good = !client.quit;
		}
		if (state == RESP_ERROR) {
			resp_error(&reply, resp_problem(resp));
			requests++;
			good = false;
		}
	}
	resp_free(resp);
	client_end(&client);
	check(&reply, requests);
	/* An administrator may set it for somebody else, and who says it hears it again from PING. */
	if (strcmp(client.id.text, "admin") != 0 && !memmem(data, size, bobs_key, 16) && reply.size)
		must(!memmem(reply.data, reply.size, bobs_key, 16), "somebody else's key");
	buffer_free(&reply);
	return 0;
}
