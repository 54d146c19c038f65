/* SPDX-License-Identifier: BSD-2-Clause */
/* Read by the TA dev kit: what the TA is and what it may use. */
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "crypto.h"

#define TA_UUID CRYPTO_TA_UUID

#define TA_FLAGS (TA_FLAG_SINGLE_INSTANCE | TA_FLAG_MULTI_SESSION)
/* A library's numbers are on this stack and in this heap; of the stack STACK_PAINTED in crypto_ta.c is looked at. */
#define TA_STACK_SIZE (64 * 1024)
#define TA_DATA_SIZE (64 * 1024)

#endif /* USER_TA_HEADER_DEFINES_H */
