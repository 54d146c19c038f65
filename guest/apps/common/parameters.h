/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters that an app may be given: another is refused, since nobody would measure it. See bench.c. */
#ifndef WORLDWISE_APPS_PARAMETERS_H
#define WORLDWISE_APPS_PARAMETERS_H

#define BENCH_PARAMETERS                                                                                               \
	"size", "chunk", "load", "fault", "curve", "key", "mode", "direction", "memory", "sessions", "parameters",     \
		"storage", "action", "sync", "points", "ta", "calls", "server", "random"

#endif /* WORLDWISE_APPS_PARAMETERS_H */
