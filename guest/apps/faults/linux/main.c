/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One machine's part of a campaign. The host (src/worldwise/families/faults/campaign.py) starts as many machines as it
 * takes, each from the same saved state, and tells each by its arguments what to do:
 *
 *   cut-write STORAGE ACTION SIZE      does the action in a region, while tee-supplicant keeps its journal on the host
 *   cut-read STORAGE ACTION SIZE       puts back what a journal on the host tells, and says what the TA then has
 *   tamper-write STORAGE SIZE          leaves on the host the stored state before and after an overwrite
 *   tamper WHAT WHEN STORAGE SIZE      tampers with what is stored, and says what the TA then has; WHEN is `same` for
 *                                      the boot that wrote it, `later` for another
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bench/bench.h"
#include "../../../bench/record.h"
#include "../../../bench/semihost.h"
#include "../../../linux/idle.h"
#include "campaign.h"

static size_t size_of(const char *text)
{
	char *end;
	unsigned long size = strtoul(text, &end, 10);

	if (!size || *end || size > FAULTS_MAX_OBJECT)
		bench_fail("'%s' is no size of an object, 1 to %u bytes", text, (unsigned int)FAULTS_MAX_OBJECT);
	return size;
}

int main(int argc, char **argv)
{
	uint64_t idle = idle_entries();
	const char *step = argc > 1 ? argv[1] : "";

	record_to(semihost_record);
	if (argc == 5 && !strcmp(step, "cut-write"))
		cut_write(argv[2], argv[3], size_of(argv[4]));
	else if (argc == 5 && !strcmp(step, "cut-read"))
		cut_read(argv[2], argv[3], size_of(argv[4]));
	else if (argc == 4 && !strcmp(step, "tamper-write"))
		tamper_write(argv[2], size_of(argv[3]));
	else if (argc == 6 && !strcmp(step, "tamper"))
		tamper(argv[2], argv[3], argv[4], size_of(argv[5]));
	else
		bench_fail("no step of a campaign is called '%s' with %d arguments", step, argc - 1);
	return bench_finish(idle_entries() - idle);
}
