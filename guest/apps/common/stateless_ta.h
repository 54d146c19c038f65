/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of a TA whose sessions have no state. Its one C file includes this, after app_ta.h. */
#ifndef WORLDWISE_APPS_STATELESS_TA_H
#define WORLDWISE_APPS_STATELESS_TA_H

#include "opening_ta.h"

void TA_CloseSessionEntryPoint(void *context)
{
	(void)context;
}

#endif /* WORLDWISE_APPS_STATELESS_TA_H */
