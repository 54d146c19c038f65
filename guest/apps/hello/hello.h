/* SPDX-License-Identifier: BSD-2-Clause */
/* What the hello TA and its client agree on. */
#ifndef WORLDWISE_APPS_HELLO_H
#define WORLDWISE_APPS_HELLO_H

#define HELLO_TA_UUID { 0xa1f5c2de, 0x0001, 0x4b1c, { 0x9a, 0x3e, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x00 } }

enum hello_command {
	/* [0] value inout: a is incremented; [2], [3] value out: the counter at the region's begin and end. */
	HELLO_INCREMENT = 0,

	/* [0] value out: what an empty region costs in the TA; [1] value out: what an inner region adds to an outer. */
	HELLO_CALIBRATE,
};

#endif /* WORLDWISE_APPS_HELLO_H */
