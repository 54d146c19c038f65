/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends the server when a call of the TA does not come back.
 *
 * Linux lets a call wait for tee-supplicant. If that is killed while it has a request of this call, nobody answers any
 * more, and a new tee-supplicant cannot even open its device until the call has ended, which only the end of this process
 * brings about.
 */
#ifndef KEYCACHE_WATCHDOG_H
#define KEYCACHE_WATCHDOG_H

#include <stdbool.h>

/* A call may take so many seconds, one that reads all of secure storage WATCHDOG_SLOW times that. False: no thread. */
bool watchdog_start(unsigned seconds);

#define WATCHDOG_SLOW 10u

/* Around each call. They cost next to nothing, and do nothing if it was not started. */
void watchdog_begin(bool slow);
void watchdog_end(void);

#endif /* KEYCACHE_WATCHDOG_H */
