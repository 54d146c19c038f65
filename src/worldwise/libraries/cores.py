# SPDX-License-Identifier: BSD-2-Clause
"""The cores that have no file in cores/: QEMU's machines have them, and implementation.toml names them."""

from collections.abc import Mapping

# The first is the one that is meant if none is named.
ARMV8_CORES = ("cortex-a72", "cortex-a53", "cortex-a76")

# Each with the core by which implementation.toml names its architecture.
PLAIN_TARGETS: Mapping[str, str] = {"linux-armv7": "cortex-a9", "linux-armv8": ARMV8_CORES[0]}

# The core of the machine that has OP-TEE, as implementation.toml names it.
TEE_CORE = "cortex-a72"
