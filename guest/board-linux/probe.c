/* SPDX-License-Identifier: BSD-2-Clause */
/* Says on standard output which counter a program has on this host. */
#include <stdio.h>

#include "../bench/record.h"
#include "counter.h"

static int print(const char *line, size_t length)
{
	return fwrite(line, 1, length, stdout) == length && !fflush(stdout) ? 0 : -1;
}

int main(void)
{
	record_to(print);
	counter_start();
	record_begin("probe");
	record_text("clock", counter_name());
	record_text("unit", counter_unit());
	record_flag("instructions", counter_has_instructions());
	record_text("reason", counter_reason());
	record_end();
	return 0;
}
