/* SPDX-License-Identifier: BSD-2-Clause */
#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "version.h"

enum type { COUNTER, GAUGE };
enum section { SERVER, CLIENTS, DEADLINES, AUDIT, SHADOW, KEYS };

static const char *const titles[] = { NULL, "Clients", "Deadlines", "Audit", "Shadow", "Keycache" };

struct figure {
	enum section section;
	enum type type;
	const char *info;
	const char *metric; /* behind keycache_ */
	const char *help;
	size_t offset;
	size_t size;
};

#define FIGURE(section, type, info, metric, help, member)                                                              \
	{ section, type, info, metric, help, offsetof(struct figures, member), sizeof(((struct figures *)0)->member) }

/* Those of the TA come last: they are left out if it does not answer. */
static const struct figure table[] = {
	FIGURE(SERVER, GAUGE, "uptime_in_seconds", "uptime_seconds", "How long the server has run.", uptime),
	FIGURE(SERVER, COUNTER, "tee_restarts", "tee_restarts_total", "How often the TA had to be started anew.",
	       tee_restarts),
	FIGURE(SERVER, COUNTER, "tee_calls", "tee_calls_total", "Commands asked of the TA.", tee_calls),

	FIGURE(CLIENTS, GAUGE, "connected_clients", "connections", "Connections that are open.", service.open),
	FIGURE(CLIENTS, COUNTER, "total_connections_received", "connections_received_total", "Connections that came.",
	       service.connections),
	FIGURE(CLIENTS, COUNTER, "rejected_connections", "connections_rejected_total",
	       "Connections refused: certificate, access list, too many.", service.refused),
	FIGURE(CLIENTS, COUNTER, "timed_out_connections", "connections_timed_out_total",
	       "Connections closed for their silence.", service.timeouts),
	FIGURE(CLIENTS, COUNTER, "malformed_requests", "malformed_requests_total",
	       "Requests that were malformed or too large.", service.malformed),
	FIGURE(CLIENTS, COUNTER, "total_commands_processed", "commands_total", "Requests that were taken up.",
	       service.requests),
	FIGURE(CLIENTS, COUNTER, "denied", "denied_total", "Keys asked for without a right to them.", service.denied),

	FIGURE(DEADLINES, GAUGE, "expiring_keys", "keys_expiring", "Keys with a deadline.",
	       expiry.waiting[EXPIRY_DELETE - 1]),
	FIGURE(DEADLINES, GAUGE, "forgetting_keys", "keys_forgetting", "Previous keys with a deadline.",
	       expiry.waiting[EXPIRY_FORGET - 1]),
	FIGURE(DEADLINES, COUNTER, "expired_keys", "keys_expired_total", "Keys that ended by themselves.",
	       service.expired),
	FIGURE(DEADLINES, COUNTER, "deadlines_damaged", "deadlines_damaged_total",
	       "Deadlines that were damaged on the disk when the server started.", expiry.log.damaged),
	FIGURE(DEADLINES, COUNTER, "deadline_failures", "deadline_failures_total",
	       "Deadlines that the disk did not take.", expiry.log.failures),

	FIGURE(AUDIT, COUNTER, "audit_lines", "audit_lines_total", "Lines of the audit log.", audit.lines),
	FIGURE(AUDIT, COUNTER, "audit_left_out", "audit_left_out_total",
	       "Events left out of the audit log, being too many.", audit.left_out),
	FIGURE(AUDIT, COUNTER, "audit_failures", "audit_failures_total",
	       "Lines of the audit log that the disk did not take.", audit.failures),

	FIGURE(SHADOW, GAUGE, "shadow_records", "shadow_records", "Sealed records in memory.", shadow.records),
	FIGURE(SHADOW, GAUGE, "shadow_log_entries", "shadow_log_entries", "Entries of the log of sealed records.",
	       shadow.log.entries),
	FIGURE(SHADOW, COUNTER, "shadow_damaged", "shadow_damaged_total", "Entries damaged when the server started.",
	       shadow.log.damaged),
	FIGURE(SHADOW, COUNTER, "shadow_failures", "shadow_failures_total",
	       "Writes of the log that the disk did not take.", shadow.log.failures),
	FIGURE(SHADOW, COUNTER, "shadow_compactions", "shadow_compactions_total", "How often the log was written anew.",
	       shadow.log.compactions),

	FIGURE(KEYS, COUNTER, "hits", "tee_hits_total", "Keys found in the TA's cache.", tee.hits),
	FIGURE(KEYS, COUNTER, "record_opens", "tee_record_opens_total", "Keys that a sealed record gave.",
	       tee.record_opens),
	FIGURE(KEYS, COUNTER, "slow_reads", "tee_slow_reads_total", "Keys read from secure storage.", tee.slow_reads),
	FIGURE(KEYS, COUNTER, "slow_writes", "tee_slow_writes_total", "Writes of secure storage.", tee.slow_writes),
	FIGURE(KEYS, COUNTER, "index_reads", "tee_index_reads_total",
	       "Buckets read because the index did not have them.", tee.index_reads),
	FIGURE(KEYS, COUNTER, "misses_without_record", "tee_misses_total",
	       "Commands whose key was not cached, and that came without a record.", tee.misses),
	FIGURE(KEYS, COUNTER, "stale_records", "tee_stale_records_total", "Records of an old version.", tee.stale),
	FIGURE(KEYS, COUNTER, "forged_records", "tee_forged_records_total", "Records that did not open.", tee.forged),
	FIGURE(KEYS, COUNTER, "rolled_back", "tee_rolled_back_total", "Secure storage found older than it was.",
	       tee.rolled_back),
	FIGURE(KEYS, COUNTER, "evictions", "tee_evictions_total", "Keys put out of the TA's cache.", tee.evictions),
	FIGURE(KEYS, COUNTER, "failed_flushes", "tee_failed_flushes_total", "Writes of relaxed SETs that failed.",
	       tee.failed_flushes),
	FIGURE(KEYS, COUNTER, "use_denied", "tee_use_denied_total", "Uses that a key is not for.", tee.use_denied),
	FIGURE(KEYS, GAUGE, "keys", "keys", "Keys in secure storage.", tee.clients),
	FIGURE(KEYS, GAUGE, "keys_previous", "keys_previous", "Previous keys that are kept.", tee.previous),
	FIGURE(KEYS, GAUGE, "keys_enrolled", "keys_enrolled", "Keys by an authority's signature.", tee.enrolled),
	FIGURE(KEYS, GAUGE, "keys_wearing", "keys_wearing",
	       "Keys that have sealed three quarters of what they may, or are worn out.", tee.wearing),
	FIGURE(KEYS, GAUGE, "keys_worn", "keys_worn", "Keys that are worn out.", tee.worn),
	FIGURE(KEYS, GAUGE, "cached", "tee_cached_keys", "Keys in the TA's cache.", tee.cached),
	FIGURE(KEYS, GAUGE, "capacity", "tee_cache_capacity_keys", "Keys that the bound of the TA's cache holds.",
	       tee.capacity),
	FIGURE(KEYS, GAUGE, "cache_bytes", "tee_cache_bytes", "Memory of the TA's cache.", tee.cache_bytes),
	FIGURE(KEYS, GAUGE, "index_bytes", "tee_index_bytes", "Memory of the TA's index.", tee.index_bytes),
	FIGURE(KEYS, GAUGE, "index_bound_bytes", "tee_index_bound_bytes", "How much that may be.", tee.index_bound),
	FIGURE(KEYS, GAUGE, "waiting_writes", "tee_waiting_writes", "Relaxed SETs that are not written.", tee.waiting),
	FIGURE(KEYS, GAUGE, "lost_buckets", "tee_lost_buckets", "Parts of secure storage that cannot be read.",
	       tee.lost_buckets),
};

