/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's strings for sources that know them by the Linux kernel's name (dhrystone.c). */
#include <string.h>
