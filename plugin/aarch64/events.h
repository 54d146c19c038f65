/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events: the changes of exception level, world and task in an outermost pass, in the order of time. */
#ifndef WORLDWISE_EVENTS_H
#define WORLDWISE_EVENTS_H

#include <stdint.h>

struct event_counts {
	uint32_t written;
	uint32_t dropped; /* beyond the most that the arguments allow */
};

/* An outermost pass begins: its id, and the instructions counted before it. */
void events_begin(uint32_t pass, uint64_t counted_before);

/* Writes that the flow went from `site` to `target`, into the running context. `what` is the event's name. */
void event_write(const char *what, uint64_t site, uint64_t target);

/* How many there were since events_begin(). */
struct event_counts events_seen(void);

#endif /* WORLDWISE_EVENTS_H */
