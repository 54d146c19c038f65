/* SPDX-License-Identifier: BSD-2-Clause */
#include "keycache.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_PORT "6380"
#define DEFAULT_TIMEOUT_MS 10000u
#define NONCE_BYTES 12u
#define WORDS 6
#define TERMS_WORDS 6
#define NUMBER_BYTES 12
#define RELAY_WORDS 5

struct keycache {
	int socket;
	SSL_CTX *context;
	SSL *ssl;
	redisReader *reader;
	char text[256];
};

struct word {
	const void *data;
	size_t size;
};

static enum keycache_error fail(struct keycache *handle, enum keycache_error error, const char *what, const char *why)
{
	(void)snprintf(handle->text, sizeof(handle->text), "%s%s%s", what, why && *why ? ": " : "", why ? why : "");
	return error;
}

static enum keycache_error fail_tls(struct keycache *handle, const char *what)
{
	unsigned long error = ERR_peek_last_error();
	long verified = handle->ssl ? SSL_get_verify_result(handle->ssl) : X509_V_OK;
	const char *why = error ? ERR_reason_error_string(error) : NULL;

	ERR_clear_error();
	if (verified != X509_V_OK)
		why = X509_verify_cert_error_string(verified);
	else if (!error && errno)
		return fail(handle, KEYCACHE_NETWORK, what, errno == EAGAIN ? "timeout" : strerror(errno));
	return fail(handle, KEYCACHE_TLS, what, why);
}

const char *keycache_text(const struct keycache *handle)
{
	return handle ? handle->text : "out of memory";
}

