/* SPDX-License-Identifier: BSD-2-Clause */
/* Debian's OpenSSL through EVP. Which of its code for AES runs, it decides as it is loaded. */
#include <openssl/evp.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../library.h"

/*
 * What OpenSSL is told to find: Advanced SIMD, which every Armv8-A core has, and nothing else. It then has AES by
 * table look-ups in vector registers, in constant time, and GHASH in C, as on a core without the extension.
 */
#define CAPABILITIES "OPENSSL_armcap"
#define SIMD_ALONE "1"

static EVP_CIPHER_CTX *context;

void library_environment(char **argv)
{
	const char *now = getenv(CAPABILITIES);

	/* OpenSSL's constructor has read it already: only a program that begins anew has it otherwise. */
	if (AES_EXTENSION ? !now : now && !strcmp(now, SIMD_ALONE))
		return;
	if (AES_EXTENSION ? unsetenv(CAPABILITIES) : setenv(CAPABILITIES, SIMD_ALONE, 1))
		exit(2);
	(void)execv("/proc/self/exe", argv);
	exit(2);
}

static const EVP_CIPHER *algorithm(const struct case_job *job)
{
	static const char *const names[][2] = {
		[AES_CBC] = { "AES-128-CBC", "AES-256-CBC" },
		[AES_CTR] = { "AES-128-CTR", "AES-256-CTR" },
		[AES_GCM] = { "AES-128-GCM", "AES-256-GCM" },
	};
	static EVP_CIPHER *fetched[3][2];
	EVP_CIPHER **found = &fetched[job->mode][job->key_size == 32];

	/* Once a process, as its manual advises: the look-up by name is not part of what recurs. */
	if (!*found)
		*found = EVP_CIPHER_fetch(NULL, names[job->mode][job->key_size == 32], NULL);
	return *found;
}

static int prepare(const struct case_job *job)
{
	context = EVP_CIPHER_CTX_new();
	return context &&
	       EVP_CipherInit_ex2(context, algorithm(job), NULL, NULL, job->direction == AES_ENCRYPT, NULL) &&
	       EVP_CIPHER_CTX_set_padding(context, 0);
}

static int set_iv(const struct case_job *job)
{
	int length;

	return EVP_CipherInit_ex2(context, NULL, NULL, job->iv, -1, NULL) &&
	       (job->mode != AES_GCM || EVP_CipherUpdate(context, NULL, &length, job->aad, (int)job->aad_size));
}

static uint32_t cipher(const struct case_job *job)
{
	int tag_size = job->mode == AES_GCM ? AES_TAG_BYTES : 0;
	int encrypts = job->direction == AES_ENCRYPT;
	int size = (int)job->in_size - (encrypts ? 0 : tag_size);
	int written = 0;
	int rest = 0;

	if (!EVP_CipherUpdate(context, job->out, &written, job->in, size))
		return EIO;
	if (tag_size && !encrypts && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_size, job->in + size) <= 0)
		return EIO;
	if (!EVP_CipherFinal_ex(context, job->out + written, &rest))
		return tag_size && !encrypts ? CASE_FORGED : EIO;
	if (tag_size && encrypts && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag_size, job->out + size) <= 0)
		return EIO;
	return written + rest == size ? 0 : EIO;
}

uint32_t library_call(enum case_call call, const struct case_job *job)
{
	switch (call) {
	case CASE_PREPARE:
		return prepare(job) ? 0 : EIO;
	case CASE_SET_KEY:
		return EVP_CipherInit_ex2(context, NULL, job->key, NULL, -1, NULL) ? 0 : EIO;
	case CASE_SET_IV:
		return set_iv(job) ? 0 : EIO;
	case CASE_CIPHER:
		break;
	}
	return cipher(job);
}

void library_release(void)
{
	EVP_CIPHER_CTX_free(context);
	context = NULL;
}
