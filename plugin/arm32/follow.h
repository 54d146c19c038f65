/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following: what is done at each block that QEMU translates, and at each that it executes. */
#ifndef WORLDWISE_ARM32_FOLLOW_H
#define WORLDWISE_ARM32_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <qemu-plugin.h>

/* What is followed. */
struct followed {
	bool micro;       /* a microcontroller: T32, exceptions of the M profile; else a program of Linux on Armv7-A */
	uint64_t counter; /* micro: the address of the counter */
	uint64_t start;   /* Linux: the function at which the program begins to be followed */
	uint64_t kernel;  /* Linux: what stands from that address on is the kernel */
	/*
	 * Linux, for a program that another one starts: the region around its life begins and ends where that one reads its
	 * counter, and calls are passes where the program runs that begins at `entry`. All three, or none.
	 */
	uint64_t begins;
	uint64_t ends;
	uint64_t entry;
	bool stores;               /* micro: see how low the stack is written */
	void (*end_machine)(void); /* micro: leaves QEMU, where the machine is to end before its program does */
};

/* Before any translation. `what` is copied. */
void follow_start(const struct followed *what);

/* The machine ends: counts what was executed last, and ends the calls that are open. */
void follow_finish(void);

/* QEMU calls it for each block it translates. */
void follow_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *translation);

#endif /* WORLDWISE_ARM32_FOLLOW_H */
