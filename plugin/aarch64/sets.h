/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which instruction set of 32 bits a block is of: a TA for AArch32 may have both. */
#ifndef WORLDWISE_SETS_H
#define WORLDWISE_SETS_H

#include <qemu-plugin.h>

#include "blocks.h"

/* A32 or T32, of a block whose code and offsets are read. */
enum instruction_set set_of_32_bits(const struct block *block, const struct qemu_plugin_tb *translation);

#endif /* WORLDWISE_SETS_H */
