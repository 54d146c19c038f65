/* SPDX-License-Identifier: BSD-2-Clause */
#include "own.h"

#include <string.h>

#include "../mcu/frame.h"

#if OPS_CURVE != OPS_CURVE_SECP256R1
#error "the attestation is on P-256"
#endif /* OPS_CURVE */
#ifndef OWN_NAME
#error "OWN_NAME must be the name in implementation.toml"
#endif /* OWN_NAME */

static const char *problem;

void frame_check(const char *name, const char *measure, int ok)
{
	(void)measure;
	if (!ok && !problem)
		problem = name;
}

const char *own_open(void)
{
	problem = NULL;
	if (strcmp(ops_name, OWN_NAME))
		return "ops_name is not the name that implementation.toml has";
	if (ops_open())
		return "ops_open failed";
	known_answers("verify");
	return problem;
}
