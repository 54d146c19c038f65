/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef COUNTER_WITH_KERNEL
#define WITHOUT_KERNEL 0
#else
#define WITHOUT_KERNEL 1
#endif

#if defined(__aarch64__)
#define DEVICES "/sys/bus/event_source/devices"

/* The numbers of two common events. Source: Arm Architecture Reference Manual, D13.12 (PMU events). */
#define CPU_CYCLES 0x11
#define INST_RETIRED 0x08

/* The first line of a device's file. Returns whether there is one. */
static bool first_line(const char *device, const char *name, char *line, int size)
{
	char path[300];
	FILE *file;
	bool there;

	(void)snprintf(path, sizeof(path), DEVICES "/%.200s/%s", device, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	there = fgets(line, size, file);
	(void)fclose(file);
	return there;
}

/* Whether a list such as 0-3,6 has a number. */
static bool has(const char *list, unsigned long number)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long begin = strtoul(list, &end, 10);
		unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : begin;

		if (begin <= number && number <= last)
			return true;
		list = *end == ',' ? end + 1 : end;
	}
	return false;
}

/* The type of the counters of this processor's core: a host may have several kinds of cores. 0 if it does not say. */
static unsigned int type_of_core(void)
{
	const int processor = sched_getcpu();
	DIR *devices = opendir(DEVICES);
	unsigned int type = 0;
	struct dirent *device;
	char line[256];

	while (devices && !type && (device = readdir(devices)))
		if (first_line(device->d_name, "cpus", line, sizeof(line)) && has(line, (unsigned long)processor) &&
		    first_line(device->d_name, "type", line, sizeof(line)))
			type = (unsigned int)strtoul(line, NULL, 10);
	if (devices)
		(void)closedir(devices);
	return type;
}

static void choose(struct perf_event_attr *attributes, uint64_t event)
{
	unsigned int type = type_of_core();

	attributes->type = type ? type : PERF_TYPE_HARDWARE;
	attributes->config = !type ? event : event == PERF_COUNT_HW_CPU_CYCLES ? CPU_CYCLES : INST_RETIRED;
}
#else
static void choose(struct perf_event_attr *attributes, uint64_t event)
{
	attributes->type = PERF_TYPE_HARDWARE;
	attributes->config = event;
}
#endif /* __aarch64__ */

int perf_open(uint64_t event, int group)
{
	struct perf_event_attr attributes = { .size = sizeof(attributes) };

	choose(&attributes, event);
	attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attributes.exclude_kernel = WITHOUT_KERNEL;
	attributes.exclude_hv = 1;
	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

int perf_read(int group, struct perf_reading *reading)
{
	/* All but what a group of one leaves out. */
	const ssize_t least = sizeof(*reading) - sizeof(reading->values[0]);

	return read(group, reading, sizeof(*reading)) < least ? -1 : 0;
}