static enum keycache_error dial(struct keycache *handle, const char *host, const char *port, unsigned timeout_ms)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const int at_once = 1;
	const struct timeval timeout = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
	struct addrinfo *found = NULL;
	int result = getaddrinfo(host, port, &hints, &found);

	if (result)
		return fail(handle, KEYCACHE_NETWORK, host, gai_strerror(result));
	errno = 0;
	for (const struct addrinfo *one = found; one && handle->socket < 0; one = one->ai_next) {
		handle->socket = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
		if (handle->socket < 0)
			continue;
		(void)setsockopt(handle->socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		(void)setsockopt(handle->socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
		/* Or a request waits until the handshake's last message is acknowledged, which takes its time. */
		(void)setsockopt(handle->socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
		if (!connect(handle->socket, one->ai_addr, one->ai_addrlen))
			break;
		(void)close(handle->socket);
		handle->socket = -1;
	}
	freeaddrinfo(found);
	if (handle->socket < 0) {
		(void)snprintf(handle->text, sizeof(handle->text), "%s port %s: %s", host, port, strerror(errno));
		return KEYCACHE_NETWORK;
	}
	return KEYCACHE_OK;
}

static enum keycache_error secure(struct keycache *handle, const struct keycache_address *address, const char *host)
{
	const char *name = address->name ? address->name : host;
	X509_VERIFY_PARAM *verify;

	handle->context = SSL_CTX_new(TLS_client_method());
	if (!handle->context || !SSL_CTX_set_min_proto_version(handle->context, TLS1_3_VERSION))
		return fail_tls(handle, "OpenSSL does not start");
	if (SSL_CTX_load_verify_file(handle->context, address->ca) != 1)
		return fail_tls(handle, address->ca);
	if (SSL_CTX_use_certificate_chain_file(handle->context, address->cert) != 1)
		return fail_tls(handle, address->cert);
	if (SSL_CTX_use_PrivateKey_file(handle->context, address->key, SSL_FILETYPE_PEM) != 1)
		return fail_tls(handle, address->key);
	SSL_CTX_set_verify(handle->context, SSL_VERIFY_PEER, NULL);
	handle->ssl = SSL_new(handle->context);
	if (!handle->ssl)
		return fail_tls(handle, "OpenSSL does not start");
	verify = SSL_get0_param(handle->ssl);
	/* An address if it is one, else a name. */
	if (X509_VERIFY_PARAM_set1_ip_asc(verify, name) != 1) {
		ERR_clear_error();
		if (SSL_set1_host(handle->ssl, name) != 1 || SSL_set_tlsext_host_name(handle->ssl, name) != 1)
			return fail_tls(handle, name);
	}
	errno = 0;
	if (SSL_set_fd(handle->ssl, handle->socket) != 1 || SSL_connect(handle->ssl) != 1)
		return fail_tls(handle, "the TLS handshake fails");
	return KEYCACHE_OK;
}

enum keycache_error keycache_connect(struct keycache **handle, const struct keycache_address *address)
{
	const char *host = address->host ? address->host : DEFAULT_HOST;
	struct keycache *new = calloc(1, sizeof(*new));
	enum keycache_error error;

	*handle = new;
	if (!new)
		return KEYCACHE_ARGUMENT;
	new->socket = -1;
	if (!address->ca || !address->cert || !address->key)
		return fail(new, KEYCACHE_ARGUMENT, "files for ca, cert and key are needed", NULL);
	new->reader = redisReaderCreate();
	if (!new->reader)
		return fail(new, KEYCACHE_ARGUMENT, "out of memory", NULL);
	error = dial(new, host, address->port ? address->port : DEFAULT_PORT,
		     address->timeout_ms ? address->timeout_ms : DEFAULT_TIMEOUT_MS);
	if (!error)
		error = secure(new, address, host);
	/* With TLS 1.3 a refused certificate shows only in the first answer. */
	return error ? error : keycache_ping(new);
}

void keycache_close(struct keycache *handle)
{
	if (!handle)
		return;
	if (handle->ssl && SSL_is_init_finished(handle->ssl))
		(void)SSL_shutdown(handle->ssl);
	ERR_clear_error();
	SSL_free(handle->ssl);
	SSL_CTX_free(handle->context);
	if (handle->socket >= 0)
		(void)close(handle->socket);
	if (handle->reader)
		redisReaderFree(handle->reader);
	free(handle);
}

/* The server may be gone: EPIPE is enough to know it. Blocked for this thread around the write, not for the program. */
static int write_all(struct keycache *handle, const void *data, size_t size)
{
	const struct timespec now = { 0 };
	sigset_t pipe_set;
	sigset_t pending;
	sigset_t before;
	int written;

	(void)sigemptyset(&pipe_set);
	(void)sigaddset(&pipe_set, SIGPIPE);
	(void)sigpending(&pending);
	(void)pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
	errno = 0;
	written = SSL_write(handle->ssl, data, (int)size);
	if (!sigismember(&pending, SIGPIPE))
		(void)sigtimedwait(&pipe_set, NULL, &now);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return written == (int)size;
}

static enum keycache_error send_words(struct keycache *handle, const struct word *words, size_t count)
{
	char head[32];
	size_t size = sizeof(head);
	size_t at;
	char *all;
	bool good;

	for (size_t i = 0; i < count; i++)
		size += words[i].size + sizeof(head);
	all = malloc(size);
	if (!all)
		return fail(handle, KEYCACHE_ARGUMENT, "out of memory", NULL);
	at = (size_t)snprintf(all, size, "*%zu\r\n", count);
	for (size_t i = 0; i < count; i++) {
		at += (size_t)snprintf(all + at, size - at, "$%zu\r\n", words[i].size);
		if (words[i].size)
			memcpy(all + at, words[i].data, words[i].size);
		at += words[i].size;
		all[at++] = '\r';
		all[at++] = '\n';
	}
	good = write_all(handle, all, at);
	OPENSSL_clear_free(all, size);
	return good ? KEYCACHE_OK : fail_tls(handle, "the server closed the connection");
}

static const struct {
	const char *code;
	enum keycache_error error;
} codes[] = {
	{ "NOKEY ", KEYCACHE_NO_SUCH_KEY }, { "BADTAG ", KEYCACHE_NOT_GENUINE }, { "NOPERM ", KEYCACHE_REFUSED },
	{ "NOAUTH ", KEYCACHE_REFUSED },    { "NOGET ", KEYCACHE_REFUSED },      { "NOUSE ", KEYCACHE_REFUSED },
	{ "ENROLLED ", KEYCACHE_REFUSED },  { "UNTRUSTED ", KEYCACHE_REFUSED },  { "OLD ", KEYCACHE_REFUSED },
	{ "TRYAGAIN ", KEYCACHE_AGAIN },    { "OOM ", KEYCACHE_NO_SPACE },
};

/* Of the text of an error reply. */
static enum keycache_error error_of(const char *text)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!strncmp(text, codes[i].code, strlen(codes[i].code)))
			return codes[i].error;
	return KEYCACHE_SERVER;
}

