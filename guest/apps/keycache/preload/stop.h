/* SPDX-License-Identifier: BSD-2-Clause */
/* What stop.c looks for, and tells. */
#ifndef WORLDWISE_APPS_KEYCACHE_STOP_H
#define WORLDWISE_APPS_KEYCACHE_STOP_H

#define STOP_AT_START "/tmp/stop-at-start"
#define STOP_AT_REQUEST "/tmp/stop-at-request"
#define DISK_FAILS "/tmp/disk-fails"
#define REQUESTS "/tmp/requests"

#endif /* WORLDWISE_APPS_KEYCACHE_STOP_H */
