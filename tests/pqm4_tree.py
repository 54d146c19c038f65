# SPDX-License-Identifier: BSD-2-Clause
"""A tree as pqm4 and PQClean have it, with toys in it: what they compute is no cryptography."""

from pathlib import Path

# A hash that is none, with the name and the parameters of the real one.
COMMON = {
    "fips202.h": "#include <stddef.h>\n#include <stdint.h>\n"
    "void shake256(uint8_t *output, size_t outlen, const uint8_t *input, size_t inlen);\n",
    "fips202.c": """\
#include "fips202.h"
void shake256(uint8_t *output, size_t outlen, const uint8_t *input, size_t inlen)
{
	uint32_t state = 0x811c9dc5u;
	for (size_t i = 0; i < inlen; i++)
		state = (state ^ input[i]) * 0x01000193u;
	for (size_t i = 0; i < outlen; i++) {
		state = (state ^ (uint8_t)i) * 0x01000193u;
		output[i] = (uint8_t)(state >> 24);
	}
}
""",
    "randombytes.h": "#include <stddef.h>\n#include <stdint.h>\nint randombytes(uint8_t *output, size_t n);\n",
    **dict.fromkeys(("sp800-185.c", "nistseedexpander.c", "sha2.c", "aes.c"), "extern int nothing;\n"),
}
API = """\
#include <stdint.h>
#define {prefix}CRYPTO_SECRETKEYBYTES 32
#define {prefix}CRYPTO_PUBLICKEYBYTES 32
#define {prefix}CRYPTO_CIPHERTEXTBYTES 32
#define {prefix}CRYPTO_BYTES 32
int {prefix}crypto_kem_keypair(uint8_t *pk, uint8_t *sk);
int {prefix}crypto_kem_enc(uint8_t *ct, uint8_t *ss, const uint8_t *pk);
int {prefix}crypto_kem_dec(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);
"""
KEM = """\
#include "api.h"
#include "randombytes.h"
int {prefix}crypto_kem_keypair(uint8_t *pk, uint8_t *sk)
{{
	(void)randombytes(sk, 32);
	for (int i = 0; i < 32; i++)
		pk[i] = (uint8_t)(sk[i] ^ {mask});
	return 0;
}}
int {prefix}crypto_kem_enc(uint8_t *ct, uint8_t *ss, const uint8_t *pk)
{{
	(void)randombytes(ss, 32);
	for (int i = 0; i < 32; i++)
		ct[i] = (uint8_t)(ss[i] ^ pk[i]);
	return 0;
}}
int {prefix}crypto_kem_dec(uint8_t *ss, const uint8_t *ct, const uint8_t *sk)
{{
	volatile uint8_t pad[{pad}];
	for (int i = 0; i < 32; i++) {{
		pad[i] = (uint8_t)(sk[i] ^ {mask});
		ss[i] = (uint8_t)(ct[i] ^ pad[i]);
	}}
	return 0;
}}
"""
SIGN_API = """\
#include <stddef.h>
#include <stdint.h>
#define CRYPTO_SECRETKEYBYTES 32
#define CRYPTO_PUBLICKEYBYTES 32
#define CRYPTO_BYTES 1
int crypto_sign_keypair(uint8_t *pk, uint8_t *sk);
int crypto_sign_ctx(uint8_t *sm, size_t *smlen, const uint8_t *m, size_t mlen, const uint8_t *sk, int context);
int crypto_sign_open(uint8_t *m, size_t *mlen, const uint8_t *sm, size_t smlen, const uint8_t *pk);
#define crypto_sign(sm, smlen, m, mlen, sk) crypto_sign_ctx(sm, smlen, m, mlen, sk, 0)
"""
SIGN = """\
#include "api.h"
#include "randombytes.h"
#include <string.h>
int crypto_sign_keypair(uint8_t *pk, uint8_t *sk)
{
	(void)randombytes(sk, 32);
	memcpy(pk, sk, 32);
	return 0;
}
int crypto_sign_ctx(uint8_t *sm, size_t *smlen, const uint8_t *m, size_t mlen, const uint8_t *sk, int context)
{
	memcpy(sm, m, mlen);
	sm[mlen] = (uint8_t)(sk[0] ^ context);
	*smlen = mlen + 1;
	return 0;
}
int crypto_sign_open(uint8_t *m, size_t *mlen, const uint8_t *sm, size_t smlen, const uint8_t *pk)
{
	*mlen = smlen - 1;
	memcpy(m, sm, *mlen);
	return sm[smlen - 1] != pk[0];
}
"""


def put(tree: Path, name: str, text: str) -> Path:
    """Write a file of the tree."""
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)
    return tree / name


def pqclean(tree: Path) -> Path:
    """A tree like PQClean: the common code and no scheme. Returns it."""
    for name, text in COMMON.items():
        put(tree, f"common/{name}", text)
    return tree


def kem(tree: Path, implementation: str, prefix: str = "", mask: int = 0x5A, pad: int = 32) -> Path:
    """A toy that agrees with every other of its mask. Returns its folder."""
    folder = f"crypto_kem/toy-1/{implementation}"
    put(tree, f"{folder}/api.h", API.format(prefix=prefix))
    return put(tree, f"{folder}/kem.c", KEM.format(prefix=prefix, mask=mask, pad=pad)).parent
