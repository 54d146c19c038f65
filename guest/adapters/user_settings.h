/* SPDX-License-Identifier: BSD-2-Clause */
/* The name under which wolfSSL asks for its configuration (WOLFSSL_USER_SETTINGS). */
#include "wolfssl_config.h"
