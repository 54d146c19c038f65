/* SPDX-License-Identifier: BSD-2-Clause */
/* The attestation's scenarios, the same for every implementation and every world. */
#ifndef WORLDWISE_APPS_ATTESTATION_SCENARIO_H
#define WORLDWISE_APPS_ATTESTATION_SCENARIO_H

#include "../../bench/bench.h"
#include "../../optee-libraries/attest.h"

/*
 * Runs the plan's operation (keygen, attestdiv or attestquorum) with `ops`, measured at `place` and, where the
 * implementation has one, at its inner place. Returns 0, or -1 if the operation is none of these; a failure or a wrong
 * answer ends the program with an error record.
 */
int scenario_attest(const struct bench_plan *plan, struct attest_ops *ops, const char *place);

#endif /* WORLDWISE_APPS_ATTESTATION_SCENARIO_H */
