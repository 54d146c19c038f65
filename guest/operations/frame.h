/* SPDX-License-Identifier: BSD-2-Clause */
/* What the frame of a portable implementation shares, on a board, in Linux and in a TA: plan, messages, checks. */
#ifndef WORLDWISE_OPERATIONS_FRAME_H
#define WORLDWISE_OPERATIONS_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "../adapters/ops.h"

#if OPS_CURVE == OPS_CURVE_SECP160R1
#define FRAME_CURVE "secp160r1"
#elif OPS_CURVE == OPS_CURVE_SECP192R1
#define FRAME_CURVE "secp192r1"
#elif OPS_CURVE == OPS_CURVE_SECP224R1
#define FRAME_CURVE "secp224r1"
#elif OPS_CURVE == OPS_CURVE_SECP256R1
#define FRAME_CURVE "secp256r1"
#elif OPS_CURVE == OPS_CURVE_SECP384R1
#define FRAME_CURVE "secp384r1"
#elif OPS_CURVE == OPS_CURVE_SECP256K1
#define FRAME_CURVE "secp256k1"
#elif OPS_CURVE == OPS_CURVE_ED25519
#define FRAME_CURVE "ed25519"
#elif OPS_CURVE == OPS_CURVE_X25519
#define FRAME_CURVE "x25519"
#else
#define FRAME_CURVE ""
#endif /* OPS_CURVE */

#define FRAME_WEIERSTRASS (OPS_CURVE >= OPS_CURVE_SECP160R1 && OPS_CURVE <= OPS_CURVE_SECP256K1)

#define FRAME_HAS_MESSAGES                                                                                             \
	(FRAME_HAS_SIGN || FRAME_HAS_SHA256 || FRAME_HAS_SHA512 || FRAME_HAS_AES128 || FRAME_HAS_AES256)

/* The longest message. A board has no room for more. */
#ifndef FRAME_MESSAGE_BYTES
#define FRAME_MESSAGE_BYTES 1024
#endif /* FRAME_MESSAGE_BYTES */

struct frame_plan {
	const char *operation;
	uint32_t warmup;
	uint32_t samples;
	uint32_t runs; /* of Dhrystone */
	size_t size;   /* of a message, in bytes */
};

/* Makes `message` the one of call number `index`: see guest/bench/message.h, of whose messages it is the beginning. */
void frame_message(uint8_t *message, size_t size, uint32_t index);

/* Records why the case cannot be trusted, and ends the program. `result` is the library's own error, 0 for none. */
_Noreturn void frame_fail(const char *what, int result);

/* Records a check, and ends the program if it did not go as it must. */
void frame_check(const char *name, const char *measure, int ok);

/* Tries the operation on known answers and on wrong input, and records the checks. */
void known_answers(const char *operation);

#endif /* WORLDWISE_OPERATIONS_FRAME_H */
