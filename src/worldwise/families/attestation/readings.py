# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of an attestation include."""

from worldwise.read.includes import CLIENT_CALL, IN_TA, on_curves
from worldwise.read.readings import Readings

READINGS = Readings(
    includes={
        **on_curves(("keygen", "sign", "verify"), ("ta", "client", "linux")),
        ("invoke", "client"): f"{CLIENT_CALL}; the TA does nothing and gets no parameters",
        ("open", "client"): "the client's whole TEEC_OpenSession, with the TA already loaded",
        ("load", "client"): "the client's whole TEEC_OpenSession, with the TA loaded and its signature checked anew",
        ("create", "ta"): f"TEE_CreatePersistentObject of 4 KiB in the REE's file system, {IN_TA}, but with "
        "tee-supplicant's work in Linux",
        ("create", "client"): CLIENT_CALL,
    }
)
