/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of wolfSSL, as its wolfcrypt/benchmark calls them: blocks of 1,024 bytes, and one key pair. */
#include "cells.h"
#include "mcu_cells.h"

#include <wolfssl/wolfcrypt/settings.h>

#include <wolfssl/wolfcrypt/aes.h>
#include <wolfssl/wolfcrypt/chacha.h>
#include <wolfssl/wolfcrypt/ecc.h>
#include <wolfssl/wolfcrypt/poly1305.h>
#include <wolfssl/wolfcrypt/random.h>
#include <wolfssl/wolfcrypt/sha256.h>
#include <wolfssl/wolfcrypt/sha512.h>
#ifdef VALIDATION_THUMB2
#include <wolfssl/wolfcrypt/curve25519.h>
#include <wolfssl/wolfcrypt/ed25519.h>
#endif /* VALIDATION_THUMB2 */

#define BLOCK 1024
#define NUMBER 32
#define HASH 32
/* The benchmark signs messages of 512 bytes with Ed25519. */
#define MESSAGE 512
#define SIGNATURE 64

#ifdef VALIDATION_THUMB2
#define MCU_BY_CORE mcu_assembly
#else
#define MCU_BY_CORE mcu_compiled
#endif /* VALIDATION_THUMB2 */

static WC_RNG rng;
static Aes aes;
static ChaCha chacha;
static Poly1305 poly1305;
static wc_Sha256 sha256;
static wc_Sha512 sha512;
static ecc_key key, peer, made;
static mp_int r, s;

static void prepare_aes128(long long number, struct cells_buffers *b)
{
	(void)number;
	mcu_require(!wc_AesSetKey(&aes, b->in[1], 16, b->in[2], AES_ENCRYPTION));
}

static void prepare_aes256(long long number, struct cells_buffers *b)
{
	(void)number;
	mcu_require(!wc_AesSetKey(&aes, b->in[1], 32, b->in[2], AES_ENCRYPTION));
}

static void call_aes(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = wc_AesCbcEncrypt(&aes, b->out, b->in[0], BLOCK);
	cells_end();
	mcu_require(!status);
}

static void prepare_chacha(long long number, struct cells_buffers *b)
{
	(void)number;
	mcu_require(!wc_Chacha_SetKey(&chacha, b->in[1], 32));
	mcu_require(!wc_Chacha_SetIV(&chacha, b->in[2], 0));
}

static void call_chacha(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = wc_Chacha_Process(&chacha, b->out, b->in[0], BLOCK);
	cells_end();
	mcu_require(!status);
}

static void prepare_poly1305(long long number, struct cells_buffers *b)
{
	(void)number;
	mcu_require(!wc_Poly1305SetKey(&poly1305, b->in[1], 32));
}

static void call_poly1305(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = wc_Poly1305Update(&poly1305, b->in[0], BLOCK);
	cells_end();
	mcu_require(!status);
}

static void prepare_sha256(long long number, struct cells_buffers *b)
{
	(void)number;
	(void)b;
	mcu_require(!wc_InitSha256(&sha256));
}

static void call_sha256(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = wc_Sha256Update(&sha256, b->in[0], BLOCK);
	cells_end();
	mcu_require(!status && !wc_Sha256GetHash(&sha256, b->out));
}

static void prepare_sha512(long long number, struct cells_buffers *b)
{
	(void)number;
	(void)b;
	mcu_require(!wc_InitSha512(&sha512));
}

static void call_sha512(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = wc_Sha512Update(&sha512, b->in[0], BLOCK);
	cells_end();
	mcu_require(!status && !wc_Sha512GetHash(&sha512, b->out));
}

static void prepare_ecc(long long number, struct cells_buffers *b)
{
	(void)number;
	mcu_require(!wc_InitRng(&rng));
	mcu_require(!wc_ecc_init(&key) && !wc_ecc_init(&peer) && !wc_ecc_init(&made));
	mcu_require(!wc_ecc_make_key_ex(&rng, NUMBER, &key, ECC_SECP256R1));
	mcu_require(!wc_ecc_make_key_ex(&rng, NUMBER, &peer, ECC_SECP256R1));
	mcu_require(!wc_ecc_set_rng(&key, &rng));
	mcu_require(!mp_init(&r) && !mp_init(&s));
	mcu_require(!wc_ecc_sign_hash_ex(b->in[0], HASH, &rng, &key, &r, &s));
}

static void call_ecc_keygen(cells_function function, struct cells_buffers *b)
{
	word32 length = NUMBER;
	int status;

	(void)function;
	cells_begin();
	wc_ecc_free(&made);
	wc_ecc_init(&made);
	status = wc_ecc_make_key_ex(&rng, NUMBER, &made, ECC_SECP256R1);
	cells_end();
	mcu_require(!status && !wc_ecc_export_private_only(&made, b->out, &length));
}

static void call_ecdh(cells_function function, struct cells_buffers *b)
{
	word32 length = NUMBER;
	int status;

	(void)function;
	cells_begin();
	status = wc_ecc_shared_secret(&key, &peer, b->out, &length);
	cells_end();
	mcu_require(!status);
}

static void call_ecdsa_sign(cells_function function, struct cells_buffers *b)
{
	int status;

	(void)function;
	cells_begin();
	status = wc_ecc_sign_hash_ex(b->in[0], HASH, &rng, &key, &r, &s);
	cells_end();
	mcu_require(!status && !mp_to_unsigned_bin_len(&r, b->out, NUMBER));
}

static void call_ecdsa_verify(cells_function function, struct cells_buffers *b)
{
	int right = 0;
	int status;

	(void)function;
	cells_begin();
	status = wc_ecc_verify_hash_ex(&r, &s, b->in[0], HASH, &right, &key);
	cells_end();
	mcu_require(!status && right);
}

