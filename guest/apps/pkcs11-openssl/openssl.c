/* SPDX-License-Identifier: BSD-2-Clause */
#include "openssl.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/store.h>
#include <openssl/x509.h>
#include <string.h>

#include "../../bench/bench.h"

/* The key with the number of TOKEN_KEY. */
#define KEY_URI "pkcs11:token=worldwise;id=%01;type=private"

static OSSL_LIB_CTX *context;
static EVP_PKEY *key;
static SSL_CTX *server_settings;
static SSL_CTX *client_settings;
static SSL *server;
static SSL *client;

static _Noreturn void fail(const char *what)
{
	char why[160] = "no reason given";
	unsigned long code = ERR_peek_error();

	if (code)
		ERR_error_string_n(code, why, sizeof(why));
	bench_fail("%s failed: %s", what, why);
}

static void must(bool well, const char *what)
{
	if (!well)
		fail(what);
}

void openssl_load(const char *configuration)
{
	OSSL_STORE_CTX *store;
	OSSL_STORE_INFO *found = NULL;

	context = OSSL_LIB_CTX_new();
	must(context, "OSSL_LIB_CTX_new");
	must(OSSL_LIB_CTX_load_config(context, configuration), "OSSL_LIB_CTX_load_config");
	store = OSSL_STORE_open_ex(KEY_URI, context, NULL, NULL, NULL, NULL, NULL, NULL);
	must(store, "OSSL_STORE_open_ex");
	must(OSSL_STORE_expect(store, OSSL_STORE_INFO_PKEY), "OSSL_STORE_expect");
	while (!key && !OSSL_STORE_eof(store)) {
		found = OSSL_STORE_load(store);
		if (found && OSSL_STORE_INFO_get_type(found) == OSSL_STORE_INFO_PKEY)
			key = OSSL_STORE_INFO_get1_PKEY(found);
		OSSL_STORE_INFO_free(found);
	}
	OSSL_STORE_close(store);
	must(key, "OSSL_STORE_load");
}

void openssl_make(void)
{
	context = OSSL_LIB_CTX_new();
	must(context, "OSSL_LIB_CTX_new");
	must(OSSL_PROVIDER_load(context, "default"), "OSSL_PROVIDER_load");
	key = EVP_PKEY_Q_keygen(context, NULL, "EC", "P-256");
	must(key, "EVP_PKEY_Q_keygen");
}

void openssl_unload(void)
{
	EVP_PKEY_free(key);
	key = NULL;
	OSSL_LIB_CTX_free(context);
	context = NULL;
}

void openssl_point(uint8_t point[OPENSSL_POINT_BYTES])
{
	size_t size = 0;

	must(EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, OPENSSL_POINT_BYTES, &size) &&
		     size == OPENSSL_POINT_BYTES,
	     "EVP_PKEY_get_octet_string_param");
}

void openssl_sign(const uint8_t *message, size_t size, struct openssl_signature *signature)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();

	must(md, "EVP_MD_CTX_new");
	must(EVP_DigestSignInit_ex(md, NULL, "SHA256", context, NULL, key, NULL) > 0, "EVP_DigestSignInit_ex");
	must(EVP_DigestSign(md, NULL, &signature->size, message, size) > 0, "EVP_DigestSign of a size");
	must(signature->size <= sizeof(signature->bytes), "EVP_DigestSign with room for a signature");
	must(EVP_DigestSign(md, signature->bytes, &signature->size, message, size) > 0, "EVP_DigestSign");
	EVP_MD_CTX_free(md);
}

/* A public key that has nothing to do with the token, in OpenSSL's own context. */
static EVP_PKEY *public_key(const uint8_t point[OPENSSL_POINT_BYTES])
{
	char group[] = "P-256";
	uint8_t bytes[OPENSSL_POINT_BYTES];
	OSSL_PARAM of[] = { OSSL_PARAM_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group) - 1),
			    OSSL_PARAM_octet_string(OSSL_PKEY_PARAM_PUB_KEY, bytes, sizeof(bytes)), OSSL_PARAM_END };
	EVP_PKEY_CTX *from = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	EVP_PKEY *made = NULL;

	memcpy(bytes, point, sizeof(bytes));
	must(from && EVP_PKEY_fromdata_init(from) > 0 && EVP_PKEY_fromdata(from, &made, EVP_PKEY_PUBLIC_KEY, of) > 0,
	     "EVP_PKEY_fromdata");
	EVP_PKEY_CTX_free(from);
	return made;
}

