# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of calls and payloads include."""

from worldwise.read.readings import CLIENT_CALL, Readings

READINGS = Readings(
    includes={
        ("call", "client"): f"{CLIENT_CALL}; the memory is ready, the TA does not touch it",
        ("read", "ta"): "the payload copied from shared memory into the TA's own, in pieces of 4 KiB",
        ("read", "client"): f"{CLIENT_CALL}; before it, of allocated memory, the client's copy into it",
        ("once", "ta"): "the payload copied from shared memory into the TA's own, in pieces of 4 KiB",
        ("once", "client"): "shared memory registered or allocated, the call of `read`, and the memory released",
        ("oldest", "client"): f"{CLIENT_CALL}; a command that does nothing, of the session that was opened first",
        ("newest", "client"): f"{CLIENT_CALL}; a command that does nothing, of the session that was opened last",
    }
)
