/* SPDX-License-Identifier: BSD-2-Clause */
/* tee-supplicant, ended and started as its owner can. Every function ends the program by bench_fail() if it cannot. */
#ifndef WORLDWISE_APPS_KEYCACHE_SUPPLICANT_H
#define WORLDWISE_APPS_KEYCACHE_SUPPLICANT_H

#include <stdbool.h>
#include <sys/types.h>

/* Libraries that it can be started with. */
#define WITH_STOP "/lib/stop.so"
#define WITH_JOURNAL "/lib/journal.so:" WITH_STOP

/* The one that runs; 0 if there is none. */
pid_t supplicant_process(void);

/* Ends it by SIGKILL and waits until it is gone. */
void supplicant_kill(void);

/*
 * Starts one with a library, and waits until it has opened the TEE's device. None must be running. As a service manager
 * does, it tries again when the device is busy: it is as long as a call waits that the one before did not answer.
 */
void supplicant_start(const char *library);

/* Another one in its place, which takes over the RPMB device as it is. */
void supplicant_replace(const char *library, bool rpmb);

/* Whether the process is stopped by a signal. */
bool supplicant_stopped(pid_t process);

/*
 * What happens when somebody ends it in the midst of its work and a service manager starts it anew: `guard` is a process
 * that waits until it is stopped, kills it and starts another. The RPMB device, which would outlast that, is taken over
 * into the memory of the new one. With a `pause`, in milliseconds, there is none for so long.
 */
pid_t supplicant_guard(bool rpmb, unsigned int pause);

/*
 * What happens when somebody kills its client then, the process that is in the midst of a call of the TA: the request goes
 * on, Linux refuses its answer (EBADF), tee-supplicant ends itself for that (optee_client, issue 423) and is started anew.
 * With RPMB it is ended before it does what was asked: the device can be taken over only then.
 */
pid_t supplicant_guard_client(bool rpmb, pid_t client);

/* Waits for a guard to end; false if it had nothing to do within so many milliseconds, and was ended. */
bool supplicant_guarded(pid_t guard, unsigned int patience);

#endif /* WORLDWISE_APPS_KEYCACHE_SUPPLICANT_H */