#define FIGURES (sizeof(table) / sizeof(table[0]))

void figures_take(struct service *service, struct figures *figures)
{
	time_t now = time(NULL);

	*figures = (struct figures){ 0 };
	figures->tee_result = tee_stats(&service->tee, &figures->tee);
	figures->service = service->counts;
	figures->started = (uint64_t)service->started;
	figures->uptime = now > service->started ? (uint64_t)(now - service->started) : 0;
	figures->tee_calls = service->tee.calls;
	figures->tee_restarts = service->tee.restarts;
	figures->shadow = shadow_counts(service->shadow);
	figures->expiry = expiry_counts(service->expiry);
	figures->audit = audit_counts(service->audit);
}

static bool has(const struct figures *figures, const struct figure *one)
{
	return one->section != KEYS || !figures->tee_result;
}

static uint64_t value(const struct figures *figures, const struct figure *one)
{
	const uint8_t *at = (const uint8_t *)figures + one->offset;
	uint64_t large;
	uint32_t small;

	if (one->size == sizeof(large)) {
		memcpy(&large, at, sizeof(large));
		return large;
	}
	memcpy(&small, at, sizeof(small));
	return small;
}

/* Figures that are no numbers of the table, of a section; before those that are. */
static void info_words(const struct service *service, const struct figures *figures, enum section section,
		       struct buffer *text)
{
	static const char *const storages[] = { "?", "ree", "rpmb" };
	static const char *const policies[] = { "?", "none", "lru", "smart" };
	const struct tee_setup *setup = &service->tee.setup;
	uint64_t uses = figures->tee.hits + figures->tee.record_opens + figures->tee.slow_reads;

