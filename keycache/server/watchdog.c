/* SPDX-License-Identifier: BSD-2-Clause */
#include "watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* To whoever looks after the server: it failed, and can be started again. */
#define EXIT_STUCK 75
/* How often it looks while a call may run. */
#define LOOKS 2u

static atomic_ulong running; /* the call's number, 0 for none */
static atomic_bool is_slow;
static unsigned limit;

static void *watch(void *unused)
{
	const struct timespec pause = { .tv_sec = limit / LOOKS, .tv_nsec = limit % LOOKS ? 500000000 : 0 };
	unsigned long seen = 0;
	unsigned looks = 0;

	(void)unused;
	for (;;) {
		unsigned long now;

		(void)nanosleep(&pause, NULL);
		now = atomic_load(&running);
		looks = now && now == seen ? looks + 1 : 0;
		seen = now;
		if (looks < LOOKS * (atomic_load(&is_slow) ? WATCHDOG_SLOW : 1))
			continue;
		(void)fprintf(stderr,
			      "keycached: the trusted application has not answered for %u seconds; is tee-supplicant "
			      "running? The server ends, and can be started again\n",
			      limit * (atomic_load(&is_slow) ? WATCHDOG_SLOW : 1));
		_exit(EXIT_STUCK);
	}
	return NULL;
}

bool watchdog_start(unsigned seconds)
{
	pthread_t thread;
	sigset_t all;
	sigset_t before;
	bool good;

	limit = seconds;
	if (!seconds)
		return true;
	/* Signals are for the main thread. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	good = !pthread_create(&thread, NULL, watch, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return good && !pthread_detach(thread);
}

void watchdog_begin(bool slow)
{
	static unsigned long count;

	atomic_store_explicit(&is_slow, slow, memory_order_relaxed);
	atomic_store_explicit(&running, ++count, memory_order_release);
}

void watchdog_end(void)
{
	atomic_store_explicit(&running, 0, memory_order_relaxed);
}
