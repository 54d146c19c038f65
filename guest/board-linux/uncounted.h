/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the counter out of a TA: stock OP-TEE lets no TA read one, and a TA that tries panics. The compiler reads this
 * file before each file of the TA. Those files are the same as in an emulated machine, and the images of these must not
 * change.
 */
#ifndef WORLDWISE_BOARD_LINUX_UNCOUNTED_H
#define WORLDWISE_BOARD_LINUX_UNCOUNTED_H

#include "../bench/region.h"

#define bench_region_begin() UINT64_C(0)
#define bench_region_end() UINT64_C(0)

#endif /* WORLDWISE_BOARD_LINUX_UNCOUNTED_H */
