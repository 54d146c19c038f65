/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the processor was ever idle. The counter is virtual time: it stands for instructions only as long as there is
 * one to execute, because the emulator skips the time in which every process waits.
 */
#ifndef WORLDWISE_LINUX_IDLE_H
#define WORLDWISE_LINUX_IDLE_H

#include <stdint.h>

/* How often Linux has entered its idle loop since boot, or UINT64_MAX if it does not say. */
uint64_t idle_entries(void);

#endif /* WORLDWISE_LINUX_IDLE_H */