#ifdef VALIDATION_THUMB2
static curve25519_key x_key, x_peer, x_made;
static ed25519_key e_key, e_made;
static word32 signature_length = SIGNATURE;

static void prepare_x25519(long long number, struct cells_buffers *b)
{
	(void)number;
	(void)b;
	mcu_require(!wc_InitRng(&rng));
	mcu_require(!wc_curve25519_init(&x_key) && !wc_curve25519_init(&x_peer) && !wc_curve25519_init(&x_made));
	mcu_require(!wc_curve25519_make_key(&rng, NUMBER, &x_key));
	mcu_require(!wc_curve25519_make_key(&rng, NUMBER, &x_peer));
}

static void call_x25519_keygen(cells_function function, struct cells_buffers *b)
{
	word32 length = NUMBER;
	int status;

	(void)function;
	cells_begin();
	status = wc_curve25519_make_key(&rng, NUMBER, &x_made);
	cells_end();
	mcu_require(!status && !wc_curve25519_export_public(&x_made, b->out, &length));
}

static void call_x25519(cells_function function, struct cells_buffers *b)
{
	word32 length = NUMBER;
	int status;

	(void)function;
	cells_begin();
	status = wc_curve25519_shared_secret(&x_key, &x_peer, b->out, &length);
	cells_end();
	mcu_require(!status);
}

static void prepare_ed25519(long long number, struct cells_buffers *b)
{
	(void)number;
	mcu_require(!wc_InitRng(&rng));
	mcu_require(!wc_ed25519_init(&e_key) && !wc_ed25519_init(&e_made));
	mcu_require(!wc_ed25519_make_key(&rng, NUMBER, &e_key));
	mcu_require(!wc_ed25519_sign_msg(b->in[0], MESSAGE, b->in[1], &signature_length, &e_key));
}

static void call_ed25519_keygen(cells_function function, struct cells_buffers *b)
{
	word32 length = NUMBER;
	int status;

	(void)function;
	cells_begin();
	status = wc_ed25519_make_key(&rng, NUMBER, &e_made);
	cells_end();
	mcu_require(!status && !wc_ed25519_export_public(&e_made, b->out, &length));
}

static void call_ed25519_sign(cells_function function, struct cells_buffers *b)
{
	word32 length = SIGNATURE;
	int status;

	(void)function;
	cells_begin();
	status = wc_ed25519_sign_msg(b->in[0], MESSAGE, b->out, &length, &e_key);
	cells_end();
	mcu_require(!status);
}

static void call_ed25519_verify(cells_function function, struct cells_buffers *b)
{
	int right = 0;
	int status;

	(void)function;
	cells_begin();
	status = wc_ed25519_verify_msg(b->in[1], SIGNATURE, b->in[0], MESSAGE, &right, &e_key);
	cells_end();
	mcu_require(!status && right);
}
#endif /* VALIDATION_THUMB2 */

const struct cells_operation cells_operations[] = {
	MCU_OPERATION("aes128-cbc", BLOCK, BLOCK, BLOCK, 32, 16, prepare_aes128, call_aes, MCU_BY_CORE),
	MCU_OPERATION("aes256-cbc", BLOCK, BLOCK, BLOCK, 32, 16, prepare_aes256, call_aes, MCU_BY_CORE),
	MCU_OPERATION("chacha20", BLOCK, BLOCK, BLOCK, 32, 16, prepare_chacha, call_chacha, mcu_compiled),
	MCU_OPERATION("poly1305", BLOCK, 0, BLOCK, 32, 0, prepare_poly1305, call_poly1305, mcu_compiled),
	MCU_OPERATION("sha256", BLOCK, 32, BLOCK, 0, 0, prepare_sha256, call_sha256, MCU_BY_CORE),
	MCU_OPERATION("sha512", BLOCK, 64, BLOCK, 0, 0, prepare_sha512, call_sha512, MCU_BY_CORE),
	MCU_OPERATION("p256-keygen", 0, NUMBER, HASH, 0, 0, prepare_ecc, call_ecc_keygen, mcu_assembly),
	MCU_OPERATION("p256-ecdh", 0, NUMBER, HASH, 0, 0, prepare_ecc, call_ecdh, mcu_assembly),
	MCU_OPERATION("p256-sign", 0, NUMBER, HASH, 0, 0, prepare_ecc, call_ecdsa_sign, mcu_assembly),
	MCU_OPERATION("p256-verify", 0, 0, HASH, 0, 0, prepare_ecc, call_ecdsa_verify, mcu_assembly),
#ifdef VALIDATION_THUMB2
	MCU_OPERATION("x25519-keygen", 0, NUMBER, 0, 0, 0, prepare_x25519, call_x25519_keygen, mcu_assembly),
	MCU_OPERATION("x25519", 0, NUMBER, 0, 0, 0, prepare_x25519, call_x25519, mcu_assembly),
	MCU_OPERATION("ed25519-keygen", 0, NUMBER, MESSAGE, SIGNATURE, 0, prepare_ed25519, call_ed25519_keygen,
		      mcu_assembly),
	MCU_OPERATION("ed25519-sign", MESSAGE, SIGNATURE, MESSAGE, SIGNATURE, 0, prepare_ed25519, call_ed25519_sign,
		      mcu_assembly),
	MCU_OPERATION("ed25519-verify", MESSAGE, 0, MESSAGE, SIGNATURE, 0, prepare_ed25519, call_ed25519_verify,
		      mcu_assembly),
#endif /* VALIDATION_THUMB2 */
};

const size_t cells_count = sizeof(cells_operations) / sizeof(cells_operations[0]);
