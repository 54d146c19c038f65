/* SPDX-License-Identifier: BSD-2-Clause */
/* A library of Linux that encrypts: one file of library/ is linked. */
#ifndef WORLDWISE_APPS_AES_LIBRARY_H
#define WORLDWISE_APPS_AES_LIBRARY_H

#include "../case.h"

/* Before anything else: what the library reads of its environment as it is loaded. It may start the program anew. */
void library_environment(char **argv);

/* See struct case_ops: one call, here without its span. */
uint32_t library_call(enum case_call call, const struct case_job *job);

void library_release(void);

#endif /* WORLDWISE_APPS_AES_LIBRARY_H */
