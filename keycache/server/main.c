/* SPDX-License-Identifier: BSD-2-Clause */
/* keycached: the secure key cache's server. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "net.h"
#include "options.h"
#include "service.h"
#include "version.h"
#include "watchdog.h"

/* Files besides connections: the log, the TEE's device, standard ones. */
#define OTHER_FILES 64u

static void make_room_for(unsigned clients)
{
	struct rlimit limit;
	rlim_t wanted = (rlim_t)net_connections(clients) + OTHER_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < wanted)
		(void)fprintf(stderr,
			      "keycached: --max-clients %u needs %llu open files; the limit is %llu (ulimit -n)\n",
			      clients, (unsigned long long)wanted, (unsigned long long)limit.rlim_cur);
}

/*
 * Keys that pass through must not come to a swap device. Only where there is no limit: where there is one, memory that is
 * asked for later would be refused.
 */
static void stay_in_memory(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur == RLIM_INFINITY &&
	    mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		perror("keycached: mlockall");
}

/* To the TA an empty storage is a first start. Here is known whether it was one. */
static void warn_if_lost(struct service *service)
{
	uint32_t records = shadow_counts(service->shadow).records;
	struct keycache_stats stats;

	if (!records || service->tee.setup.flags & KEYCACHE_NAIVE || tee_stats(&service->tee, &stats) || stats.clients)
		return;
	(void)fprintf(stderr,
		      "keycached: secure storage has no keys, but --shadow has records of %" PRIu32 ": it was lost or "
		      "removed, or it is another one\n",
		      records);
}

static void report(const struct service *service, const char *event, const char *outcome, const char *why)
{
	const struct audit_event all = { .kind = AUDIT_SERVER, .name = event, .outcome = outcome, .why = why };

	audit_write(service->audit, &all);
}

int main(int argc, char **argv)
{
	static struct service service;
	struct options options;
	char problem[512];
	uint32_t lost;
	uint32_t res;
	int code;

	switch (options_read(&options, argc, argv)) {
	case OPTIONS_DONE:
		return 0;
	case OPTIONS_WRONG:
		return 2;
	default:
		break;
	}
#ifndef __SANITIZE_ADDRESS__
	/* A key that is being set passes through this process: no core files, no debugger. */
	(void)prctl(PR_SET_DUMPABLE, 0);
#endif
	stay_in_memory();
	(void)umask(077);
	make_room_for(options.max_clients);
	service.started = time(NULL);
	service.relaxed = options.relaxed;
	service.smart = options.tee.policy == KEYCACHE_POLICY_HOST;
	service.acl = acl_read(options.acl, problem, sizeof(problem));
	if (service.acl)
		service.shadow = shadow_open(options.shadow, problem, sizeof(problem));
	if (service.shadow)
		service.expiry = expiry_open(shadow_directory(service.shadow), problem, sizeof(problem));
	if (service.expiry && options.audit)
		service.audit = audit_open(options.audit, options.audit_uses, problem, sizeof(problem));
	if (!service.acl || !service.shadow || !service.expiry || (options.audit && !service.audit)) {
		(void)fprintf(stderr, "keycached: %s\n", problem);
		return 1;
	}
	if (expiry_counts(service.expiry).log.damaged)
		(void)fputs(
			"keycached: the deadlines of keys in --shadow are damaged: keys that should end may stay. See "
			"TTL\n",
			stderr);
	if (!watchdog_start(options.tee_timeout)) {
		(void)fputs("keycached: no thread can be made, which --tee-timeout needs\n", stderr);
		service_end(&service);
		return 1;
	}
	res = tee_open(&service.tee, &options.tee);
	if (res) {
		(void)fprintf(stderr,
			      "keycached: the trusted application does not start (%s, result 0x%08" PRIx32 "): is "
			      "tee-supplicant running, is the TA installed, does it support --storage as given?\n",
			      tee_backend.name, res);
		if (res == RESULT_ACCESS_DENIED)
			(void)fputs("keycached: a program of another user has configured it before; it is that user's "
				    "until it is unloaded\n",
				    stderr);
		service_end(&service);
		return 1;
	}
	warn_if_lost(&service);
	if (options.repair) {
		res = tee_repair(&service.tee, &lost);
		if (res)
			(void)snprintf(problem, sizeof(problem), "result 0x%08" PRIx32, res);
		else
			(void)snprintf(problem, sizeof(problem), "%" PRIu32 " parts of secure storage begin empty",
				       lost);
		(void)fprintf(stderr, "keycached: --repair: %s\n", problem);
		report(&service, "repair", res ? "ERR" : "OK", problem);
	}
	report(&service, "start", "OK", "keycached " KEYCACHE_VERSION);
	code = net_run(&options, &service);
	if (service_flush(&service)) {
		(void)fputs("keycached: relaxed SETs that were confirmed are not in secure storage: their clients have "
			    "older keys there. The TA still knows the new ones until it is unloaded: free some space "
			    "and start the server again\n",
			    stderr);
		code = 1;
	}
	report(&service, "stop", code ? "ERR" : "OK", NULL);
	service_end(&service);
	return code;
}
