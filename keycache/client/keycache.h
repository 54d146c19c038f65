/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libkeycache: a client of the secure key cache. Blocking, one connection per handle, a handle in one thread at a time.
 *
 * Every function answers a keycache_error; keycache_text() says more about the last one. After KEYCACHE_NETWORK,
 * KEYCACHE_TLS or KEYCACHE_PROTOCOL the connection is of no use: close it and connect again.
 */
#ifndef KEYCACHE_H
#define KEYCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

#define KEYCACHE_OVERHEAD 28 /* bytes of a message besides its plaintext: nonce and tag */
#define KEYCACHE_MOST 65536  /* bytes of a plaintext */
#define KEYCACHE_MOST_AAD 1024
#define KEYCACHE_NAME 64   /* bytes of the longest id */
#define KEYCACHE_COPIES 64 /* receivers of one keycache_relay */

enum keycache_error {
	KEYCACHE_OK,
	KEYCACHE_NO_SUCH_KEY, /* or no right to it: the server does not say which */
	KEYCACHE_NOT_GENUINE, /* the message does not open under this key */
	KEYCACHE_REFUSED,     /* not allowed: only an administrator sets keys; GET is off */
	KEYCACHE_AGAIN,       /* the trusted application starts anew: try again */
	KEYCACHE_NO_SPACE,    /* secure storage is full, or the buffer given is too small */
	KEYCACHE_ARGUMENT,
	KEYCACHE_NETWORK,
	KEYCACHE_TLS,
	KEYCACHE_PROTOCOL, /* the answer is not one of this server */
	KEYCACHE_SERVER,   /* another error of the server: see the text */
};

struct keycache;

struct keycache_address {
	const char *host;    /* a name or an address; NULL is 127.0.0.1 */
	const char *port;    /* NULL is 6380 */
	const char *name;    /* in the server's certificate, if it is not the host */
	const char *ca;      /* files: who signed the server's certificate, */
	const char *cert;    /* our certificate, */
	const char *key;     /* and its key */
	unsigned timeout_ms; /* of one read or write; 0 is 10 seconds */
};

/* A handle comes back even with an error, for its text; NULL only with no memory. Close it in every case. */
enum keycache_error keycache_connect(struct keycache **handle, const struct keycache_address *address);
void keycache_close(struct keycache *handle);
const char *keycache_text(const struct keycache *handle);

enum keycache_error keycache_ping(struct keycache *handle);
/* 16 or 32 bytes. For administrators. */
enum keycache_error keycache_set(struct keycache *handle, const char *id, const void *key, size_t size);
/* Of a key that is set. Zeros: for every use and for ever, and the key that it replaces is of no use any more. */
struct keycache_terms {
	const char *use;   /* what it is for, as the server's USE has it: "seal,to,named"; NULL: everything */
	unsigned keep;     /* for so many seconds the key that it replaces goes on opening what it sealed */
	unsigned lifetime; /* after so many seconds it is deleted; 0: never */
};

/* NULL as the terms: zeros. For administrators, as all that sets keys or tells about them. */
enum keycache_error keycache_set_terms(struct keycache *handle, const char *id, const void *key, size_t size,
				       const struct keycache_terms *terms);
/* A key of 16 or 32 bytes that the TEE makes and nobody sees. */
enum keycache_error keycache_generate(struct keycache *handle, const char *id, unsigned size,
				      const struct keycache_terms *terms);
/* The previous key opens nothing any more. */
enum keycache_error keycache_forget(struct keycache *handle, const char *id);
/* What a key is for, and so on: lines of a name, a colon and a value; to be freed. */
enum keycache_error keycache_keyinfo(struct keycache *handle, const char *id, char **text);

/* Points of P-256, x and y. Of the device's TEE, and of its authority's two pairs, or zeros. */
struct keycache_device {
	uint8_t point[64];
	uint8_t signer[64];
	uint8_t backup[64];
};

enum keycache_error keycache_identity(struct keycache *handle, struct keycache_device *device);
/* Statements of an authority, as `keycache authority` makes them. */
enum keycache_error keycache_trust(struct keycache *handle, const void *statement, size_t size);
/*
 * `terms`: what the key is for says the statement. `handover`: a generated key on its way to its client, sealed for it, and in
 * *handover_size what there is room for, then its size: 0 if the statement asks for none.
 */
enum keycache_error keycache_enrol(struct keycache *handle, const void *statement, size_t size,
				   const struct keycache_terms *terms, void *handover, size_t *handover_size);
/* Calls `each` for every part of a backup, one behind the other. They are sealed for the authority. False: enough. */
enum keycache_error keycache_backup(struct keycache *handle, bool (*each)(const void *part, size_t size, void *context),
				    void *context);
