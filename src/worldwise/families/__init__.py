# SPDX-License-Identifier: BSD-2-Clause
"""Families: one folder for each thing that is measured. See worldwise.base.family_stages for how a stage finds them."""

# In the order of lists and tables.
FAMILIES = (
    "attestation",
    "sha256",
    "hello",
    "aes",
    "calls",
    "storage",
    "faults",
    "pkcs11",
    "keycache",
    "abuse",
    "crypto",
    "echo",
    "portable",
    "pqc",
    "hardclock",
    "tzm",
    "own",
)
