# SPDX-License-Identifier: BSD-2-Clause
"""The cores without a file in cores/: those of QEMU's machines, as implementation.toml names them."""

from collections.abc import Mapping

# The first is the default.
ARMV8_CORES = ("cortex-a72", "cortex-a53", "cortex-a76")

# Target -> the core that stands for its architecture in implementation.toml.
PLAIN_TARGETS: Mapping[str, str] = {"linux-armv7": "cortex-a9", "linux-armv8": ARMV8_CORES[0]}

# The core of the machine with OP-TEE, as implementation.toml names it.
TEE_CORE = "cortex-a72"
