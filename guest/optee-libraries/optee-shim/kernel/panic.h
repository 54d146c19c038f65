/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

#include <stdlib.h>

#define panic(...) abort()

#endif /* KERNEL_PANIC_H */
