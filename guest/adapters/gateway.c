/* SPDX-License-Identifier: BSD-2-Clause */
/* implementation.toml
name = "gateway"
title = "no library"
about = "Ways between the security states of TrustZone-M, and accesses that must be refused"
licence = "BSD-2-Clause"
[source]
debian = "bearssl"
[build]
[operations]
none = ["gateway", "refused"]
[needs]
features = ["mainline", "trustzone"]
*/
/*
 * Only the text above is used, for the name: the programs are those of guest/tzm. They have nothing of the package either.
 */
#include "ops.h"