static enum keycache_error receive(struct keycache *handle, redisReply **reply)
{
	char bytes[16384];
	void *got = NULL;

	*reply = NULL;
	for (;;) {
		int size;

		if (redisReaderGetReply(handle->reader, &got))
			return fail(handle, KEYCACHE_PROTOCOL, "not an answer", handle->reader->errstr);
		if (got)
			break;
		errno = 0;
		size = SSL_read(handle->ssl, bytes, sizeof(bytes));
		if (size <= 0)
			return fail_tls(handle, "the server closed the connection");
		if (redisReaderFeed(handle->reader, bytes, (size_t)size))
			return fail(handle, KEYCACHE_PROTOCOL, "not an answer", handle->reader->errstr);
		OPENSSL_cleanse(bytes, (size_t)size);
	}
	*reply = got;
	if ((*reply)->type != REDIS_REPLY_ERROR)
		return KEYCACHE_OK;
	(void)fail(handle, KEYCACHE_SERVER, (*reply)->str, NULL);
	freeReplyObject(*reply);
	*reply = NULL;
	return error_of(handle->text);
}

static enum keycache_error ask(struct keycache *handle, const struct word *words, size_t count, redisReply **reply)
{
	enum keycache_error error = send_words(handle, words, count);

	*reply = NULL;
	return error ? error : receive(handle, reply);
}

static struct word word(const char *text)
{
	return (struct word){ text, strlen(text) };
}

static enum keycache_error unexpected(struct keycache *handle, redisReply *reply)
{
	if (reply)
		freeReplyObject(reply);
	return fail(handle, KEYCACHE_PROTOCOL, "an answer of another kind", NULL);
}

/* Keys and plaintexts come in replies, too. */
static void drop(redisReply *reply)
{
	if (reply->type == REDIS_REPLY_STRING && reply->len)
		OPENSSL_cleanse(reply->str, reply->len);
	freeReplyObject(reply);
}

enum keycache_error keycache_ping(struct keycache *handle)
{
	const struct word words[] = { word("PING") };
	redisReply *reply;
	enum keycache_error error = ask(handle, words, 1, &reply);

	if (!error)
		drop(reply);
	return error;
}

/* What is answered with OK. */
static enum keycache_error tell(struct keycache *handle, const struct word *words, size_t count)
{
	redisReply *reply;
	enum keycache_error error = ask(handle, words, count, &reply);

	if (error)
		return error;
	if (reply->type != REDIS_REPLY_STATUS)
		return unexpected(handle, reply);
	drop(reply);
	return KEYCACHE_OK;
}

struct terms_words {
	struct word words[TERMS_WORDS];
	char keep[NUMBER_BYTES];
	char lifetime[NUMBER_BYTES];
	size_t count;
};

static void write_terms(struct terms_words *written, const struct keycache_terms *terms, bool with_use)
{
	*written = (struct terms_words){ 0 };
	if (terms && terms->use && with_use) {
		written->words[written->count++] = word("USE");
		written->words[written->count++] = word(terms->use);
	}
	if (terms && terms->keep) {
		(void)snprintf(written->keep, sizeof(written->keep), "%u", terms->keep);
		written->words[written->count++] = word("KEEP");
		written->words[written->count++] = word(written->keep);
	}
	if (terms && terms->lifetime) {
		(void)snprintf(written->lifetime, sizeof(written->lifetime), "%u", terms->lifetime);
		written->words[written->count++] = word("EX");
		written->words[written->count++] = word(written->lifetime);
	}
}