bool openssl_accepts(const uint8_t point[OPENSSL_POINT_BYTES], const uint8_t *message, size_t size,
		     const struct openssl_signature *signature)
{
	EVP_PKEY *public = public_key(point);
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int accepted;

	must(md && EVP_DigestVerifyInit_ex(md, NULL, "SHA256", NULL, NULL, public, NULL) > 0,
	     "EVP_DigestVerifyInit_ex");
	accepted = EVP_DigestVerify(md, signature->bytes, signature->size, message, size);
	EVP_MD_CTX_free(md);
	EVP_PKEY_free(public);
	ERR_clear_error();
	return accepted == 1;
}

/* The server's certificate, by an issuer that nobody asks about. */
static X509 *certificate(const uint8_t point[OPENSSL_POINT_BYTES])
{
	EVP_PKEY *issuer = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	X509 *made = X509_new();
	EVP_PKEY *public = public_key(point);

	must(issuer && made && X509_set_version(made, X509_VERSION_3) &&
		     ASN1_INTEGER_set(X509_get_serialNumber(made), 1) &&
		     X509_gmtime_adj(X509_getm_notBefore(made), 0) &&
		     X509_gmtime_adj(X509_getm_notAfter(made), 86400) &&
		     X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
						(const unsigned char *)"worldwise", -1, -1, 0) &&
		     X509_set_issuer_name(made, X509_get_subject_name(made)) && X509_set_pubkey(made, public) &&
		     X509_sign(made, issuer, EVP_sha256()),
	     "making a certificate");
	EVP_PKEY_free(public);
	EVP_PKEY_free(issuer);
	return made;
}

static SSL_CTX *settings(OSSL_LIB_CTX *of, const SSL_METHOD *method)
{
	SSL_CTX *made = SSL_CTX_new_ex(of, NULL, method);

	must(made && SSL_CTX_set_min_proto_version(made, TLS1_3_VERSION) && SSL_CTX_set1_groups_list(made, "X25519"),
	     "SSL_CTX_new_ex");
	return made;
}

void openssl_begin_tls(const uint8_t point[OPENSSL_POINT_BYTES])
{
	X509 *shown = certificate(point);

	server_settings = settings(context, TLS_server_method());
	client_settings = settings(NULL, TLS_client_method());
	must(SSL_CTX_use_certificate(server_settings, shown) > 0, "SSL_CTX_use_certificate");
	must(SSL_CTX_use_PrivateKey(server_settings, key) > 0, "SSL_CTX_use_PrivateKey");
	X509_free(shown);
}

void openssl_end_tls(void)
{
	SSL_CTX_free(server_settings);
	SSL_CTX_free(client_settings);
}

void openssl_hello(void)
{
	BIO *up = BIO_new(BIO_s_mem());
	BIO *down = BIO_new(BIO_s_mem());

	server = SSL_new(server_settings);
	client = SSL_new(client_settings);
	must(up && down && server && client && BIO_up_ref(up) && BIO_up_ref(down), "SSL_new");
	SSL_set_bio(client, down, up);
	SSL_set_bio(server, up, down);
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	must(SSL_do_handshake(client) <= 0 && BIO_pending(up) > 0, "the client's hello");
}

void openssl_answer(void)
{
	if (SSL_do_handshake(server) > 0)
		fail("the server's answer");
}

void openssl_finish(void)
{
	/* The client has verified the server's signature when it has finished. */
	must(SSL_do_handshake(client) > 0, "the client's part of the handshake");
	must(SSL_do_handshake(server) > 0, "the server's part of the handshake");
	must(SSL_version(server) == TLS1_3_VERSION, "TLS 1.3");
	SSL_free(client);
	SSL_free(server);
	ERR_clear_error();
}
