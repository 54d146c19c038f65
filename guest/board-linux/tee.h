/* SPDX-License-Identifier: BSD-2-Clause */
/* A way into the secure world, for the counter: the system calls alone, so that a test can answer them instead. */
#ifndef WORLDWISE_BOARD_LINUX_TEE_H
#define WORLDWISE_BOARD_LINUX_TEE_H

/* Goes into OP-TEE's core and back, twice. Returns 0, or -1 with errno if Linux has no way there. */
int tee_pass(void);

#endif /* WORLDWISE_BOARD_LINUX_TEE_H */
