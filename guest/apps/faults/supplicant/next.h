/* SPDX-License-Identifier: BSD-2-Clause */
/* For libraries that stand before functions of the C library in somebody else's program. */
#ifndef APPS_FAULTS_SUPPLICANT_NEXT_H
#define APPS_FAULTS_SUPPLICANT_NEXT_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts the function of that name that would be called without this library into a pointer to it. */
static inline void next(const char *name, void *pointer)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function) {
		fprintf(stderr, "%s: nothing is behind it\n", name);
		abort();
	}
	memcpy(pointer, &function, sizeof(function));
}

#endif /* APPS_FAULTS_SUPPLICANT_NEXT_H */
