/* SPDX-License-Identifier: BSD-2-Clause */
#include "say.h"

#include <mosquitto.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void say(enum say_kind kind, int level, const char *format, ...)
{
	static struct {
		uint64_t next;
		unsigned unsaid;
	} kinds[SAY_KINDS];
	uint64_t now = now_ms();
	char text[512];
	va_list words;

	if (now < kinds[kind].next) {
		kinds[kind].unsaid++;
		return;
	}
	va_start(words, format);
	(void)vsnprintf(text, sizeof(text), format, words);
	va_end(words);
	if (kinds[kind].unsaid)
		mosquitto_log_printf(level, "keycache: %s (and %u more of the kind)", text, kinds[kind].unsaid);
	else
		mosquitto_log_printf(level, "keycache: %s", text);
	kinds[kind].next = now + SAY_EVERY_MS;
	kinds[kind].unsaid = 0;
}
