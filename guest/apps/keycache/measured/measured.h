/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The regions of the key cache's costs that are in its server and in its TA: neither's source knows of them. The linker puts
 * measured/ta.c between OP-TEE and the TA (--wrap), and measured/plugin.c between the broker's plugin and libkeycache. A copy of
 * the server has the name of measured/server.c in place of libteec's among the libraries that it needs, and that one needs libteec.
 *
 * Each place keeps the sum of what was measured since it was last taken: a request can take more than one call.
 */
#ifndef WORLDWISE_APPS_KEYCACHE_MEASURED_H
#define WORLDWISE_APPS_KEYCACHE_MEASURED_H

#include "../../../bench/calibrate.h"

/* A place: its regions since they were last taken, and what measuring costs there. */
struct measured {
	uint64_t
		armed; /* whether there are regions: what prepares and checks has none, which a trace would be full of */
	struct bench_total total;
	struct bench_overhead overhead;
};

/* Of the TA. */
struct measured_ta {
	struct measured commands; /* from entry to exit */
	struct measured storage;  /* calls of persistent objects */
};

/*
 * The command that the measured TA has besides. [0] memory out: struct measured_ta, whose sums begin anew; [1] value in: a is
 * whether there are regions from now on. SHORT_BUFFER and the size if the output does not fit.
 */
#define MEASURED_TAKE 0x776f726cu

/* The file that holds the server's struct measured; whoever reads it lets the sum begin anew, and arms it. */
#define MEASURED_FILE "/tmp/invoke"

/*
 * What measuring costs there is found by this function of the library, which the client calls in its own process: a region that
 * is not within one of the client's belongs to the process that a trace takes for the measured one.
 */
#define MEASURED_LIBRARY "libtick.so.2"
#define MEASURED_CALIBRATE "measured_calibrate"
typedef struct bench_overhead (*measured_calibration)(void);
struct bench_overhead measured_calibrate(void);

/* The same of the broker's plugin. Each process has a copy of it, as of all libraries. */
#define MEASURED_RELAY_FILE "/tmp/relay"
#define MEASURED_PLUGIN "/lib/broker/mosquitto_keycache.so"
#define MEASURED_PLUGIN_HERE "/lib/measured/mosquitto_keycache.so"

/* Among the programs that `explain` asks the machine about. */
#define MEASURED_SERVER "/bin/keycached"
/* It has libraries of its own, as the client has: the emulator's plugin is told one address of each page. */
#define MEASURED_ENVIRONMENT "LD_LIBRARY_PATH=/lib/server"
#define MEASURED_BROKER "/bin/mosquitto"
#define MEASURED_BROKER_ENVIRONMENT "LD_LIBRARY_PATH=/lib/broker"
/* The server with the TA's code in its own process, which needs a folder for what the TA stores. */
#define MEASURED_NATIVE "/bin/keycached-native"
#define MEASURED_NATIVE_ENVIRONMENT "KEYCACHE_NATIVE_DIR=/tmp/native"

#endif /* WORLDWISE_APPS_KEYCACHE_MEASURED_H */
