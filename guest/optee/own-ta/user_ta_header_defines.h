/* SPDX-License-Identifier: BSD-2-Clause */
/* Read by the TA dev kit: what the TA is and what it may use. */
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "attest_ta.h"

/* The client calls it by the same name. */
#define TA_UUID ATTEST_TA_UUID

#define TA_FLAGS (TA_FLAG_SINGLE_INSTANCE | TA_FLAG_MULTI_SESSION)
/* More than the TA has that calls the core: a library's numbers are on this stack and in this heap. */
#define TA_STACK_SIZE (32 * 1024)
#define TA_DATA_SIZE (64 * 1024)

#endif /* USER_TA_HEADER_DEFINES_H */
