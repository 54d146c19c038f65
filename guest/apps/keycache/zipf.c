/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many clients, some of them popular, and a cache that does not hold all of their keys: how often it has the key, and what
 * a request costs then. The stream of requests is keycache-sim's, and so must be the number of hits, to the last one.
 */
#include <inttypes.h>
#include <replay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <workload.h>

#include "../common/app.h"
#include "cases.h"
#include "clients.h"
#include "server.h"

#define MEASURE "requests"
#define SHADOW_FOLDER "/tmp/shadow"
/* What one key takes of the TA's bound: see keycache/docs/DESIGN.md, Memory. That it is so is checked. */
#define KEY_COST 116

struct counts {
	uint64_t hits;
	uint64_t record_opens;
	uint64_t slow_reads;
};

static struct counts counts(struct keycache *admin)
{
	return (struct counts){
		.hits = server_count(admin, "hits"),
		.record_opens = server_count(admin, "record_opens"),
		.slow_reads = server_count(admin, "slow_reads"),
	};
}

/* Hits of the policy alone, without TEE and server. */
static uint32_t expected_hits(const struct bench_plan *plan, const uint32_t *requests, uint32_t count, uint32_t clients,
			      uint32_t capacity)
{
	const char *policy = bench_parameter(plan, "policy");
	const struct policy_kind *kind = policy && !strcmp(policy, "lru") ? &policy_lru : &POLICY_SMART;
	const char *problem;
	uint32_t hits = 0;

	if (policy && !strcmp(policy, "none"))
		return 0;
	problem = replay(kind, requests, count, clients, capacity, &hits);
	if (problem)
		bench_fail("%s: %s", kind->name, problem);
	return hits;
}

static void set_keys(const struct bench_plan *plan, uint32_t clients)
{
	/* Another policy than the measured one lets that begin with an empty cache. */
	const char *policy = bench_parameter(plan, "policy");
	const char *other = policy && !strcmp(policy, "none") ? "lru" : "none";
	const char *const options[] = { "--shadow",     SHADOW_FOLDER, "--policy",    other,
					"--durability", "relaxed",     "--allow-get", NULL };
	struct keycache *admin;

	server_start(plan, options, NULL);
	admin = server_connect(SERVER_ADMIN);
	clients_set(admin, clients, MEASURE);
	keycache_close(admin);
	server_stop();
}

static void outcome(const char *what, uint64_t count)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, count);
	app_outcome(what, text, "");
}

void zipf_case(const struct bench_plan *plan)
{
	const char *name = bench_parameter(plan, "workload");
	const struct workload *workload = name ? workload_named(name) : NULL;
	uint32_t clients = (uint32_t)bench_parameter_bytes(plan, "clients", 0);
	uint32_t batch = (uint32_t)bench_parameter_bytes(plan, "requests", 0);
	uint32_t capacity = (uint32_t)(bench_parameter_bytes(plan, "bound", 0) * clients / 100);
	uint32_t count = batch * bench_calls(plan);
	uint32_t *requests = calloc(count, sizeof(*requests));
	struct bench_overhead overhead = bench_calibrate_place(CLIENT_PLACE);
	char bound[24];
	const char *const options[] = { "--shadow", SHADOW_FOLDER, "--bound", bound, "--allow-get", NULL };
	struct counts before;
	struct counts after;
	struct keycache *admin;
	struct keycache *broker;

	if (!workload)
		bench_fail("unknown workload: %s", name ? name : "none");
	if (!capacity)
		bench_fail("the cache would hold no key");
	if (!requests || !workload_draw(workload, requests, count, clients))
		bench_fail("no memory for %" PRIu32 " requests", count);
	server_prepare(NULL, NULL);
	set_keys(plan, clients);
	(void)snprintf(bound, sizeof(bound), "%" PRIu32, capacity * KEY_COST);
	server_start(plan, options, NULL);
	admin = server_connect(SERVER_ADMIN);
	broker = server_connect(SERVER_BROKER);
	if (server_count(admin, "keys") != clients || server_count(admin, "shadow_records") != clients)
		bench_fail("the keys are not all there");
	if (server_count(admin, "cached"))
		bench_fail("the cache is not empty");
	before = counts(admin);

	for (uint32_t index = 0, at = 0; index < bench_calls(plan); index++) {
		struct bench_span span;

		span.begin = bench_region_begin();
		for (uint32_t end = at + batch; at < end; at++) {
			char client[CLIENTS_NAME_BYTES];
			uint8_t key[CLIENTS_KEY_BYTES];
			size_t size = sizeof(key);

			clients_name(requests[at], client);
			server_must(keycache_get(broker, client, key, &size), broker, "GET", at);
			clients_check_key(requests[at], key, size);
		}
		span.end = bench_region_end();
		bench_record_sample(plan, MEASURE, CLIENT_PLACE, index, span, overhead.count, 0);
	}
	bench_record_check("keys-right", MEASURE, 1);

	after = counts(admin);
	after.hits -= before.hits;
	after.record_opens -= before.record_opens;
	after.slow_reads -= before.slow_reads;
	outcome("requests", count);
	outcome("keys in the TA", server_count(admin, "capacity"));
	outcome("hits", after.hits);
	outcome("records opened", after.record_opens);
	if (after.slow_reads || after.hits + after.record_opens != count)
		bench_fail("of %" PRIu32 " requests %" PRIu64 " were hits, %" PRIu64 " opened a record, %" PRIu64
			   " read secure storage",
			   count, after.hits, after.record_opens, after.slow_reads);
	bench_record_check("hits-as-simulated", MEASURE,
			   after.hits == expected_hits(plan, requests, count, clients, capacity));
	keycache_close(broker);
	keycache_close(admin);
	server_stop();
	free(requests);
}
