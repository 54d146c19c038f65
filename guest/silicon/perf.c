/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_open(uint64_t event, int group)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_HARDWARE, .size = sizeof(attributes) };

	attributes.config = event;
	attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attributes.exclude_kernel = 1;
	attributes.exclude_hv = 1;
	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

int perf_read(int group, struct perf_reading *reading)
{
	/* All but what a group of one leaves out. */
	const ssize_t least = sizeof(*reading) - sizeof(reading->values[0]);

	return read(group, reading, sizeof(*reading)) < least ? -1 : 0;
}
