/* SPDX-License-Identifier: BSD-2-Clause */
#include "receivers.h"

#include <mosquitto.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 1024u

struct filter {
	struct filter *next;
	bool no_local;
	char text[];
};

static struct receiver *rows[ROWS];

static uint32_t row_of(const char *text)
{
	uint32_t sum = 2166136261u;

	for (; *text; text++)
		sum = (sum ^ (uint8_t)*text) * 16777619u;
	return sum % ROWS;
}

struct receiver *receiver_find(const char *client)
{
	struct receiver *one = rows[row_of(client)];

	while (one && strcmp(one->client, client) != 0)
		one = one->next;
	return one;
}

struct receiver *receiver_make(const char *client, const char *name)
{
	struct receiver *one = receiver_find(client);
	struct receiver **row = &rows[row_of(client)];

	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one)
			return NULL;
		one->client = strdup(client);
		if (!one->client) {
			free(one);
			return NULL;
		}
		one->next = *row;
		*row = one;
	}
	memset(one->name, 0, sizeof(one->name));
	memcpy(one->name, name, strnlen(name, KEYCACHE_NAME));
	one->online = true;
	one->ended = false;
	return one;
}

void receiver_unsubscribe(struct receiver *receiver, const char *filter)
{
	struct filter **at = &receiver->filters;

	while (*at) {
		struct filter *one = *at;

		if (!strcmp(one->text, filter)) {
			*at = one->next;
			free(one);
			return;
		}
		at = &one->next;
	}
}

void receiver_unsubscribe_all(struct receiver *receiver)
{
	while (receiver->filters)
		receiver_unsubscribe(receiver, receiver->filters->text);
}

void receiver_subscribe(struct receiver *receiver, const char *filter, bool no_local)
{
	size_t size = strlen(filter) + 1;
	struct filter *one;

	receiver_unsubscribe(receiver, filter);
	one = malloc(sizeof(*one) + size);
	if (!one)
		return;
	one->next = receiver->filters;
	one->no_local = no_local;
	memcpy(one->text, filter, size);
	receiver->filters = one;
}

void receiver_remove(const char *client)
{
	struct receiver **at = &rows[row_of(client)];

	while (*at && strcmp((*at)->client, client) != 0)
		at = &(*at)->next;
	if (*at) {
		struct receiver *one = *at;

		*at = one->next;
		receiver_unsubscribe_all(one);
		free(one->client);
		free(one);
	}
}

void receivers_forget_ended(void)
{
	for (size_t row = 0; row < ROWS; row++) {
		struct receiver *next;

		for (struct receiver *one = rows[row]; one; one = next) {
			next = one->next;
			if (one->ended)
				receiver_remove(one->client);
		}
	}
}

void receivers_clear(void)
{
	for (size_t i = 0; i < ROWS; i++)
		while (rows[i])
			receiver_remove(rows[i]->client);
}

static bool receives(const struct receiver *one, const char *topic, const char *from_client)
{
	for (const struct filter *filter = one->filters; filter; filter = filter->next) {
		bool match = false;

		if (filter->no_local && !strcmp(one->client, from_client))
			continue;
		if (!mosquitto_topic_matches_sub(filter->text, topic, &match) && match)
			return true;
	}
	return false;
}

size_t receivers_of(const char *topic, const char *from_client, const char **names, size_t most)
{
	size_t count = 0;

	for (size_t row = 0; row < ROWS; row++) {
		for (const struct receiver *one = rows[row]; one && count < most; one = one->next) {
			size_t i = 0;

			if (!one->online || !receives(one, topic, from_client))
				continue;
			while (i < count && strcmp(names[i], one->name) != 0)
				i++;
			if (i == count)
				names[count++] = one->name;
		}
	}
	return count;
}

struct receiver *receivers_held(void)
{
	for (size_t row = 0; row < ROWS; row++)
		for (struct receiver *one = rows[row]; one; one = one->next)
			if (one->held)
				return one;
	return NULL;
}
