/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a variant of mbed TLS 2.28 takes back from the configuration that it is released with (include/mbedtls/config.h,
 * at whose end this is included). What only takes a value is said on the compiler's command line.
 */
#ifdef OPS_MBEDTLS_NIST_OFF
#undef MBEDTLS_ECP_NIST_OPTIM
#endif /* OPS_MBEDTLS_NIST_OFF */

#ifdef OPS_MBEDTLS_ASM_OFF
#undef MBEDTLS_HAVE_ASM
#undef MBEDTLS_PADLOCK_C /* assembly of other processors, which asks for the above */
#undef MBEDTLS_AESNI_C
#endif /* OPS_MBEDTLS_ASM_OFF */
