/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A certificate authority to try things with. Its key lies beside what it signed: not for anything that matters.
 *
 * Certificates are valid from 2000 on: a device without a clock of its own starts in the past.
 */
#include "demo_ca.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_SECONDS (24L * 60 * 60)
#define SERIAL_BITS 64
#define PATH_BYTES 4096

enum kind { AUTHORITY, SERVER, CLIENT };

struct pair {
	EVP_PKEY *key;
	X509 *certificate;
};

static void complain(const char *what)
{
	unsigned long error = ERR_peek_last_error();

	(void)fprintf(stderr, "keycache: %s: %s\n", what, error ? ERR_reason_error_string(error) : strerror(errno));
	ERR_clear_error();
}

static void release(struct pair *pair)
{
	EVP_PKEY_free(pair->key);
	X509_free(pair->certificate);
	*pair = (struct pair){ 0 };
}

static FILE *create(const char *directory, const char *name, const char *ending, mode_t mode)
{
	char path[PATH_BYTES];
	FILE *file;
	int number;

	(void)snprintf(path, sizeof(path), "%s/%s%s", directory, name, ending);
	number = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	file = number < 0 ? NULL : fdopen(number, "w");
	if (!file)
		complain(path);
	return file;
}

static int write_pair(const char *directory, const char *name, const struct pair *pair)
{
	FILE *file = create(directory, name, ".key", 0600);
	int good;

	if (!file)
		return 0;
	good = PEM_write_PrivateKey(file, pair->key, NULL, NULL, 0, NULL, NULL);
	if (fclose(file) || !good)
		return 0;
	file = create(directory, name, ".crt", 0644);
	if (!file)
		return 0;
	good = PEM_write_X509(file, pair->certificate);
	return !fclose(file) && good;
}

static int read_authority(const char *directory, struct pair *pair)
{
	char path[PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/ca.key", directory);
	file = fopen(path, "re");
	if (!file)
		return 0;
	pair->key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
	(void)fclose(file);
	(void)snprintf(path, sizeof(path), "%s/ca.crt", directory);
	file = fopen(path, "re");
	if (!file)
		return 0;
	pair->certificate = PEM_read_X509(file, NULL, NULL, NULL);
	(void)fclose(file);
	return pair->key && pair->certificate;
}

static int extend(X509 *certificate, X509 *issuer, int kind, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	int good;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
	good = extension && X509_add_ext(certificate, extension, -1);
	X509_EXTENSION_free(extension);
	return good;
}

static int extend_all(X509 *certificate, X509 *issuer, enum kind kind)
{
	if (!extend(certificate, issuer, NID_subject_key_identifier, "hash"))
		return 0;
	if (kind == AUTHORITY)
		return extend(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
		       extend(certificate, issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
	if (!extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
	    !extend(certificate, issuer, NID_authority_key_identifier, "keyid") ||
	    !extend(certificate, issuer, NID_key_usage, "critical,digitalSignature"))
		return 0;
	if (kind == CLIENT)
		return extend(certificate, issuer, NID_ext_key_usage, "clientAuth");
	return extend(certificate, issuer, NID_ext_key_usage, "serverAuth") &&
	       extend(certificate, issuer, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1");
}

static int set_serial(X509 *certificate)
{
	BIGNUM *serial = BN_new();
	int good = serial && BN_rand(serial, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
		   BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate));

	BN_free(serial);
	return good;
}

/* The authority signs itself: issuer NULL. */
static int make(struct pair *pair, const struct pair *issuer, const char *name, enum kind kind, long days)
{
	const struct pair *signer = issuer ? issuer : pair;
	X509_NAME *subject = X509_NAME_new();
	int good;

	pair->key = EVP_EC_gen("P-256");
	pair->certificate = X509_new();
	good = subject && pair->key && pair->certificate &&
	       X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) &&
	       X509_set_version(pair->certificate, X509_VERSION_3) && set_serial(pair->certificate) &&
	       ASN1_TIME_set_string(X509_getm_notBefore(pair->certificate), "20000101000000Z") &&
	       X509_gmtime_adj(X509_getm_notAfter(pair->certificate), days * DAY_SECONDS) &&
	       X509_set_subject_name(pair->certificate, subject) &&
	       X509_set_issuer_name(pair->certificate, issuer ? X509_get_subject_name(issuer->certificate) : subject) &&
	       X509_set_pubkey(pair->certificate, pair->key) &&
	       extend_all(pair->certificate, signer->certificate, kind) &&
	       X509_sign(pair->certificate, signer->key, EVP_sha256());
	X509_NAME_free(subject);
	return good;
}

static int make_and_write(const char *directory, const struct pair *issuer, const char *name, enum kind kind, long days)
{
	struct pair pair = { 0 };
	int good = make(&pair, issuer, name, kind, days) && write_pair(directory, name, &pair);

	if (!good)
		complain(name);
	release(&pair);
	return good;
}

static int write_list(const char *directory, char *const *names, size_t count)
{
	char path[PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/acl", directory);
	if (!access(path, F_OK))
		return 1;
	file = create(directory, "acl", "", 0600);
	if (!file)
		return 0;
	(void)fputs("# Made by keycache demo-ca.\nadmin admin\n", file);
	/* Each may re-encrypt to the next one. */
	for (size_t i = 0; i + 1 < count; i++)
		(void)fprintf(file, "reencrypt %s %s\n", names[i], names[i + 1]);
	return !fclose(file);
}

int demo_ca_make(const char *directory, char *const *names, size_t count, long days)
{
	static char alice[] = "alice";
	static char bob[] = "bob";
	char *const some[] = { alice, bob };
	struct pair authority = { 0 };
	int good = 1;

	if (mkdir(directory, 0700) && errno != EEXIST) {
		complain(directory);
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		if (strchr(names[i], '/') || names[i][0] == '.' || !strcmp(names[i], "ca") ||
		    !strcmp(names[i], "server")) {
			(void)fprintf(stderr, "keycache: demo-ca: %s cannot be the name of a file here\n", names[i]);
			return 2;
		}
	}
	if (!read_authority(directory, &authority)) {
		release(&authority);
		good = make(&authority, NULL, "keycache demo authority", AUTHORITY, 3650) &&
		       write_pair(directory, "ca", &authority) &&
		       make_and_write(directory, &authority, "server", SERVER, 3650) &&
		       make_and_write(directory, &authority, "admin", CLIENT, 3650);
		if (!good)
			complain(directory);
	}
	ERR_clear_error();
	if (!count) {
		names = some;
		count = 2;
	}
	for (size_t i = 0; good && i < count; i++)
		good = make_and_write(directory, &authority, names[i], CLIENT, days);
	release(&authority);
	return good && write_list(directory, names, count) ? 0 : 1;
}
