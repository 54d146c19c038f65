/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests: the TA's own sources in this process, over the shim of tests/ta. It protects nothing.
 *
 * KEYCACHE_NATIVE_DIR is where the shim keeps its secure storage, KEYCACHE_NATIVE_LIMIT how many bytes it holds; asked.h says
 * what files beside it do.
 */
#include <stdio.h>
#include <stdlib.h>

#include "asked.h"
#include "shim.h"
#include "tee.h"

static bool started;
static bool dead;

static uint32_t start(void)
{
	const char *directory = getenv("KEYCACHE_NATIVE_DIR");
	const char *limit = getenv("KEYCACHE_NATIVE_LIMIT");

	if (!directory) {
		(void)fputs("keycached: KEYCACHE_NATIVE_DIR must name a directory\n", stderr);
		return RESULT_BAD_PARAMETERS;
	}
	if (shim_start(directory))
		return RESULT_TARGET_DEAD;
	if (limit)
		shim_storage_limit(strtoul(limit, NULL, 10));
	started = true;
	dead = false;
	return RESULT_OK;
}

static void stop(void)
{
	if (started && dead)
		shim_crash();
	else if (started)
		shim_stop();
	started = false;
}

static uint32_t type_of(const struct tee_parameter *parameter)
{
	switch (parameter->kind) {
	case TEE_VALUE_IN:
		return TEE_PARAM_TYPE_VALUE_INPUT;
	case TEE_VALUE_OUT:
		return TEE_PARAM_TYPE_VALUE_OUTPUT;
	case TEE_VALUE_INOUT:
		return TEE_PARAM_TYPE_VALUE_INOUT;
	case TEE_MEMORY_IN:
		return TEE_PARAM_TYPE_MEMREF_INPUT;
	case TEE_MEMORY_OUT:
		return TEE_PARAM_TYPE_MEMREF_OUTPUT;
	default:
		return TEE_PARAM_TYPE_NONE;
	}
}

static uint32_t invoke_command(uint32_t command, struct tee_parameter parameters[4])
{
	TEE_Param params[TEE_NUM_PARAMS] = { 0 };
	uint32_t types = TEE_PARAM_TYPES(type_of(&parameters[0]), type_of(&parameters[1]), type_of(&parameters[2]),
					 type_of(&parameters[3]));
	uint32_t res;

	if (command == KEYCACHE_DELETE && is_there("nodelete"))
		return RESULT_STORAGE_NO_SPACE;
	if (asked_to("hang"))
		(void)pause();
	if (asked_to("slow"))
		(void)usleep(SLOW_US);
	if (asked_to("forget"))
		return KEYCACHE_NOT_CONFIGURED;
	if (asked_to("behind"))
		shim_set_behind("alice");
	if (asked_to("die")) {
		dead = true;
		return RESULT_TARGET_DEAD;
	}
	for (int i = 0; i < 4; i++) {
		if (parameters[i].kind == TEE_MEMORY_IN || parameters[i].kind == TEE_MEMORY_OUT) {
			params[i].memref.buffer = parameters[i].data;
			params[i].memref.size = parameters[i].size;
		} else {
			params[i].value.a = parameters[i].a;
			params[i].value.b = parameters[i].b;
		}
	}
	res = shim_invoke(command, types, params);
	for (int i = 0; i < 4; i++) {
		if (parameters[i].kind == TEE_MEMORY_OUT) {
			parameters[i].size = params[i].memref.size;
		} else if (parameters[i].kind == TEE_VALUE_OUT || parameters[i].kind == TEE_VALUE_INOUT) {
			parameters[i].a = params[i].value.a;
			parameters[i].b = params[i].value.b;
		}
	}
	dead = res == RESULT_TARGET_DEAD;
	return res;
}

const struct tee_backend tee_backend = {
	.name = "native (tests only: protects nothing)",
	.open = start,
	.close = stop,
	.invoke = invoke_command,
};
