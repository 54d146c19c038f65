// SPDX-License-Identifier: BSD-2-Clause
#ifndef CHECKSUM_H
#define CHECKSUM_H

#define CHECKSUM_UUID                                                              \
	{                                                                              \
		0x3f1c7a52, 0x8d0e, 0x4b6a, { 0x9c, 0x21, 0x5e, 0x77, 0x10, 0xab, 0x42, 0xd9 } \
	}
// Takes a buffer, gives its checksum as a value.
#define CHECKSUM_OF 0

#endif
