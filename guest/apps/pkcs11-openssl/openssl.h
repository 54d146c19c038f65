/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenSSL as a server has it, with its key in the token (by the provider pkcs11) or in the process. Each function ends the
 * program with OpenSSL's own words if it fails.
 */
#ifndef WORLDWISE_APPS_PKCS11_OPENSSL_OPENSSL_H
#define WORLDWISE_APPS_PKCS11_OPENSSL_OPENSSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A point of P-256, uncompressed; and room for an ECDSA signature in DER, of which the provider asks for more than it takes. */
#define OPENSSL_POINT_BYTES 65
#define OPENSSL_SIGNATURE_BYTES 160

struct openssl_signature {
	uint8_t bytes[OPENSSL_SIGNATURE_BYTES];
	size_t size;
};

/* A library context by a configuration file, and in it the key of the token. openssl_make() has a new key in the process instead. */
void openssl_load(const char *configuration);
void openssl_make(void);
void openssl_unload(void);

/* The public key of a key in the process. */
void openssl_point(uint8_t point[OPENSSL_POINT_BYTES]);

/* ECDSA with SHA-256 of a message, with the calls that libssl makes for CertificateVerify. */
void openssl_sign(const uint8_t *message, size_t size, struct openssl_signature *signature);

/* Whether OpenSSL by itself, without the token, takes a signature for that of a public key. */
bool openssl_accepts(const uint8_t point[OPENSSL_POINT_BYTES], const uint8_t *message, size_t size,
		     const struct openssl_signature *signature);

/* A certificate for the loaded key by its public key, and both sides' settings: TLS 1.3, X25519. The key must be loaded until the end. */
void openssl_begin_tls(const uint8_t point[OPENSSL_POINT_BYTES]);
void openssl_end_tls(void);

/* A handshake: the client's hello; the server's whole answer to it; what is left, after which both sides must have finished. */
void openssl_hello(void);
void openssl_answer(void);
void openssl_finish(void);

#endif /* WORLDWISE_APPS_PKCS11_OPENSSL_OPENSSL_H */
