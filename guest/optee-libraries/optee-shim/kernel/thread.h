/* SPDX-License-Identifier: BSD-2-Clause */
/* A Linux process always has its vector registers: there is nothing to save, and no interrupt to mask. */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

#include <stdint.h>

static inline uint32_t thread_kernel_enable_vfp(void)
{
	return 0;
}

static inline void thread_kernel_disable_vfp(uint32_t state)
{
	(void)state;
}

#endif /* KERNEL_THREAD_H */
