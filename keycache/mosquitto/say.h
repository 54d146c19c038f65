/* SPDX-License-Identifier: BSD-2-Clause */
/* What the plugin says in the broker's log. */
#ifndef KEYCACHE_SAY_H
#define KEYCACHE_SAY_H

#include <stdint.h>

/* Kinds of lines that a client could cause as often as it likes: of each, one in SAY_EVERY_MS is said, with how many were not. */
enum say_kind { SAY_SENDER, SAY_FORGED, SAY_RECEIVER, SAY_BLANK, SAY_LATER, SAY_SERVER, SAY_KINDS };

#define SAY_EVERY_MS 10000u

/* Milliseconds that only go forward. */
uint64_t now_ms(void);
/* level: MOSQ_LOG_WARNING and so on. */
__attribute__((format(printf, 3, 4))) void say(enum say_kind kind, int level, const char *format, ...);

#endif /* KEYCACHE_SAY_H */