enum keycache_error keycache_set_terms(struct keycache *handle, const char *id, const void *key, size_t size,
				       const struct keycache_terms *terms)
{
	struct word words[3 + TERMS_WORDS] = { word("SET"), word(id), { key, size } };
	struct terms_words written;

	write_terms(&written, terms, true);
	memcpy(words + 3, written.words, sizeof(written.words));
	return tell(handle, words, 3 + written.count);
}

enum keycache_error keycache_set(struct keycache *handle, const char *id, const void *key, size_t size)
{
	return keycache_set_terms(handle, id, key, size, NULL);
}

enum keycache_error keycache_generate(struct keycache *handle, const char *id, unsigned size,
				      const struct keycache_terms *terms)
{
	struct word words[3 + TERMS_WORDS] = { word("GENERATE"), word(id) };
	struct terms_words written;
	char number[NUMBER_BYTES];

	(void)snprintf(number, sizeof(number), "%u", size);
	words[2] = word(number);
	write_terms(&written, terms, true);
	memcpy(words + 3, written.words, sizeof(written.words));
	return tell(handle, words, 3 + written.count);
}

enum keycache_error keycache_trust(struct keycache *handle, const void *statement, size_t size)
{
	const struct word words[] = { word("TRUST"), { statement, size } };

	return tell(handle, words, 2);
}

enum keycache_error keycache_enrol(struct keycache *handle, const void *statement, size_t size,
				   const struct keycache_terms *terms, void *handover, size_t *handover_size)
{
	struct word words[2 + TERMS_WORDS] = { word("ENROL"), { statement, size } };
	enum keycache_error error;
	struct terms_words written;
	redisReply *reply;
	size_t room = *handover_size;

	*handover_size = 0;
	write_terms(&written, terms, false);
	memcpy(words + 2, written.words, sizeof(written.words));
	error = ask(handle, words, 2 + written.count, &reply);
	if (error)
		return error;
	if (reply->type != REDIS_REPLY_STATUS && reply->type != REDIS_REPLY_STRING)
		return unexpected(handle, reply);
	if (reply->type == REDIS_REPLY_STRING) {
		*handover_size = reply->len;
		if (reply->len <= room)
			memcpy(handover, reply->str, reply->len);
		else
			error = fail(handle, KEYCACHE_NO_SPACE, "the buffer is too small", NULL);
	}
	drop(reply);
	return error;
}

/* The value of a name in a map, as RESP2 has it: a list of both in turn. */
static const redisReply *value_of(const redisReply *map, const char *name)
{
	if (map->type == REDIS_REPLY_ARRAY)
		for (size_t i = 0; i + 1 < map->elements; i += 2)
			if (map->element[i]->type == REDIS_REPLY_STRING && !strcmp(map->element[i]->str, name))
				return map->element[i + 1];
	return NULL;
}

/* A point, or nothing, which is zeros. */
static bool point_of(const redisReply *map, const char *name, uint8_t point[64])
{
	const redisReply *value = value_of(map, name);

	memset(point, 0, 64);
	if (!value || value->type != REDIS_REPLY_STRING || (value->len && value->len != 64))
		return false;
	if (value->len)
		memcpy(point, value->str, 64);
	return true;
}

enum keycache_error keycache_identity(struct keycache *handle, struct keycache_device *device)
{
	const struct word words[] = { word("IDENTITY") };
	redisReply *reply;
	enum keycache_error error = ask(handle, words, 1, &reply);

	if (error)
		return error;
	if (!point_of(reply, "device", device->point) || !point_of(reply, "signer", device->signer) ||
	    !point_of(reply, "backup", device->backup))
		return unexpected(handle, reply);
	drop(reply);
	return KEYCACHE_OK;
}

