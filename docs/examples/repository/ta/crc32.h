// SPDX-License-Identifier: BSD-2-Clause
// The library of this example: one function, which a TA, a program of Linux and firmware all have.
#ifndef CRC32_H
#define CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32(const uint8_t *data, size_t size);

#endif
