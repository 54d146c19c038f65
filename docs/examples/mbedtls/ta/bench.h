// SPDX-License-Identifier: BSD-2-Clause
#ifndef BENCH_H
#define BENCH_H

#define BENCH_UUID                                                                 \
	{                                                                              \
		0x6a0d7c1e, 0x52b3, 0x4f0c, { 0x8e, 0x15, 0x0b, 0x93, 0xd2, 0x47, 0x6c, 0xa1 } \
	}

#endif
