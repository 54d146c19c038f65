# SPDX-License-Identifier: BSD-2-Clause
"""Runs a program for which the disk need not be up to date: `python without_sync.py PROGRAM ARGUMENTS`.

What asks the kernel to write to the disk is answered at once, as done, for the program and all that it starts. dpkg
asks a thousand times while it makes a root, and waits each time; a root that a loss of power leaves half written has no
marker, or fails the check of its files. The caller must be root: without that the kernel wants a promise (no new
privileges) that forbids mmdebstrap its user namespaces.
"""

import os
import sys

import pyseccomp  # type: ignore[import-untyped]

_SYNCS = ("fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync")


def main() -> None:
    """Load the filter and become the program."""
    answered = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    answered.set_attr(pyseccomp.Attr.CTL_NNP, 0)
    for call in _SYNCS:
        answered.add_rule(pyseccomp.ERRNO(0), call)
    answered.load()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
