/* SPDX-License-Identifier: BSD-2-Clause */
#include "supplicant.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../bench/bench.h"
#include "../../faults/linux/store.h"
#include "../preload/stop.h"

#define PROGRAM "/sbin/tee-supplicant"
#define DEVICE "/dev/teepriv0"
#define LOOK_US 200
/* A new one is tried for a minute of virtual time. */
#define START_TURNS 120u
#define START_US 500000
/* Far more virtual time than a process takes to end, or tee-supplicant for a request. */
#define END_US 20000

/*
 * Its letter in /proc, such as T or Z; 0 if there is no such process, or it is not tee-supplicant. It is a zombie only when
 * the last of its threads is gone: until then it has the device.
 */
static char state_of(const char *process)
{
	char path[300];
	char name[32] = "";
	char state = 0;
	unsigned int threads = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", process);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*d (%31[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u", name,
		   &state, &threads) != 3 ||
	    strcmp(name, SUPPLICANT))
		state = 0;
	(void)fclose(f);
	return state == 'Z' && threads > 1 ? 'X' : state;
}

static char state_by_number(pid_t process)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", (int)process);
	return state_of(text);
}

pid_t supplicant_process(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	if (!processes)
		bench_fail("/proc: %s", strerror(errno));
	while ((entry = readdir(processes))) {
		char state = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? state_of(entry->d_name) : 0;

		/* Nobody waits for the one that the first process started: it stays a zombie. */
		if (state && state != 'Z')
			found = atoi(entry->d_name);
	}
	closedir(processes);
	return found;
}

static bool has_device(pid_t process)
{
	char path[64];
	DIR *files;
	struct dirent *entry;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)process);
	files = opendir(path);
	while (files && (entry = readdir(files))) {
		char link[64];
		ssize_t length = readlinkat(dirfd(files), entry->d_name, link, sizeof(link) - 1);

		link[length < 0 ? 0 : length] = '\0';
		found = found || !strcmp(link, DEVICE);
	}
	if (files)
		closedir(files);
	return found;
}

static void kill_process(pid_t process)
{
	char state;

	/* It may have ended itself. */
	if (kill(process, SIGKILL) && errno != ESRCH)
		bench_fail("%s cannot be ended: %s", SUPPLICANT, strerror(errno));
	while ((state = state_by_number(process)) && state != 'Z') {
		(void)waitpid(process, NULL, WNOHANG);
		(void)usleep(LOOK_US);
	}
}

void supplicant_kill(void)
{
	pid_t process = supplicant_process();

	if (!process)
		bench_fail("%s does not run", SUPPLICANT);
	kill_process(process);
}

static pid_t start(const char *library)
{
	pid_t child = fork();

	if (child < 0)
		bench_fail("fork: %s", strerror(errno));
	if (child)
		return child;
	if (!setenv("LD_PRELOAD", library, 1))
		execl(PROGRAM, PROGRAM, (char *)NULL);
	_exit(1);
}

/* Whether it gets the device; if not, it ends. */
static bool gets_device(pid_t process)
{
	while (!has_device(process)) {
		if (waitpid(process, NULL, WNOHANG) == process)
			return false;
		(void)usleep(LOOK_US);
	}
	return true;
}

void supplicant_start(const char *library)
{
	for (unsigned int turn = 0; turn < START_TURNS; turn++) {
		if (gets_device(start(library)))
			return;
		(void)usleep(START_US);
	}
	bench_fail("%s cannot be started", SUPPLICANT);
}

bool supplicant_stopped(pid_t process)
{
	return state_by_number(process) == 'T';
}

/* One whose device is as it was before it serves the first request. Whether it gets the TEE's device. */
static bool start_as(const struct store *store, const char *library)
{
	pid_t fresh;

	if (mknod(STOP_AT_START, S_IFREG | 0600, 0))
		bench_fail("%s cannot be made", STOP_AT_START);
	fresh = start(library);
	while (!supplicant_stopped(fresh))
		(void)usleep(LOOK_US);
	if (unlink(STOP_AT_START))
		bench_fail("%s cannot be removed", STOP_AT_START);
	store_put(store);
	if (kill(fresh, SIGCONT))
		bench_fail("%s does not go on", SUPPLICANT);
	return gets_device(fresh);
}

static void take_over(pid_t old, const char *library, bool rpmb, unsigned int pause)
{
	static struct store store;

	if (rpmb)
		store_take(&store);
	kill_process(old);
	(void)usleep(pause * 1000);
	if (!rpmb) {
		supplicant_start(library);
		return;
	}
	for (unsigned int turn = 0; !start_as(&store, library); turn++) {
		if (turn == START_TURNS)
			bench_fail("%s cannot be started", SUPPLICANT);
		(void)usleep(START_US);
	}
}

void supplicant_replace(const char *library, bool rpmb)
{
	take_over(supplicant_process(), library, rpmb, 0);
}

/* A process that waits for the supplicant to be stopped; the others get its number, and it gets 0. */
static pid_t guard_of(pid_t process)
{
	pid_t guard = fork();

	if (guard < 0)
		bench_fail("fork: %s", strerror(errno));
	while (!guard && !supplicant_stopped(process))
		(void)usleep(LOOK_US);
	return guard;
}

pid_t supplicant_guard(bool rpmb, unsigned int pause)
{
	pid_t old = supplicant_process();
	pid_t guard = guard_of(old);

	if (guard)
		return guard;
	take_over(old, WITH_STOP, rpmb, pause);
	_exit(0);
}

pid_t supplicant_guard_client(bool rpmb, pid_t client)
{
	pid_t old = supplicant_process();
	pid_t guard = guard_of(old);

	if (guard)
		return guard;
	if (kill(client, SIGKILL))
		bench_fail("the client cannot be ended: %s", strerror(errno));
	(void)usleep(END_US);
	if (!rpmb) {
		if (kill(old, SIGCONT))
			bench_fail("%s does not go on", SUPPLICANT);
		(void)usleep(END_US);
	}
	take_over(old, WITH_STOP, rpmb, 0);
	_exit(0);
}

bool supplicant_guarded(pid_t guard, unsigned int patience)
{
	int status = 0;

	for (unsigned int waited = 0; waitpid(guard, &status, WNOHANG) != guard; waited++) {
		if (waited < patience) {
			(void)usleep(1000);
			continue;
		}
		(void)kill(guard, SIGKILL);
		(void)waitpid(guard, NULL, 0);
		return false;
	}
	if (status)
		bench_fail("%s could not be started anew", SUPPLICANT);
	return true;
}
