/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells who started the server how it is: systemd's protocol (sd_notify(3)), of which a few words are needed. */
#ifndef KEYCACHE_NOTIFY_H
#define KEYCACHE_NOTIFY_H

/*
 * "READY=1", also after "RELOADING=1" with the line "MONOTONIC_USEC=" and the time of the monotonic clock, or "STOPPING=1".
 * Nothing happens where NOTIFY_SOCKET is not set.
 */
void notify(const char *state);

#endif /* KEYCACHE_NOTIFY_H */
