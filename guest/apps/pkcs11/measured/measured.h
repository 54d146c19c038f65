/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions in OP-TEE's PKCS#11 TA, whose source knows nothing of them: the linker puts ta/measured.c between OP-TEE and the TA
 * (--wrap). A call of PKCS#11 takes several commands of the TA, so that they are summed up until somebody takes the sum.
 */
#ifndef WORLDWISE_APPS_PKCS11_MEASURED_H
#define WORLDWISE_APPS_PKCS11_MEASURED_H

#include "../../../bench/calibrate.h"

struct measured {
	struct bench_total total;       /* of the commands since the sum was last taken */
	struct bench_overhead overhead; /* what measuring a command costs */
};

/*
 * Commands that the TA has besides, with numbers far from its own.
 * TAKE: [0] memory out: struct measured; [1] value in: a is whether commands have regions from now on.
 * RESTART: the TA panics. The next session is of a new instance, which finds what is stored and remembers nothing: as after a boot.
 */
#define MEASURED_TAKE 0x776f726cu
#define MEASURED_RESTART 0x776f726du

#endif /* WORLDWISE_APPS_PKCS11_MEASURED_H */
