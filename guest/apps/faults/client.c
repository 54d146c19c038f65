/* SPDX-License-Identifier: BSD-2-Clause */
/* The app's campaigns take many machines: the host leads them (src/worldwise/families/faults/campaign.py), linux/ is their part here. */
#include "../common/app.h"
#include "faults.h"

static void run(const struct bench_plan *plan)
{
	bench_fail("%s is a campaign of many machines, not a program of one", plan->operation);
}

const struct app app = { .uuid = FAULTS_TA_UUID, .calibrate = FAULTS_CALIBRATE, .run = run };
