/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PKCS#11 module that is libckteec and counts the calls that come by its list of functions. It is a shared object of its own:
 * the provider of OpenSSL opens its module by a path. Regions are never measured through it.
 */
#ifndef WORLDWISE_APPS_PKCS11_OPENSSL_COUNTED_H
#define WORLDWISE_APPS_PKCS11_OPENSSL_COUNTED_H

#include <stddef.h>
#include <stdint.h>

/* The functions of PKCS#11 2.40 that its list has. */
#define COUNTED_FUNCTIONS 68

/* The calls of each function since this was last called, and its name without the C_. Both have COUNTED_FUNCTIONS entries. */
void counted_take(uint64_t calls[COUNTED_FUNCTIONS]);
const char *counted_name(size_t function);

#endif /* WORLDWISE_APPS_PKCS11_OPENSSL_COUNTED_H */
