/* SPDX-License-Identifier: BSD-2-Clause */
/* The return values of PKCS#11 by name. */
#ifndef WORLDWISE_APPS_PKCS11_CKR_H
#define WORLDWISE_APPS_PKCS11_CKR_H

/* A value's name, or its number in a buffer that the next call overwrites. */
const char *ckr_name(unsigned long code);

#endif /* WORLDWISE_APPS_PKCS11_CKR_H */
