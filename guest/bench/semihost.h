/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The emulator's side door: Arm semihosting from user space. A call is carried out by QEMU between two instructions of
 * the guest, so a case can be read and a record written without a driver, an interrupt or a thread having any part in
 * it. Source: Arm, "Semihosting for AArch32 and AArch64", release 2024Q3.
 */
#ifndef WORLDWISE_BENCH_SEMIHOST_H
#define WORLDWISE_BENCH_SEMIHOST_H

#include <stddef.h>

/* Opens a file of the host by its relative name; mode as in fopen, "r", "a" or "w". Returns a handle, or -1. */
long semihost_open(const char *name, const char *mode);

/* Reads up to `size` bytes. Returns how many were read, or -1. */
long semihost_read(long handle, void *buffer, size_t size);

/* Returns 0 when all of it was written, else -1. */
int semihost_write(long handle, const void *buffer, size_t size);

/* Ends the emulator with this exit status. */
_Noreturn void semihost_exit(int status);

/* A record_sink that appends to the host's file records.jsonl. */
int semihost_record(const char *line, size_t length);

#endif /* WORLDWISE_BENCH_SEMIHOST_H */
