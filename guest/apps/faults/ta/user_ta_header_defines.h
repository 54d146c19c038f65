/* SPDX-License-Identifier: BSD-2-Clause */
/* Read by the TA dev kit: what the TA is and what it may use. */
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "faults.h"

#ifdef FAULTS_OTHER
#define TA_UUID FAULTS_OTHER_TA_UUID
#else
#define TA_UUID FAULTS_TA_UUID
#endif

/* One instance for all sessions, gone with the last of them: a new session has nothing in its memory. */
#define TA_FLAGS (TA_FLAG_SINGLE_INSTANCE | TA_FLAG_MULTI_SESSION)
#define TA_STACK_SIZE (8 * 1024)
#define TA_DATA_SIZE (256 * 1024)

#endif /* USER_TA_HEADER_DEFINES_H */
