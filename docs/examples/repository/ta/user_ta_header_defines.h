// SPDX-License-Identifier: BSD-2-Clause
#ifndef USER_TA_HEADER_DEFINES_H
#define USER_TA_HEADER_DEFINES_H

#include "checksum.h"

#define TA_UUID CHECKSUM_UUID
#define TA_FLAGS 0
#define TA_STACK_SIZE 2048
#define TA_DATA_SIZE 32768

#endif
