/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap: the C library's four functions over the memory that the linker script leaves, and how much was in use. */
#ifndef WORLDWISE_MCU_HEAP_H
#define WORLDWISE_MCU_HEAP_H

#include <stddef.h>

/* Bytes in use now, the headers of the blocks included. */
size_t heap_used(void);

/* The most that were in use since the last heap_forget_peak(). */
size_t heap_peak(void);

void heap_forget_peak(void);

/* The size of the last request that there was no room for, 0 if there always was. */
size_t heap_refused(void);

#endif /* WORLDWISE_MCU_HEAP_H */
