/* SPDX-License-Identifier: BSD-2-Clause */
/* The TA's commands, for the operation `abuse`. */
#include "../common/abuse.h"
#include "aes.h"

#define SPAN ABUSE_VALUE_OUT, ABUSE_VALUE_OUT
#define EXACTLY(bytes) ABUSE_IN(bytes, bytes, bytes)
#define KEY_BYTES 16
#define BYTES 96

/* The first three calls of a mode and a direction; the cipher's own comes last. */
#define PREPARED(mode, direction)                                                                                      \
	{                                                                                                              \
		.name = "PREPARE " #mode, .command = AES_PREPARE,                                                      \
		.params = { ABUSE_VALUE_IN(AES_##mode, direction), ABUSE_VALUE_IN(8 * KEY_BYTES, 0), SPAN },           \
		.values = {                                                                                            \
			{ 0, AES_GCM + 1, AES_ENCRYPT, TEEC_ERROR_BAD_PARAMETERS },                                    \
			{ 0, AES_CTR, AES_DECRYPT + 1, TEEC_ERROR_BAD_PARAMETERS },                                    \
			{ 1, 192, 0, TEEC_ERROR_BAD_PARAMETERS },                                                      \
			{ 1, 0, 0, TEEC_ERROR_BAD_PARAMETERS },                                                        \
			{ 1, 8 * KEY_BYTES, 1, TEEC_ERROR_BAD_PARAMETERS },                                            \
		},                                                                                                     \
	}
#define KEYED(mode, prepared)                                                                                          \
	{ .name = "SET_KEY " #mode,                                                                                    \
	  .command = AES_SET_KEY,                                                                                      \
	  .params = { EXACTLY(KEY_BYTES), ABUSE_NONE, SPAN },                                                          \
	  .before = &commands[prepared] }
#define VECTOR(mode, keyed)                                                                                            \
	{ .name = "SET_IV " #mode,                                                                                     \
	  .command = AES_SET_IV,                                                                                       \
	  .params = { EXACTLY(AES_BLOCK_BYTES), ABUSE_NONE, SPAN },                                                    \
	  .before = &commands[keyed] }
#define NONCE(keyed)                                                                                                   \
	{ .name = "SET_NONCE",                                                                                         \
	  .command = AES_SET_NONCE,                                                                                    \
	  .params = { EXACTLY(AES_NONCE_BYTES), ABUSE_IN(20, 1, AES_MOST_AAD_BYTES), SPAN },                           \
	  .before = &commands[keyed] }

enum {
	PREPARE_CTR,
	KEY_CTR,
	IV_CTR,
	CIPHER_CTR,
	PREPARE_CBC,
	KEY_CBC,
	IV_CBC,
	CIPHER_CBC,
	PREPARE_GCM,
	KEY_GCM,
	NONCE_GCM,
	CIPHER_GCM,
	PREPARE_OPEN,
	KEY_OPEN,
	NONCE_OPEN,
	CIPHER_OPEN,
	RELEASE,
	CALIBRATE,
	COMMANDS
};

static const struct abuse_command commands[COMMANDS] = {
	[PREPARE_CTR] = PREPARED(CTR, AES_ENCRYPT),
	[KEY_CTR] = KEYED(CTR, PREPARE_CTR),
	[IV_CTR] = VECTOR(CTR, KEY_CTR),
	[CIPHER_CTR] = { .name = "CIPHER CTR",
			 .command = AES_CIPHER,
			 .params = { ABUSE_IN(BYTES, 1, ABUSE_NO_LIMIT), ABUSE_OUT(BYTES, BYTES, ABUSE_NO_LIMIT),
				     SPAN },
			 .before = &commands[IV_CTR] },
	[PREPARE_CBC] = PREPARED(CBC, AES_DECRYPT),
	[KEY_CBC] = KEYED(CBC, PREPARE_CBC),
	[IV_CBC] = VECTOR(CBC, KEY_CBC),
	[CIPHER_CBC] = { .name = "CIPHER CBC",
			 .command = AES_CIPHER,
			 .params = { { .type = TEEC_MEMREF_TEMP_INPUT,
				       .size = BYTES,
				       .least = AES_BLOCK_BYTES,
				       .most = ABUSE_NO_LIMIT,
				       .step = AES_BLOCK_BYTES },
				     ABUSE_OUT(BYTES, BYTES, ABUSE_NO_LIMIT),
				     SPAN },
			 .before = &commands[IV_CBC] },
	[PREPARE_GCM] = PREPARED(GCM, AES_ENCRYPT),
	[KEY_GCM] = KEYED(GCM, PREPARE_GCM),
	[NONCE_GCM] = NONCE(KEY_GCM),
	[CIPHER_GCM] = { .name = "CIPHER GCM",
			 .command = AES_CIPHER,
			 .params = { ABUSE_IN(BYTES, 1, ABUSE_NO_LIMIT),
				     ABUSE_OUT(BYTES + AES_TAG_BYTES, BYTES + AES_TAG_BYTES, ABUSE_NO_LIMIT), SPAN },
			 .before = &commands[NONCE_GCM] },
	[PREPARE_OPEN] = PREPARED(GCM, AES_DECRYPT),
	[KEY_OPEN] = KEYED(GCM, PREPARE_OPEN),
	[NONCE_OPEN] = NONCE(KEY_OPEN),
	/* The bytes in the tag's place are no tag. */
	[CIPHER_OPEN] = { .name = "CIPHER GCM back",
			  .command = AES_CIPHER,
			  .params = { ABUSE_IN(BYTES + AES_TAG_BYTES, AES_TAG_BYTES + 1, ABUSE_NO_LIMIT),
				      ABUSE_OUT(BYTES, BYTES, ABUSE_NO_LIMIT), SPAN },
			  .before = &commands[NONCE_OPEN],
			  .right = TEE_ERROR_MAC_INVALID },
	[RELEASE] = { .name = "RELEASE", .command = AES_RELEASE },
	[CALIBRATE] = { .name = "CALIBRATE", .command = AES_CALIBRATE, .params = { SPAN } },
};

const struct abuse_table app_abuse = { .commands = commands, .count = COMMANDS };
