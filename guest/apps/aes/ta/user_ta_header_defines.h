/* SPDX-License-Identifier: BSD-2-Clause */
/* Read by the TA dev kit: what the TA is and what it may use. */
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "aes.h"

#define TA_UUID AES_TA_UUID

/* One instance for all sessions; each session has an operation and a key of its own. */
#define TA_FLAGS (TA_FLAG_SINGLE_INSTANCE | TA_FLAG_MULTI_SESSION)
#define TA_STACK_SIZE (8 * 1024)
#define TA_DATA_SIZE (64 * 1024)

#endif /* USER_TA_HEADER_DEFINES_H */
