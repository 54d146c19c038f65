/* SPDX-License-Identifier: BSD-2-Clause */
#include "tls.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>

static SSL_CTX *failed(SSL_CTX *context, const char *file, const char *what, char *problem, size_t size)
{
	unsigned long error = ERR_peek_last_error();
	const char *reason = error ? ERR_reason_error_string(error) : NULL;

	(void)snprintf(problem, size, "%s: %s%s%s", file, what, reason ? ": " : "", reason ? reason : "");
	SSL_CTX_free(context);
	return NULL;
}

/* Every certificate between the authority's own and the client's must be on no list, and have one to look at. */
static bool use_crl(SSL_CTX *context, const char *file)
{
	X509_STORE *store = SSL_CTX_get_cert_store(context);
	X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());

	return lookup && X509_load_crl_file(lookup, file, X509_FILETYPE_PEM) > 0 &&
	       X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
}

SSL_CTX *tls_context(const struct tls_files *files, char *problem, size_t size)
{
	const char *cert = files->cert;
	const char *key = files->key;
	const char *ca = files->ca;
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION))
		return failed(context, "TLS", "OpenSSL does not start", problem, size);
	if (SSL_CTX_use_certificate_chain_file(context, cert) != 1)
		return failed(context, cert, "--tls-cert cannot be used", problem, size);
	if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		return failed(context, key, "--tls-key cannot be used", problem, size);
	if (SSL_CTX_check_private_key(context) != 1)
		return failed(context, key, "--tls-key is not the key of --tls-cert", problem, size);
	if (SSL_CTX_load_verify_file(context, ca) != 1)
		return failed(context, ca, "--tls-ca cannot be used", problem, size);
	if (files->crl && !use_crl(context, files->crl))
		return failed(context, files->crl, "--tls-crl cannot be used", problem, size);
	/* Whom the server asks for: said in the handshake, so that a client with several certificates picks the right one. */
	SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(ca));
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	/* Every connection shows its certificate: nobody resumes with one that has expired since. No early data either. */
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_num_tickets(context, 0);
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT);
	(void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	ERR_clear_error();
	return context;
}

const char *tls_reason(const SSL *ssl)
{
	long verified = SSL_get_verify_result(ssl);
	unsigned long error = ERR_peek_error();
	const char *reason = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
			     : error               ? ERR_reason_error_string(error)
						   : NULL;

	return reason ? reason : "the handshake failed";
}

bool tls_still_good(SSL_CTX *context, const SSL *ssl)
{
	X509 *certificate = SSL_get1_peer_certificate(ssl);
	X509_STORE_CTX *verify = X509_STORE_CTX_new();
	bool good = certificate && verify &&
		    X509_STORE_CTX_init(verify, SSL_CTX_get_cert_store(context), certificate,
					SSL_get_peer_cert_chain(ssl)) &&
		    X509_STORE_CTX_set_default(verify, "ssl_client") && X509_verify_cert(verify) == 1;

	X509_STORE_CTX_free(verify);
	X509_free(certificate);
	return good;
}

bool tls_identity(const SSL *ssl, struct id *id)
{
	X509 *certificate = SSL_get1_peer_certificate(ssl);
	unsigned char *text = NULL;
	bool good = false;

	if (certificate && SSL_get_verify_result(ssl) == X509_V_OK) {
		const X509_NAME *subject = X509_get_subject_name(certificate);
		int at = X509_NAME_get_index_by_NID((X509_NAME *)(uintptr_t)subject, NID_commonName, -1);

		/* Two names would leave it to chance which one counts. */
		if (at >= 0 && X509_NAME_get_index_by_NID((X509_NAME *)(uintptr_t)subject, NID_commonName, at) < 0) {
			const ASN1_STRING *name = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
			int size = ASN1_STRING_to_UTF8(&text, name);

			good = size > 0 && id_make(id, text, (size_t)size);
		}
	}
	OPENSSL_free(text);
	X509_free(certificate);
	return good;
}
