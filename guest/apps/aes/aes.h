/* SPDX-License-Identifier: BSD-2-Clause */
/* AES in a TA: what the client and the TA agree on. Each of the first commands is one of the measured calls. */
#ifndef WORLDWISE_APPS_AES_H
#define WORLDWISE_APPS_AES_H

#define AES_TA_UUID { 0xa1f5c2de, 0x0003, 0x4b1c, { 0x9a, 0x3e, 0x61, 0x65, 0x73, 0, 0, 0 } }

/* Those that measure give the counter's readings in [2] and [3], values out: see ta_give_span(). */
enum aes_command {
	AES_PREPARE, /* [0] value in a: mode, b: direction; [1] value in a: bits of the key. What was there is freed. */
	AES_SET_KEY, /* [0] the key */
	AES_SET_IV,  /* CBC: [0] the vector, CTR: the first counter, 16 bytes */
	AES_SET_NONCE, /* GCM: [0] the nonce, 12 bytes; [1] what is authenticated and not encrypted, 1 to 64 bytes */
	AES_CIPHER,    /* [0] input, [1] output. GCM: of what is encrypted the tag is the last 16 bytes */
	AES_RELEASE,   /* no parameters: frees what AES_PREPARE allocated */
	AES_CALIBRATE, /* see struct app */
};

enum aes_mode {
	AES_CBC,
	AES_CTR,
	AES_GCM,
};

enum aes_direction {
	AES_ENCRYPT,
	AES_DECRYPT,
};

#define AES_BLOCK_BYTES 16
#define AES_TAG_BYTES 16
#define AES_NONCE_BYTES 12
#define AES_MOST_KEY_BYTES 32
#define AES_MOST_AAD_BYTES 64

#endif /* WORLDWISE_APPS_AES_H */
