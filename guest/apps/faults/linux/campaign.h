/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of campaigns; see main.c. */
#ifndef WORLDWISE_APPS_FAULTS_CAMPAIGN_H
#define WORLDWISE_APPS_FAULTS_CAMPAIGN_H

#include <stddef.h>

#include "object.h"
#include "store.h"

void cut_write(const char *storage, const char *action, size_t size);
void cut_read(const char *storage, const char *action, size_t size);
void tamper_write(const char *storage, size_t size);
void tamper(const char *what, const char *when, const char *storage, size_t size);

/* Ends the program with an error record unless what prepares an attempt went well. */
void campaign_must(TEEC_Result result, const char *what);

/* Records how an attempt went. */
void campaign_outcome(const char *what, const char *result, const char *detail);

/* Whether objects can still be stored and read back: what a word in front of the error says, or an empty text. */
void campaign_usable(char *text, size_t size);

#endif /* WORLDWISE_APPS_FAULTS_CAMPAIGN_H */