enum keycache_error keycache_keyinfo(struct keycache *handle, const char *id, char **text)
{
	const struct word words[] = { word("KEYINFO"), word(id) };
	redisReply *reply;
	enum keycache_error error = ask(handle, words, 2, &reply);
	size_t size = 0;
	FILE *lines;

	*text = NULL;
	if (error)
		return error;
	lines = open_memstream(text, &size);
	if (!lines) {
		drop(reply);
		return fail(handle, KEYCACHE_ARGUMENT, "out of memory", NULL);
	}
	for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
		const redisReply *value = reply->element[i + 1];

		if (reply->element[i]->type != REDIS_REPLY_STRING)
			continue;
		(void)fprintf(lines, "%s:", reply->element[i]->str);
		if (value->type == REDIS_REPLY_INTEGER)
			(void)fprintf(lines, "%lld\n", value->integer);
		else
			(void)fprintf(lines, "%s\n", value->str ? value->str : "");
	}
	drop(reply);
	if (fclose(lines))
		return fail(handle, KEYCACHE_ARGUMENT, "out of memory", NULL);
	return KEYCACHE_OK;
}

enum keycache_error keycache_backup(struct keycache *handle, bool (*each)(const void *part, size_t size, void *context),
				    void *context)
{
	char cursor[24] = "0";
	bool more = true;

	do {
		const struct word words[] = { word("BACKUP"), word(cursor) };
		redisReply *reply;
		enum keycache_error error = ask(handle, words, 2, &reply);

		if (error)
			return error;
		if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
		    reply->element[0]->type != REDIS_REPLY_STRING || reply->element[0]->len >= sizeof(cursor) ||
		    reply->element[1]->type != REDIS_REPLY_STRING)
			return unexpected(handle, reply);
		memcpy(cursor, reply->element[0]->str, reply->element[0]->len + 1);
		more = each(reply->element[1]->str, reply->element[1]->len, context);
		drop(reply);
	} while (more && strcmp(cursor, "0") != 0);
	return KEYCACHE_OK;
}

static enum keycache_error take(struct keycache *handle, redisReply *reply, void *out, size_t *size)
{
	enum keycache_error error = KEYCACHE_OK;

	if (reply->type == REDIS_REPLY_NIL) {
		drop(reply);
		return fail(handle, KEYCACHE_NO_SUCH_KEY, "no such key", NULL);
	}
	if (reply->type != REDIS_REPLY_STRING)
		return unexpected(handle, reply);
	if (reply->len > *size)
		error = fail(handle, KEYCACHE_NO_SPACE, "the buffer is too small", NULL);
	else if (reply->len)
		memcpy(out, reply->str, reply->len);
	*size = reply->len;
	drop(reply);
	return error;
}

enum keycache_error keycache_get(struct keycache *handle, const char *id, void *key, size_t *size)
{
	const struct word words[] = { word("GET"), word(id) };
	redisReply *reply;
	enum keycache_error error = ask(handle, words, 2, &reply);

	return error ? error : take(handle, reply, key, size);
}

static enum keycache_error count_of(struct keycache *handle, const char *command, const char *id, bool *one)
{
	const struct word words[] = { word(command), word(id) };
	redisReply *reply;
	enum keycache_error error = ask(handle, words, 2, &reply);

	if (error)
		return error;
	if (reply->type != REDIS_REPLY_INTEGER)
		return unexpected(handle, reply);
	*one = reply->integer == 1;
	drop(reply);
	return KEYCACHE_OK;
}

enum keycache_error keycache_del(struct keycache *handle, const char *id)
{
	bool one = false;
	enum keycache_error error = count_of(handle, "DEL", id, &one);

	return error || one ? error : fail(handle, KEYCACHE_NO_SUCH_KEY, "no such key", NULL);
}

enum keycache_error keycache_forget(struct keycache *handle, const char *id)
{
	bool one = false;
	enum keycache_error error = count_of(handle, "FORGET", id, &one);

	return error || one ? error : fail(handle, KEYCACHE_NO_SUCH_KEY, "no previous key", NULL);
}