/* In `size` what there is room for, then what was written. So below, too. */
enum keycache_error keycache_get(struct keycache *handle, const char *id, void *key, size_t *size);
enum keycache_error keycache_del(struct keycache *handle, const char *id);
enum keycache_error keycache_exists(struct keycache *handle, const char *id, bool *exists);
/* A message is nonce || ciphertext || tag. */
enum keycache_error keycache_seal(struct keycache *handle, const char *id, const void *plain, size_t plain_size,
				  void *message, size_t *size);
enum keycache_error keycache_open(struct keycache *handle, const char *id, const void *message, size_t message_size,
				  void *plain, size_t *size);
enum keycache_error keycache_reencrypt(struct keycache *handle, const char *from, const char *to, const void *message,
				       size_t message_size, void *out, size_t *size);
/*
 * The same with additional data (at most KEYCACHE_MOST_AAD bytes), which is no part of the message: what opens it must name the
 * same. With REENCRYPT both messages have it.
 */
enum keycache_error keycache_seal_aad(struct keycache *handle, const char *id, const void *aad, size_t aad_size,
				      const void *plain, size_t plain_size, void *message, size_t *size);
enum keycache_error keycache_open_aad(struct keycache *handle, const char *id, const void *aad, size_t aad_size,
				      const void *message, size_t message_size, void *plain, size_t *size);
enum keycache_error keycache_reencrypt_aad(struct keycache *handle, const char *from, const char *to, const void *aad,
					   size_t aad_size, const void *message, size_t message_size, void *out,
					   size_t *size);
/* A receiver of keycache_relay: its id, and what becomes of it. */
struct keycache_copy {
	const char *to;
	void *message;             /* has room for as many bytes as the message that is relayed */
	enum keycache_error error; /* KEYCACHE_OK: `message` is the receiver's */
};

/*
 * Re-encrypts one message for each of up to KEYCACHE_COPIES receivers in one request, additional data as with
 * keycache_reencrypt_aad. The result is about the sender and the
 * message; with no receiver, KEYCACHE_OK says that the message is genuine.
 */
enum keycache_error keycache_relay(struct keycache *handle, const char *from, const void *aad, size_t aad_size,
				   const void *message, size_t message_size, struct keycache_copy *copies,
				   size_t count);
/* Calls `each` for every id there is; for administrators. */
enum keycache_error keycache_scan(struct keycache *handle, void (*each)(const char *id, void *context), void *context);
/* Text, to be freed. */
enum keycache_error keycache_info(struct keycache *handle, char **text);

/*
 * Messages of an MQTT broker that relays what it cannot read (mosquitto/): a payload names its sender, and a message follows
 * that is sealed by the sender's key or, once it was relayed, by the receiver's. What stands before the message is its additional
 * data, and in the second of two formats the topic as well: on the way nobody gives it another sender, nor another topic. The
 * topic is not in the payload: who opens it says by which one it came. No server is asked.
 */
#define KEYCACHE_PAYLOAD_HEAD (4 + KEYCACHE_NAME) /* bytes of a payload besides its message, at most */
#define KEYCACHE_MOST_TOPIC (KEYCACHE_MOST_AAD - KEYCACHE_PAYLOAD_HEAD)

/* What is in a payload: pointers into it. */
struct keycache_payload {
	bool has_topic;   /* its topic is additional data, too */
	const void *head; /* what stands before the message */
	size_t head_size;
	const char *sender; /* no zero ends it */
	size_t sender_size;
	const void *message; /* nonce || ciphertext || tag */
	size_t message_size;
};

/* False if it is no message: another format, a sender that is no id, a message of a size that none has. */
bool keycache_payload_read(struct keycache_payload *payload, const void *bytes, size_t size);
/* The message's additional data, of a payload of this topic: at most KEYCACHE_MOST_AAD bytes. 0: the topic is too long. */
size_t keycache_payload_aad(const struct keycache_payload *payload, const char *topic, void *aad);
/* `key`: the sender's, 16 or 32 bytes; `out` has room for KEYCACHE_PAYLOAD_HEAD + KEYCACHE_OVERHEAD bytes more than `plain`. */
enum keycache_error keycache_payload_seal(const char *sender, const void *key, size_t key_size, const void *plain,
					  size_t plain_size, void *out, size_t *size);
/* `key`: the receiver's; `plain` has room for as many bytes as the payload. Who sent it is in keycache_payload_read's answer. */
enum keycache_error keycache_payload_open(const void *key, size_t key_size, const void *bytes, size_t bytes_size,
					  void *plain, size_t *size);
/*
 * The same with the topic, of at most KEYCACHE_MOST_TOPIC bytes. Each of the two opens its own format alone: KEYCACHE_ARGUMENT for
 * the other one, which keycache_payload_read tells apart.
 */
enum keycache_error keycache_payload_seal_topic(const char *sender, const char *topic, const void *key, size_t key_size,
						const void *plain, size_t plain_size, void *out, size_t *size);
enum keycache_error keycache_payload_open_topic(const char *topic, const void *key, size_t key_size, const void *bytes,
						size_t bytes_size, void *plain, size_t *size);

#ifdef __cplusplus
}
#endif
#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif /* KEYCACHE_H */
