/* SPDX-License-Identifier: BSD-2-Clause */
#include "trial.h"

#include <string.h>

#include "frame.h"

#if OPS_CURVE != OPS_CURVE_SECP256R1
#error "the attestation is on P-256"
#endif /* OPS_CURVE */
#ifndef TRIAL_NAME
#error "TRIAL_NAME must be the name in implementation.toml"
#endif /* TRIAL_NAME */

static const char *problem;

void frame_check(const char *name, const char *measure, int ok)
{
	(void)measure;
	if (!ok && !problem)
		problem = name;
}

const char *trial_open(void)
{
	problem = NULL;
	if (strcmp(ops_name, TRIAL_NAME))
		return "ops_name is not the name that implementation.toml has";
	if (ops_open())
		return "ops_open failed";
	known_answers("verify");
	return problem;
}
