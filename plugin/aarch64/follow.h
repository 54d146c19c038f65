/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following: what is done at each block that QEMU translates, and at each that it executes. */
#ifndef WORLDWISE_FOLLOW_H
#define WORLDWISE_FOLLOW_H

#include <qemu-plugin.h>

/* QEMU calls it for each block it translates. Asks QEMU for calls and inline code where the mode needs them. */
void follow_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *translation);

#endif /* WORLDWISE_FOLLOW_H */
