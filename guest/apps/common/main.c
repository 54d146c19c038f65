/* SPDX-License-Identifier: BSD-2-Clause */
/* The client of every app: what the app does, or wrong calls to its TA. */
#include <string.h>

#include "../../linux/idle.h"
#include "../../linux/load.h"
#include "abuse.h"
#include "app.h"

int main(int argc, char **argv)
{
	struct bench_plan plan = bench_start("optee-client", "optee", argc, argv);
	uint64_t idle = idle_entries();
	bool abused = !strcmp(plan.operation, "abuse");
	bool session = abused || !app.opens_sessions;

	load_start(&plan);
	app_must(TEEC_InitializeContext(NULL, &app_context), "context", 0);
	if (session)
		app_must(app_open(&app_session), "session", 0);
	if (abused)
		abuse_case(&plan, &app_abuse);
	else
		app.run(&plan);
	if (session)
		TEEC_CloseSession(&app_session);
	TEEC_FinalizeContext(&app_context);
	load_stop();
	return bench_finish(idle_entries() - idle);
}