	if (section == SERVER)
		buffer_format(text, "process_id:%ld\r\n", (long)getpid());
	if (section != KEYS)
		return;
	if (figures->tee_result) {
		buffer_format(text, "tee_result:0x%08" PRIx32 "\r\n", figures->tee_result);
		return;
	}
	buffer_format(text, "storage:%s\r\n", storages[setup->storage]);
	buffer_format(text, "policy:%s\r\n", setup->flags & KEYCACHE_NAIVE ? "naive" : policies[setup->policy]);
	if (service->smart)
		buffer_format(text, "policy_kind:%s\r\n", POLICY_SMART.name);
	buffer_format(text, "bound_bytes:%" PRIu32 "\r\n", setup->bound);
	buffer_format(text, "durability:%s\r\n", service->relaxed ? "relaxed" : "full");
	buffer_format(text, "allow_get:%d\r\n", !!(setup->flags & KEYCACHE_ALLOW_GET));
	buffer_format(text, "hit_rate:%.4f\r\n", uses ? (double)figures->tee.hits / (double)uses : 0.0);
	if (figures->tee.wearing)
		buffer_format(text,
			      "warning:%" PRIu32 " keys have sealed three quarters of what they may, %" PRIu32
			      " of them are worn out and seal no more: set new ones\r\n",
			      figures->tee.wearing, figures->tee.worn);
}

static void info_latency(const char *name, const struct histogram *one, struct buffer *text)
{
	uint64_t count = histogram_count(one);

	if (!count)
		return;
	buffer_text(text, "latency_");
	for (; *name; name++) {
		char letter = (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);

		buffer_append(text, &letter, 1);
	}
	buffer_format(text, "_us:count=%" PRIu64 ",p50=%" PRIu64 ",p99=%" PRIu64 ",p99.9=%" PRIu64 "\r\n", count,
		      histogram_quantile_us(one, 500), histogram_quantile_us(one, 990),
		      histogram_quantile_us(one, 999));
}

