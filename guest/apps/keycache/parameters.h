/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters that this app may be given. It takes the place of guest/apps/common/parameters.h. */
#ifndef WORLDWISE_APPS_PARAMETERS_H
#define WORLDWISE_APPS_PARAMETERS_H

#define BENCH_PARAMETERS                                                                                               \
	"storage", "policy", "action", "size", "connections", "clients", "requests", "bound", "workload", "ta",        \
		"calls", "points"

#endif /* WORLDWISE_APPS_PARAMETERS_H */
