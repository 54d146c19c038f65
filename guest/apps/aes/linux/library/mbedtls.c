/* SPDX-License-Identifier: BSD-2-Clause */
/* mbed TLS through its cipher layer, which has the four calls as the GlobalPlatform API has them. */
#include <mbedtls/cipher.h>

#include "../library.h"

/* What the two builds differ by, and nothing else: see app-aes.sh. */
#if defined(MBEDTLS_AESCE_C) != AES_EXTENSION
#error "mbed TLS is not configured as its name says"
#endif

static mbedtls_cipher_context_t context;

void library_environment(char **argv)
{
	(void)argv;
}

static int prepare(const struct case_job *job)
{
	static const mbedtls_cipher_mode_t modes[] = {
		[AES_CBC] = MBEDTLS_MODE_CBC,
		[AES_CTR] = MBEDTLS_MODE_CTR,
		[AES_GCM] = MBEDTLS_MODE_GCM,
	};
	int res;

	mbedtls_cipher_init(&context);
	res = mbedtls_cipher_setup(&context, mbedtls_cipher_info_from_values(MBEDTLS_CIPHER_ID_AES,
									     (int)job->key_size * 8, modes[job->mode]));
	if (!res && job->mode == AES_CBC)
		res = mbedtls_cipher_set_padding_mode(&context, MBEDTLS_PADDING_NONE);
	return res;
}

static int set_iv(const struct case_job *job)
{
	int res = mbedtls_cipher_set_iv(&context, job->iv, job->iv_size);

	if (!res)
		res = mbedtls_cipher_reset(&context);
	if (!res && job->mode == AES_GCM)
		res = mbedtls_cipher_update_ad(&context, job->aad, job->aad_size);
	return res;
}

static int cipher(const struct case_job *job)
{
	size_t tag_size = job->mode == AES_GCM ? AES_TAG_BYTES : 0;
	size_t size = job->direction == AES_ENCRYPT ? job->in_size : job->in_size - tag_size;
	size_t written = 0;
	size_t rest = 0;
	int res = mbedtls_cipher_update(&context, job->in, size, job->out, &written);

	if (!res)
		res = mbedtls_cipher_finish(&context, job->out + written, &rest);
	if (!res && written + rest != size)
		res = MBEDTLS_ERR_CIPHER_FULL_BLOCK_EXPECTED;
	if (res || !tag_size)
		return res;
	if (job->direction == AES_ENCRYPT)
		return mbedtls_cipher_write_tag(&context, job->out + size, tag_size);
	res = mbedtls_cipher_check_tag(&context, job->in + size, tag_size);
	return res == MBEDTLS_ERR_CIPHER_AUTH_FAILED ? CASE_FORGED : res;
}

uint32_t library_call(enum case_call call, const struct case_job *job)
{
	switch (call) {
	case CASE_PREPARE:
		return (uint32_t)prepare(job);
	case CASE_SET_KEY:
		return (uint32_t)mbedtls_cipher_setkey(&context, job->key, (int)job->key_size * 8,
						       job->direction == AES_ENCRYPT ? MBEDTLS_ENCRYPT
										     : MBEDTLS_DECRYPT);
	case CASE_SET_IV:
		return (uint32_t)set_iv(job);
	case CASE_CIPHER:
		break;
	}
	return (uint32_t)cipher(job);
}

void library_release(void)
{
	mbedtls_cipher_free(&context);
}
