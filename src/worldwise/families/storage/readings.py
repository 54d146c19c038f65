# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of storage include."""

from worldwise.read.readings import CLIENT_CALL, IN_TA, Readings

READINGS = Readings(
    includes={
        ("access", "ta"): f"the object opened, the access, the object closed, {IN_TA}, but with tee-supplicant's work "
        "in Linux",
        ("access", "client"): f"{CLIENT_CALL}; the content goes over in shared memory made for the call",
        ("access", "linux"): "the file opened, the access, the file closed, by system calls of a Linux process on a "
        "tmpfs",
    }
)
