/* SPDX-License-Identifier: BSD-2-Clause */
/* Read by the TA dev kit: what the TA is and what it may use. */
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "uuid.h"

#define TA_UUID PQC_TA_UUID

#define TA_FLAGS (TA_FLAG_SINGLE_INSTANCE | TA_FLAG_MULTI_SESSION)
/* More than any scheme takes: memory.c finds how much that is. It looks at STACK_PAINTED of the stack. */
#define TA_STACK_SIZE (64 * 1024)
#define TA_DATA_SIZE (256 * 1024)

#endif /* USER_TA_HEADER_DEFINES_H */