enum keycache_error keycache_exists(struct keycache *handle, const char *id, bool *exists)
{
	return count_of(handle, "EXISTS", id, exists);
}

/* A nonce, and a ciphertext with its tag. */
static bool is_message(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
	       reply->element[0]->type == REDIS_REPLY_STRING && reply->element[0]->len == NONCE_BYTES &&
	       reply->element[1]->type == REDIS_REPLY_STRING;
}

static size_t message_bytes(const redisReply *reply)
{
	return NONCE_BYTES + reply->element[1]->len;
}

static void copy_message(const redisReply *reply, void *out)
{
	memcpy(out, reply->element[0]->str, NONCE_BYTES);
	memcpy((char *)out + NONCE_BYTES, reply->element[1]->str, reply->element[1]->len);
}

static enum keycache_error take_message(struct keycache *handle, redisReply *reply, void *out, size_t *size)
{
	enum keycache_error error = KEYCACHE_OK;
	size_t room = *size;

	if (!is_message(reply))
		return unexpected(handle, reply);
	*size = message_bytes(reply);
	if (*size > room)
		error = fail(handle, KEYCACHE_NO_SPACE, "the buffer is too small", NULL);
	else
		copy_message(reply, out);
	drop(reply);
	return error;
}

static enum keycache_error check_aad(struct keycache *handle, size_t size)
{
	return size <= KEYCACHE_MOST_AAD
		       ? KEYCACHE_OK
		       : fail(handle, KEYCACHE_ARGUMENT, "additional data has at most 1024 bytes", NULL);
}

static enum keycache_error check_message(struct keycache *handle, size_t size, size_t aad_size)
{
	if (size < KEYCACHE_OVERHEAD || size > KEYCACHE_MOST + KEYCACHE_OVERHEAD)
		return fail(handle, KEYCACHE_ARGUMENT, "a message has 28 to 65564 bytes", NULL);
	return check_aad(handle, aad_size);
}

enum keycache_error keycache_seal_aad(struct keycache *handle, const char *id, const void *aad, size_t aad_size,
				      const void *plain, size_t plain_size, void *message, size_t *size)
{
	const struct word words[] = { word("SEAL"), word(id), { plain, plain_size }, { aad, aad_size } };
	redisReply *reply;
	enum keycache_error error;

	if (plain_size > KEYCACHE_MOST)
		return fail(handle, KEYCACHE_ARGUMENT, "a plaintext has at most 65536 bytes", NULL);
	error = check_aad(handle, aad_size);
	if (error)
		return error;
	/* Without messages there is nothing to say to a server that takes none. */
	error = ask(handle, words, aad_size ? 4 : 3, &reply);
	return error ? error : take_message(handle, reply, message, size);
}

enum keycache_error keycache_seal(struct keycache *handle, const char *id, const void *plain, size_t plain_size,
				  void *message, size_t *size)
{
	return keycache_seal_aad(handle, id, NULL, 0, plain, plain_size, message, size);
}

enum keycache_error keycache_open_aad(struct keycache *handle, const char *id, const void *aad, size_t aad_size,
				      const void *message, size_t message_size, void *plain, size_t *size)
{
	const struct word words[] = { word("OPEN"),
				      word(id),
				      { message, NONCE_BYTES },
				      { (const char *)message + NONCE_BYTES, message_size - NONCE_BYTES },
				      { aad, aad_size } };
	redisReply *reply;
	enum keycache_error error;

	error = check_message(handle, message_size, aad_size);
	if (error)
		return error;
	error = ask(handle, words, aad_size ? 5 : 4, &reply);
	return error ? error : take(handle, reply, plain, size);
}

enum keycache_error keycache_open(struct keycache *handle, const char *id, const void *message, size_t message_size,
				  void *plain, size_t *size)
{
	return keycache_open_aad(handle, id, NULL, 0, message, message_size, plain, size);
}

