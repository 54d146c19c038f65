// SPDX-License-Identifier: BSD-2-Clause
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "bench.h"

#define TA_UUID BENCH_UUID
#define TA_FLAGS 0
#define TA_STACK_SIZE 8192
#define TA_DATA_SIZE 65536

#endif
