# SPDX-License-Identifier: BSD-2-Clause
"""The filter of system calls: the ways into the kernel that neither a compiler nor an emulator needs are shut."""

import contextlib
import errno
import functools
import importlib
import os
from types import ModuleType

from worldwise.base.errors import WorldwiseError

_CLONE_NEWUSER = 0x1000_0000

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C

_FAMILIES_ALLOWED = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK

_FAMILIES = 64

# Ways into the kernel that neither a compiler nor an emulator needs.
_DENIED = (
    # file systems
    *("mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount"),
    *("fspick", "mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "name_to_handle_at"),
    *("open_by_handle_at", "fanotify_init"),
    # namespaces
    *("unshare", "setns"),
    # the kernel itself
    *("bpf", "perf_event_open", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
    *("create_module", "reboot", "acct", "syslog", "iopl", "ioperm", "modify_ldt", "lookup_dcookie", "nfsservctl"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "vhangup", "uselib", "ustat", "sysfs"),
    *("_sysctl", "userfaultfd", "move_pages", "mbind", "set_mempolicy", "migrate_pages", "kcmp"),
    # keys, which no namespace keeps apart
    *("add_key", "request_key", "keyctl"),
)

_DEBUGGING = ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise")

# Answered as by a kernel that does not know them, so that the C library takes the older call.
_UNKNOWN = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")


def libseccomp() -> ModuleType:
    """The library that makes filters. Raises WorldwiseError, with the package to install, if this host has none."""
    try:
        return importlib.import_module("pyseccomp")
    except (ImportError, RuntimeError, OSError) as error:
        raise WorldwiseError(
            f"the sandbox's filter of system calls cannot be made: {error}", "install the package libseccomp2"
        ) from None


@functools.cache
def _filter_descriptor(debugging: bool) -> int:
    seccomp = libseccomp()
    made = seccomp.SyscallFilter(seccomp.ALLOW)
    # Programs of 32 bits and of the x32 ABI have other numbers for the same calls.
    for architecture in (seccomp.Arch.X86, seccomp.Arch.X32):
        with contextlib.suppress(OSError):
            made.add_arch(architecture)
    forbidden, unknown = seccomp.ERRNO(errno.EPERM), seccomp.ERRNO(errno.ENOSYS)

    def rule(action: object, call: str, *conditions: object) -> None:
        # An older libseccomp does not know the newest calls; neither does it let a program name them otherwise.
        with contextlib.suppress(ValueError, OSError):
            made.add_rule(action, call, *conditions)

    for call in (*_DENIED, *(() if debugging else _DEBUGGING)):
        rule(forbidden, call)
    for call in _UNKNOWN:
        rule(unknown, call)
    rule(forbidden, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_NEWUSER, _CLONE_NEWUSER))
    for request in (_TIOCSTI, _TIOCLINUX):
        rule(forbidden, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFF_FFFF, request))
    for family in range(_FAMILIES):
        if family not in _FAMILIES_ALLOWED:
            rule(forbidden, "socket", seccomp.Arg(0, seccomp.EQ, family))
    descriptor = os.memfd_create("worldwise-seccomp", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        made.export_bpf(file)
    return descriptor


def filter_file(debugging: bool = False) -> str:
    """A file with the filter, as bubblewrap reads it; there as long as this process is.

    `debugging` lets a process look into others of its own sandbox, as sanitizers do.
    """
    return f"/proc/{os.getpid()}/fd/{_filter_descriptor(debugging)}"
