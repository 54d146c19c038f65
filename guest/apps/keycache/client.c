/* SPDX-License-Identifier: BSD-2-Clause */
/* The secure key cache: which operation is done where. */
#include <keycache_ta.h>
#include <string.h>

#include "../common/app.h"
#include "cases.h"

static void run(const struct bench_plan *plan)
{
	static const struct {
		const char *operation;
		void (*run)(const struct bench_plan *plan);
	} cases[] = {
		{ "keycache", cost_case },
		{ "keycache-load", load_case },
		{ "keycache-zipf", zipf_case },
		{ "keycache-mqtt", mqtt_case },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(plan->operation, cases[i].operation) && cases[i].run) {
			cases[i].run(plan);
			return;
		}
	bench_fail("unknown operation: %s", plan->operation);
}

const struct app app = { .uuid = KEYCACHE_TA_UUID, .run = run };
