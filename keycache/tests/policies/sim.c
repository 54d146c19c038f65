/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keycache-sim: hit rates of the policies, without a TEE, for the workloads of workload.c. The same on every machine.
 *
 *	keycache-sim [REQUESTS]				the table of README.md
 *	keycache-sim WORKLOAD CLIENTS KEPT REQUESTS	hits of each policy, KEPT in percent of the keys
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policies.h"
#include "replay.h"
#include "workload.h"

#define DEFAULT_REQUESTS 1000000u
#define LEAST_REQUESTS 100000u
#define MOST_REQUESTS 100000000u
#define MOST_CLIENTS 10000000u

static const struct policy_kind *const kinds[] = { &policy_lru, &policy_sieve, &policy_s3fifo, &policy_tinylfu };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "keycache-sim: %s: %s\n", what, why);
	exit(1);
}

static uint32_t number(const char *what, const char *text, uint32_t least, uint32_t most)
{
	char *end = NULL;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && value >= least && value <= most)
		return (uint32_t)value;
	(void)fprintf(stderr, "keycache-sim: %s %s: expected a number from %" PRIu32 " to %" PRIu32 "\n", what, text,
		      least, most);
	exit(2);
}

static uint32_t *draw(const struct workload *workload, uint32_t count, uint32_t clients)
{
	uint32_t *requests = calloc(count, sizeof(*requests));

	if (!requests || !workload_draw(workload, requests, count, clients))
		fail(workload->name, "out of memory");
	return requests;
}

static uint32_t play(const struct policy_kind *kind, const uint32_t *requests, uint32_t count, uint32_t clients,
		     uint32_t percent)
{
	uint32_t capacity = (uint32_t)((uint64_t)clients * percent / 100);
	uint32_t hits = 0;
	const char *problem = replay(kind, requests, count, clients, capacity, &hits);

	if (problem)
		fail(kind->name, problem);
	return hits;
}

static void one(const struct workload *workload, uint32_t clients, uint32_t percent, uint32_t count)
{
	uint32_t *requests = draw(workload, count, clients);

	for (size_t k = 0; k < KINDS; k++)
		printf("%s %" PRIu32 "\n", kinds[k]->name, play(kinds[k], requests, count, clients, percent));
	free(requests);
}

static void table(uint32_t count)
{
	static const uint32_t populations[] = { 1000, 10000, 100000 };
	static const uint32_t percents[] = { 1, 5, 10, 25 };
	double sums[KINDS] = { 0 };
	double times[KINDS] = { 0 };
	double behind[KINDS] = { 0 };
	unsigned best[KINDS] = { 0 };
	unsigned rows = 0;

	printf("| Workload | clients | kept |");
	for (size_t k = 0; k < KINDS; k++)
		printf(" %s |", kinds[k]->name);
	printf("\n|---|---:|---:|");
	for (size_t k = 0; k < KINDS; k++)
		printf("---:|");
	printf("\n");
	for (size_t w = 0; w < workload_count; w++) {
		for (size_t p = 0; p < sizeof(populations) / sizeof(populations[0]); p++) {
			uint32_t *requests = draw(&workloads[w], count, populations[p]);

			for (size_t c = 0; c < sizeof(percents) / sizeof(percents[0]); c++) {
				double rates[KINDS];
				size_t winner = 0;

				for (size_t k = 0; k < KINDS; k++) {
					clock_t begin = clock();

					rates[k] = 100.0 *
						   play(kinds[k], requests, count, populations[p], percents[c]) / count;
					times[k] += (double)(clock() - begin) / CLOCKS_PER_SEC;
					sums[k] += rates[k];
					if (rates[k] > rates[winner])
						winner = k;
				}
				best[winner]++;
				for (size_t k = 0; k < KINDS; k++)
					if (rates[winner] - rates[k] > behind[k])
						behind[k] = rates[winner] - rates[k];
				rows++;
				printf("| %s | %" PRIu32 " | %" PRIu32 " %% |", workloads[w].name, populations[p],
				       percents[c]);
				for (size_t k = 0; k < KINDS; k++)
					printf(" %.1f |", rates[k]);
				printf("\n");
			}
			free(requests);
		}
	}
	printf("| mean | | |");
	for (size_t k = 0; k < KINDS; k++)
		printf(" %.1f |", sums[k] / rows);
	printf("\n| furthest behind the best | | |");
	for (size_t k = 0; k < KINDS; k++)
		printf(" %.1f |", behind[k]);
	printf("\n| best in | %u | rows |", rows);
	for (size_t k = 0; k < KINDS; k++)
		printf(" %u |", best[k]);
	printf("\n");
	/* Apart from the table, which is the same everywhere. */
	(void)fprintf(stderr, "nanoseconds of this machine for a use:");
	for (size_t k = 0; k < KINDS; k++)
		(void)fprintf(stderr, " %s %.0f", kinds[k]->name, times[k] / rows / count * 1e9);
	(void)fputs("\n", stderr);
}

int main(int argc, char **argv)
{
	const struct workload *workload;

	if (argc <= 2 && !(argc == 2 && argv[1][0] == '-')) {
		table(argc < 2 ? DEFAULT_REQUESTS : number("REQUESTS", argv[1], LEAST_REQUESTS, MOST_REQUESTS));
		return 0;
	}
	workload = argc == 5 ? workload_named(argv[1]) : NULL;
	if (!workload) {
		(void)fputs("usage: keycache-sim [REQUESTS]\n"
			    "       keycache-sim WORKLOAD CLIENTS KEPT REQUESTS, KEPT in percent; WORKLOAD is one of",
			    stderr);
		for (size_t w = 0; w < workload_count; w++)
			(void)fprintf(stderr, " %s", workloads[w].name);
		(void)fputs("\n", stderr);
		return 2;
	}
	one(workload, number("CLIENTS", argv[2], 1, MOST_CLIENTS), number("KEPT", argv[3], 0, 100),
	    number("REQUESTS", argv[4], 1, MOST_REQUESTS));
	return 0;
}
