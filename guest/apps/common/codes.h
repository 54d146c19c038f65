/* SPDX-License-Identifier: BSD-2-Clause */
/* GlobalPlatform's result codes by name. */
#ifndef WORLDWISE_APPS_CODES_H
#define WORLDWISE_APPS_CODES_H

#include <stddef.h>
#include <tee_client_api.h>

#define CODES 40

struct code {
	TEEC_Result code;
	const char *name;
};

extern const struct code codes[CODES];

/* A code's place in the list, or -1 if GlobalPlatform has no such code. */
int code_index(TEEC_Result code);

/* Its name, or its number in a buffer that the next call overwrites. */
const char *code_name(TEEC_Result code);

#endif /* WORLDWISE_APPS_CODES_H */
