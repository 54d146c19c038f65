/* SPDX-License-Identifier: BSD-2-Clause */
#include "counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

#ifdef COUNTER_WITH_KERNEL
#include "tee.h"
#define CYCLES_NAME "perf_cycles"
/* How often the secure world is gone through to see whether the counters go on there. */
#define TEE_PASSES 16
#else
#define CYCLES_NAME "perf_user_cycles"
#endif

#define NANOSECONDS UINT64_C(1000000000)
/* Turns of a loop after which a counter that counts has counted. */
#define TRIAL_TURNS 100000

struct moment {
	struct perf_reading counted; /* by the clock, values[0] alone is set */
	uint64_t switches;
	uint64_t khz;
	int processor;
};

/* The group's file, or -1 for the clock. */
static int group = -1;
static bool has_instructions;
static char reason[160];
static struct moment first;
static struct counter_conditions last = { .overhead = UINT64_MAX };

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "the counter: %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned long setting(const char *name)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value;

	if (!text)
		return 0;
	errno = EINVAL;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end)
		give_up(name);
	return value;
}

static void stay_on_a_processor(void)
{
	unsigned long processor = setting("WORLDWISE_CPU");
	cpu_set_t only;

	if (!getenv("WORLDWISE_CPU"))
		return;
	CPU_ZERO(&only);
	errno = EINVAL;
	if (processor >= CPU_SETSIZE)
		give_up("WORLDWISE_CPU");
	CPU_SET((int)processor, &only);
	if (sched_setaffinity(0, sizeof(only), &only))
		give_up("sched_setaffinity");
}

static void use_the_clock(const char *why, int error)
{
	(void)snprintf(reason, sizeof(reason), "%s%s%s", why, error ? ": " : "", error ? strerror(error) : "");
	if (group >= 0)
		close(group);
	group = -1;
}

#ifdef COUNTER_WITH_KERNEL
/*
 * Firmware may stop the counters in the secure world. Then far fewer cycles go by in a nanosecond of a way through it than
 * in one of `outside`, what was counted before.
 */
static bool is_stopped_in_tee(const struct perf_reading *outside)
{
	struct perf_reading before = { 0 };
	struct perf_reading after = { 0 };
	uint64_t cycles;
	uint64_t time;

	if (perf_read(group, &before))
		give_up("perf");
	for (int pass = 0; pass < TEE_PASSES; pass++)
		if (tee_pass())
			give_up("/dev/tee0");
	if (perf_read(group, &after))
		give_up("perf");
	cycles = after.values[0] - before.values[0];
	time = after.enabled - before.enabled;
	return cycles * outside->enabled < outside->values[0] * time / 4 * 3;
}
#endif

static void choose(void)
{
	struct perf_reading reading = { 0 };
	int instructions;

	group = perf_open(PERF_COUNT_HW_CPU_CYCLES, -1);
	if (group < 0) {
		use_the_clock("perf_event_open", errno);
		return;
	}
	instructions = perf_open(PERF_COUNT_HW_INSTRUCTIONS, group);
	for (volatile int turn = 0; turn < TRIAL_TURNS; turn++)
		;
	if (perf_read(group, &reading)) {
		use_the_clock("perf's counters cannot be read", errno);
		return;
	}
	if (!reading.running || !reading.values[0]) {
		if (instructions >= 0)
			close(instructions);
		use_the_clock("perf's counters do not count", 0);
		return;
	}
#ifdef COUNTER_WITH_KERNEL
	if (is_stopped_in_tee(&reading)) {
		if (instructions >= 0)
			close(instructions);
		use_the_clock("the firmware stops perf's counters in the secure world", 0);
		return;
	}
#endif
	has_instructions = instructions >= 0 && reading.values[1];
}

void counter_start(void)
{
	stay_on_a_processor();
	alarm((unsigned int)setting("WORLDWISE_SECONDS"));
	choose();
}

const char *counter_name(void)
{
	return group < 0 ? "clock_monotonic_raw" : CYCLES_NAME;
}

const char *counter_unit(void)
{
	return group < 0 ? "nanoseconds" : "cycles";
}

const char *counter_reason(void)
{
	return reason;
}

bool counter_has_instructions(void)
{
	return has_instructions;
}

static uint64_t khz_of(int processor)
{
	char path[80];
	unsigned long khz = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", processor);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%lu", &khz) != 1)
		khz = 0;
	(void)fclose(file);
	return khz;
}

static void look(struct moment *moment)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		give_up("getrusage");
	moment->switches = (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
	moment->processor = sched_getcpu();
	moment->khz = khz_of(moment->processor);
}

static void count(struct perf_reading *reading)
{
	struct timespec time;

	if (group >= 0) {
		if (perf_read(group, reading))
			give_up("perf");
		return;
	}
	if (clock_gettime(CLOCK_MONOTONIC_RAW, &time))
		give_up("clock_gettime");
	reading->values[0] = (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

/* The counter is read last here, and first at the end: what it costs to look is outside. */
uint64_t counter_begin(void)
{
	look(&first);
	count(&first.counted);
	return first.counted.values[0];
}

uint64_t counter_end(void)
{
	struct moment end = { .processor = 0 };

	count(&end.counted);
	look(&end);
	last.instructions = end.counted.values[1] - first.counted.values[1];
	if (last.instructions < last.overhead)
		last.overhead = last.instructions;
	last.enabled = end.counted.enabled - first.counted.enabled;
	last.running = end.counted.running - first.counted.running;
	last.switches = end.switches - first.switches;
	last.migrations = end.processor != first.processor;
	last.khz_begin = first.khz;
	last.khz_end = end.khz;
	return end.counted.values[0];
}

const struct counter_conditions *counter_last(void)
{
	return &last;
}
