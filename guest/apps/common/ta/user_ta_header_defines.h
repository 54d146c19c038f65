/* SPDX-License-Identifier: BSD-2-Clause */
/* Read by the TA dev kit: what the TA is and what it may use. */
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "THIS_APP.h"

#define TA_UUID THIS_TA_UUID

/* One instance for all sessions, gone with the last of them: the first session loads the TA, a second one does not. */
#define TA_FLAGS (TA_FLAG_SINGLE_INSTANCE | TA_FLAG_MULTI_SESSION)
#define TA_STACK_SIZE (8 * 1024)
#define TA_DATA_SIZE (32 * 1024)

#endif /* USER_TA_HEADER_DEFINES_H */
