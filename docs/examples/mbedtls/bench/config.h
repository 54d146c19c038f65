// SPDX-License-Identifier: BSD-2-Clause
// Mbed TLS as its authors set it, or with one thing as OP-TEE sets it for TAs (lib/libmbedtls/include/mbedtls_config_uta.h).
#include <mbedtls/mbedtls_config.h>

// Numbers in words of 32 bits; its assembly for AArch64 is for 64 alone.
#ifdef WORDS_OF_32_BITS
#define MBEDTLS_HAVE_INT32
#endif
// Products without the compiler's assembly, so by the C code.
#if defined(NO_ASSEMBLY) || defined(WORDS_OF_32_BITS)
#undef MBEDTLS_HAVE_ASM
#endif
// Remainders by division, without the form of the curve's prime.
#ifdef NO_FAST_REDUCTION
#undef MBEDTLS_ECP_NIST_OPTIM
#endif
// AES without the instructions of the core.
#ifdef NO_AES_INSTRUCTIONS
#undef MBEDTLS_AESCE_C
#endif
