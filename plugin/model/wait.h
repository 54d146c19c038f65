/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction waits for, and until when: of several the last counts. */
#ifndef WORLDWISE_MODEL_WAIT_H
#define WORLDWISE_MODEL_WAIT_H

#include <stdint.h>

#include "model.h"

struct wait {
	uint64_t until;
	enum cause cause;
};

static inline void wait_for(struct wait *wait, uint64_t until, enum cause cause)
{
	if (until > wait->until) {
		wait->until = until;
		wait->cause = cause;
	}
}

#endif /* WORLDWISE_MODEL_WAIT_H */