enum keycache_error keycache_reencrypt_aad(struct keycache *handle, const char *from, const char *to, const void *aad,
					   size_t aad_size, const void *message, size_t message_size, void *out,
					   size_t *size)
{
	const struct word words[WORDS] = { word("REENCRYPT"),
					   word(from),
					   word(to),
					   { message, NONCE_BYTES },
					   { (const char *)message + NONCE_BYTES, message_size - NONCE_BYTES },
					   { aad, aad_size } };
	redisReply *reply;
	enum keycache_error error;

	error = check_message(handle, message_size, aad_size);
	if (error)
		return error;
	error = ask(handle, words, aad_size ? WORDS : WORDS - 1, &reply);
	return error ? error : take_message(handle, reply, out, size);
}

enum keycache_error keycache_reencrypt(struct keycache *handle, const char *from, const char *to, const void *message,
				       size_t message_size, void *out, size_t *size)
{
	return keycache_reencrypt_aad(handle, from, to, NULL, 0, message, message_size, out, size);
}

enum keycache_error keycache_relay(struct keycache *handle, const char *from, const void *aad, size_t aad_size,
				   const void *message, size_t message_size, struct keycache_copy *copies, size_t count)
{
	struct word words[RELAY_WORDS + KEYCACHE_COPIES] = { word("RELAY"), word(from) };
	redisReply *reply;
	enum keycache_error error;

	error = check_message(handle, message_size, aad_size);
	if (error)
		return error;
	if (count > KEYCACHE_COPIES)
		return fail(handle, KEYCACHE_ARGUMENT, "a message is relayed to at most 64 receivers at once", NULL);
	words[2] = (struct word){ message, NONCE_BYTES };
	words[3] = (struct word){ (const char *)message + NONCE_BYTES, message_size - NONCE_BYTES };
	words[4] = (struct word){ aad, aad_size };
	for (size_t i = 0; i < count; i++)
		words[RELAY_WORDS + i] = word(copies[i].to);
	error = ask(handle, words, RELAY_WORDS + count, &reply);
	if (error)
		return error;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != count)
		return unexpected(handle, reply);
	for (size_t i = 0; i < count; i++) {
		const redisReply *one = reply->element[i];

		if (one->type == REDIS_REPLY_ERROR) {
			copies[i].error = error_of(one->str);
			continue;
		}
		if (!is_message(one) || message_bytes(one) != message_size)
			return unexpected(handle, reply);
		copy_message(one, copies[i].message);
		copies[i].error = KEYCACHE_OK;
	}
	drop(reply);
	return KEYCACHE_OK;
}

enum keycache_error keycache_scan(struct keycache *handle, void (*each)(const char *id, void *context), void *context)
{
	char cursor[24] = "0";

	do {
		const struct word words[] = { word("SCAN"), word(cursor) };
		redisReply *reply;
		enum keycache_error error = ask(handle, words, 2, &reply);

		if (error)
			return error;
		if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
		    reply->element[0]->type != REDIS_REPLY_STRING || reply->element[0]->len >= sizeof(cursor) ||
		    reply->element[1]->type != REDIS_REPLY_ARRAY)
			return unexpected(handle, reply);
		memcpy(cursor, reply->element[0]->str, reply->element[0]->len + 1);
		for (size_t i = 0; i < reply->element[1]->elements; i++)
			if (reply->element[1]->element[i]->type == REDIS_REPLY_STRING)
				each(reply->element[1]->element[i]->str, context);
		drop(reply);
	} while (strcmp(cursor, "0") != 0);
	return KEYCACHE_OK;
}

enum keycache_error keycache_info(struct keycache *handle, char **text)
{
	const struct word words[] = { word("INFO") };
	redisReply *reply;
	enum keycache_error error = ask(handle, words, 1, &reply);

	*text = NULL;
	if (error)
		return error;
	/* Without an error there is a reply. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	if (reply->type != REDIS_REPLY_STRING)
		return unexpected(handle, reply);
	*text = strdup(reply->str);
	drop(reply);
	return *text ? KEYCACHE_OK : fail(handle, KEYCACHE_ARGUMENT, "out of memory", NULL);
}
