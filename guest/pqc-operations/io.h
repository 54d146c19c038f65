/* SPDX-License-Identifier: BSD-2-Clause */
/* What a call's results and inputs are, outside of any stack whose depth is measured. Known answers have them first. */
#ifndef WORLDWISE_PQC_OPERATIONS_IO_H
#define WORLDWISE_PQC_OPERATIONS_IO_H

#include "../operations/frame.h"
#include "../pqc-adapters/pqc.h"

extern struct pqc_io {
	uint8_t seed[PQC_SEED_BYTES];
	uint8_t random[PQC_RANDOM_BYTES];
	uint8_t private_key[PQC_PRIVATE_BYTES];
	uint8_t public_key[PQC_PUBLIC_BYTES];
	uint8_t output[PQC_OUTPUT_BYTES];
#if PQC_IS_KEM
	uint8_t secret[PQC_SECRET_BYTES];
#else
	uint8_t message[FRAME_MESSAGE_BYTES];
#endif /* PQC_IS_KEM */
	size_t size;
} pqc_io;

#endif /* WORLDWISE_PQC_OPERATIONS_IO_H */
