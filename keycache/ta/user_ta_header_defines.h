/* SPDX-License-Identifier: BSD-2-Clause */
/* Read by the TA dev kit: what the TA is and what it may use. */
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "keycache_ta.h"

#define TA_UUID KEYCACHE_TA_UUID

/*
 * One instance for all sessions, so that they share the cache; commands run one at a time. It outlives the last session,
 * so that a server that is started again finds its cache. After a panic it is loaded anew.
 */
#define TA_FLAGS (TA_FLAG_SINGLE_INSTANCE | TA_FLAG_MULTI_SESSION | TA_FLAG_INSTANCE_KEEP_ALIVE)

#define TA_STACK_SIZE (8 * 1024)
#define TA_DATA_SIZE (CFG_KEYCACHE_HEAP_KIB * 1024)

#define TA_VERSION "1.2"
#define TA_DESCRIPTION "Secure key cache"

#endif /* USER_TA_HEADER_DEFINES_H */
