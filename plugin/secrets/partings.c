/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "partings.h"

#include <inttypes.h>
#include <string.h>

#include "room.h"

#define KINDS 3

/* What parts at one instruction in one way. */
struct site {
	struct parting first;
	uint64_t *callers; /* of the first */
	uint64_t times;
	uint64_t alone; /* those with no parting of the flow before */
	uint64_t reference_instructions;
	uint64_t other_instructions;
	uint64_t low; /* of the addresses accessed */
	uint64_t high;
	bool joined;
};

static struct site *sites;
static size_t site_count;
static size_t site_room;
static struct map numbers;

static struct site *site_of(const struct parting *parting)
{
	uint64_t key = parting->pc * KINDS + (uint64_t)parting->kind;
	const uint64_t *number = map_get(&numbers, key);
	struct site *site;

	if (number)
		return &sites[*number];
	if (site_count == site_room)
		sites = room_doubled(sites, &site_room, sizeof(*sites));
	map_put(&numbers, key, site_count);
	site = &sites[site_count++];
	*site = (struct site){ .first = *parting, .low = UINT64_MAX, .joined = true };
	site->callers = room_zeroed(parting->depth + 1, sizeof(*site->callers));
	memcpy(site->callers, parting->callers, parting->depth * sizeof(*site->callers));
	return site;
}

static void widen(struct site *site, uint64_t address)
{
	if (address && address < site->low)
		site->low = address;
	if (address > site->high)
		site->high = address;
}

void partings_add(void *context, const struct parting *parting)
{
	struct site *site = site_of(parting);

	(void)context;
	site->times++;
	site->alone += !parting->after;
	site->reference_instructions += parting->reference_instructions;
	site->other_instructions += parting->other_instructions;
	site->joined = site->joined && parting->joined;
	widen(site, parting->reference);
	widen(site, parting->other);
}

static void write_site(FILE *out, const struct site *site, uint64_t pass)
{
	static const char *const kinds[KINDS] = { "flow", "address", "made" };

	fprintf(out,
		"{\"type\":\"parting\",\"pass\":%" PRIu64 ",\"kind\":\"%s\",\"pc\":%" PRIu64 ",\"times\":%" PRIu64
		",\"alone\":%" PRIu64 ",\"before\":%" PRIu32 ",\"reference\":%" PRIu64 ",\"other\":%" PRIu64
		",\"reference_instructions\":%" PRIu64 ",\"other_instructions\":%" PRIu64 ",\"low\":%" PRIu64
		",\"high\":%" PRIu64 ",\"joined\":%s,\"callers\":[",
		pass, kinds[site->first.kind], site->first.pc, site->times, site->alone, site->first.before,
		site->first.reference, site->first.other, site->reference_instructions, site->other_instructions,
		site->low, site->high, site->joined ? "true" : "false");
	for (size_t i = 0; i < site->first.depth; i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", site->callers[i]);
	fprintf(out, "]}\n");
}

void partings_write(FILE *out, uint64_t pass)
{
	for (size_t i = 0; i < site_count; i++) {
		write_site(out, &sites[i], pass);
		room_free(sites[i].callers);
	}
	site_count = 0;
	map_empty(&numbers);
}