void figures_info(const struct service *service, const struct figures *figures, struct buffer *text)
{
	enum section section = SERVER;

	info_words(service, figures, section, text);
	for (size_t i = 0; i < FIGURES; i++) {
		if (table[i].section != section) {
			section = table[i].section;
			buffer_format(text, "\r\n# %s\r\n", titles[section]);
			info_words(service, figures, section, text);
		}
		if (has(figures, &table[i]))
			buffer_format(text, "%s:%" PRIu64 "\r\n", table[i].info, value(figures, &table[i]));
	}
	buffer_text(text, "\r\n# Latency\r\n");
	for (unsigned i = 0; service_command(i); i++)
		info_latency(service_command(i), &service->latency[i], text);
	for (uint32_t i = 1; i < TEE_COMMANDS; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "tee_%s", tee_command_name(i));
		info_latency(name, &service->tee.latency[i], text);
	}
}

static void begin_metric(struct buffer *text, const char *name, const char *type, const char *help)
{
	buffer_format(text, "# HELP keycache_%s %s\n# TYPE keycache_%s %s\n", name, help, name, type);
}

/* In seconds; the names of commands need no escape. */
static void metric_latency(const char *metric, const char *command, const struct histogram *one, struct buffer *text)
{
	uint64_t below = 0;

	for (size_t i = 0; i < HISTOGRAM_STEPS; i++) {
		below += one->counts[i];
		buffer_format(text, "keycache_%s_bucket{command=\"%s\",le=\"%" PRIu64 ".%06" PRIu64 "\"} %" PRIu64 "\n",
			      metric, command, histogram_steps_us[i] / 1000000, histogram_steps_us[i] % 1000000, below);
	}
	below += one->counts[HISTOGRAM_STEPS];
	buffer_format(text, "keycache_%s_bucket{command=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", metric, command, below);
	buffer_format(text, "keycache_%s_sum{command=\"%s\"} %" PRIu64 ".%09" PRIu64 "\n", metric, command,
		      one->sum_ns / 1000000000, one->sum_ns % 1000000000);
	buffer_format(text, "keycache_%s_count{command=\"%s\"} %" PRIu64 "\n", metric, command, below);
}

void figures_metrics(const struct service *service, const struct figures *figures, struct buffer *text)
{
	static const char commands[] = "command_duration_seconds";
	static const char calls[] = "tee_call_duration_seconds";

	begin_metric(text, "build_info", "gauge", "What it is: always 1.");
	buffer_format(text, "keycache_build_info{version=\"%s\",tee=\"%s\"} 1\n", KEYCACHE_VERSION, tee_backend.name);
	begin_metric(text, "start_time_seconds", "gauge", "When the server started, in seconds since 1970.");
	buffer_format(text, "keycache_start_time_seconds %" PRIu64 "\n", figures->started);
	begin_metric(text, "tee_up", "gauge", "1 if the TA answers; without it there are no figures of it.");
	buffer_format(text, "keycache_tee_up %d\n", !figures->tee_result);
	begin_metric(text, "tee_cache_bound_bytes", "gauge", "How much memory the TA may use for its cache.");
	buffer_format(text, "keycache_tee_cache_bound_bytes %" PRIu32 "\n", service->tee.setup.bound);
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *one = &table[i];

		if (!has(figures, one))
			continue;
		begin_metric(text, one->metric, one->type == COUNTER ? "counter" : "gauge", one->help);
		buffer_format(text, "keycache_%s %" PRIu64 "\n", one->metric, value(figures, one));
	}
	begin_metric(
		text, commands, "histogram",
		"From when a request has come whole until its reply goes to TLS, the disk's confirmation included.");
	for (unsigned i = 0; service_command(i); i++)
		metric_latency(commands, service_command(i), &service->latency[i], text);
	begin_metric(text, calls, "histogram", "Calls of the TA, from the server and back.");
	for (uint32_t i = 1; i < TEE_COMMANDS; i++)
		metric_latency(calls, tee_command_name(i), &service->tee.latency[i], text);
}
