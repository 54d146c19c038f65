/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spending.h"

#include <inttypes.h>

void spending_add(struct spent *sum, const struct spent *more)
{
	for (size_t i = 0; i < CAUSES; i++)
		sum->cycles[i] += more->cycles[i];
	sum->outside += more->outside;
	sum->outside_instructions += more->outside_instructions;
}

void spending_write(FILE *out, struct model *const *models, const struct spent *spent, size_t cores)
{
	fprintf(out, ",\"cores\":{");
	for (size_t core = 0; core < cores; core++) {
		uint64_t cycles = 0;

		for (size_t i = 0; i < CAUSES; i++)
			cycles += spent[core].cycles[i];
		fprintf(out, "%s\"%s\":{\"cycles\":%" PRIu64 ",\"causes\":[", core ? "," : "", model_name(models[core]),
			cycles);
		for (size_t i = 0; i < CAUSES; i++)
			fprintf(out, "%s%" PRIu64, i ? "," : "", spent[core].cycles[i]);
		fprintf(out, "],\"outside\":%" PRIu64 ",\"outside_instructions\":%" PRIu64 "}", spent[core].outside,
			spent[core].outside_instructions);
	}
	fprintf(out, "}");
}
