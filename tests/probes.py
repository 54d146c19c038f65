# SPDX-License-Identifier: BSD-2-Clause
# Attacks are plain calls, and their words go to standard output.
# ruff: noqa: PTH104, PTH115, PTH123, PTH208, T201
"""Attacks that a program in the sandbox makes on the host, each tried once. Run inside, by the lab's own Python.

Prints a line of JSON for each: its name, and why it failed or a text that begins with BROKEN. The host's side is
test_sandbox.py.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
PROBES: dict[str, Callable[[], object]] = {}


def probe(function: Callable[[], object]) -> Callable[[], object]:
    """An attack: it failed if it raises OSError, and is told of by what it returns otherwise."""
    PROBES[function.__name__.replace("_", "-")] = function
    return function


def syscall(number: int, *arguments: object) -> int:
    """A system call by its number on x86-64. Raises OSError."""
    result: int = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), errno.errorcode.get(ctypes.get_errno(), "?"))
    return result


def write(path: str, text: str = "x\n") -> str:
    Path(path).write_text(text, encoding="ascii")
    return f"wrote {path}"


@probe
def kernel_settings() -> object:
    return write("/proc/sys/kernel/core_pattern", "core\n")


@probe
def kernel_settings_of_the_network() -> object:
    return write("/proc/sys/net/ipv4/ip_forward", "0\n")


@probe
def kernel_settings_by_another_mount_of_proc() -> object:
    return syscall(165, b"proc", b"/tmp", b"proc", 0, None)


@probe
def sysrq() -> object:
    return write("/proc/sysrq-trigger", "h")


@probe
def modprobe_path() -> object:
    return write("/proc/sys/kernel/modprobe", "/tmp/x\n")


@probe
def uevent_helper() -> object:
    return write("/sys/kernel/uevent_helper", "/tmp/x\n")


@probe
def cgroup_release_agent() -> object:
    return write("/sys/fs/cgroup/memory/release_agent", "/tmp/x\n")


@probe
def root_by_setuid() -> object:
    os.setuid(0)
    return "is root"


@probe
def another_group() -> object:
    os.setgroups([0])
    return "is in group 0"


@probe
def a_capability() -> object:
    found = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Cap")]
    if any(int(one, 16) for one in found):
        return f"has {found}"
    raise OSError(errno.EPERM, "no capability in any set")


@probe
def new_privileges() -> object:
    if "NoNewPrivs:\t1" in Path("/proc/self/status").read_text():
        raise OSError(errno.EPERM, "no_new_privs is set")
    return "may gain privileges"


@probe
def user_namespace() -> object:
    return syscall(272, 0x1000_0000)


@probe
def user_namespace_by_clone() -> object:
    child = syscall(56, 0x1000_0000 | signal.SIGCHLD, None, None, None, None)
    if child == 0:
        os._exit(0)
    return "cloned"


@probe
def user_namespace_by_clone3() -> object:
    arguments = (ctypes.c_uint64 * 11)(0x1000_0000, 0, 0, 0, signal.SIGCHLD)
    child = syscall(435, ctypes.byref(arguments), ctypes.sizeof(arguments))
    if child == 0:
        os._exit(0)
    return "cloned"


@probe
def mounting() -> object:
    return syscall(165, b"none", b"/tmp", b"tmpfs", 0, None)


@probe
def unmounting_the_cover_of_the_settings() -> object:
    return syscall(166, b"/proc/sys", 2)


@probe
def remounting_the_lab_writable() -> object:
    return syscall(165, None, b"/usr", None, 0x1000 | 0x20, None)


@probe
def mounting_by_descriptor() -> object:
    return syscall(430, b"tmpfs", 0)


@probe
def pivot_root() -> object:
    return syscall(155, b"/tmp", b"/tmp")


@probe
def another_root() -> object:
    # In a child: what comes after would be tried in the other root.
    child = os.fork()
    if child == 0:
        try:
            os.chroot("/tmp")
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise OSError(status, os.strerror(status))
    return "changed root"


@probe
def entering_a_namespace() -> object:
    with open("/proc/1/ns/mnt") as file:
        return syscall(308, file.fileno(), 0)


@probe
def a_block_device() -> object:
    os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
    return "made a device"


@probe
def a_character_device() -> object:
    os.mknod("/tmp/mem", stat.S_IFCHR | 0o600, os.makedev(1, 1))
    return "made a device"


@probe
def devices_of_the_host() -> object:
    known = {"core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty"}
    more = {path.name for path in Path("/dev").iterdir()} - known - {"urandom", "zero", "console"}
    if more:
        return f"sees {sorted(more)}"
    raise OSError(errno.ENOENT, "only harmless ones")


@probe
def memory_of_the_kernel() -> object:
    with open("/dev/mem", "rb") as file:
        return file.read(1)


@probe
def kernel_log() -> object:
    return syscall(103, 3, ctypes.create_string_buffer(64), 64)


@probe
def a_kernel_module() -> object:
    return syscall(313, 0, b"", 0)


@probe
def bpf() -> object:
    return syscall(321, 0, ctypes.create_string_buffer(72), 72)


@probe
def perf_events() -> object:
    return syscall(298, ctypes.create_string_buffer(120), 0, -1, -1, 0)


@probe
def userfaultfd() -> object:
    return syscall(323, 1)


@probe
def io_uring() -> object:
    return syscall(425, 4, ctypes.create_string_buffer(120))


@probe
def ptrace_of_the_first_process() -> object:
    return syscall(101, 16, 1, None, None)


@probe
def ptrace_of_a_child() -> object:
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        return syscall(101, 16, child, None, None)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@probe
def memory_of_the_first_process() -> object:
    with open("/proc/1/mem", "rb") as file:
        return file.read(1)


@probe
def root_of_the_first_process() -> object:
    more = set(os.listdir("/proc/1/root")) - set(os.listdir("/"))
    if more:
        return f"sees {sorted(more)}"
    raise OSError(errno.ENOENT, "it is the sandbox's own")


@probe
def environment_of_the_first_process() -> object:
    said = Path("/proc/1/environ").read_bytes()
    if b"SECRET" in said or b"HOME" in said:
        return said
    raise OSError(errno.ENOENT, "nothing of the tool's")


@probe
def killing_the_first_process() -> object:
    os.kill(1, signal.SIGKILL)
    raise OSError(errno.EPERM, "the signal does not arrive")


@probe
def processes_of_the_host() -> object:
    host = int(sys.argv[1])
    os.kill(host, 0)
    return f"sees process {host}" if Path(f"/proc/{host}/exe").exists() else "sees an id"


@probe
def keys_of_the_kernel() -> object:
    return syscall(250, 0, -4, 1)


@probe
def a_key_by_the_call_of_32_bits() -> object:
    source = 'int main(void){long r;__asm__ volatile("int $0x80":"=a"(r):"a"(288),"b"(0),"c"(-4),"d"(1):"memory");'
    Path("/tmp/old.c").write_text(f'#include <stdio.h>\n{source}printf("%ld",r);return 0;}}\n')
    subprocess.run(["gcc", "-o", "/tmp/old", "/tmp/old.c"], check=True)
    ended = subprocess.run(["/tmp/old"], capture_output=True, text=True)
    if ended.returncode or int(ended.stdout) < 0:
        raise OSError(errno.EPERM, f"status {ended.returncode}, {ended.stdout}")
    return "has a keyring"


@probe
def file_handles() -> object:
    handle = (ctypes.c_uint32 * 34)(128)
    mount = ctypes.c_int()
    return syscall(303, -100, b"/usr", ctypes.byref(handle), ctypes.byref(mount), 0)


@probe
def network_to_the_host() -> object:
    with socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=2):
        return "connected"


@probe
def abstract_socket_of_the_host() -> object:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + sys.argv[3])
        return "connected"


@probe
def vsock_of_the_hypervisor() -> object:
    with socket.socket(40, socket.SOCK_STREAM):
        return "has a socket"


@probe
def raw_packets() -> object:
    with socket.socket(17, socket.SOCK_RAW):
        return "has a socket"


@probe
def crypto_sockets_of_the_kernel() -> object:
    with socket.socket(38, socket.SOCK_SEQPACKET):
        return "has a socket"


@probe
def keys_into_the_terminal() -> object:
    fcntl.ioctl(0, 0x5412, b"x")
    return "typed"


@probe
def the_terminal() -> object:
    with open("/dev/tty", "w") as file:
        return file.write("x")


@probe
def writing_to_the_lab() -> object:
    return write("/usr/bin/gcc-evil")


@probe
def writing_to_what_is_read_only() -> object:
    return write("/in/given/file")


@probe
def a_hard_link_to_what_is_read_only() -> object:
    os.link("/in/given/file", "/out/linked")
    return "linked"


@probe
def renaming_what_is_read_only() -> object:
    os.rename("/in/given/file", "/out/moved")
    return "moved"


@probe
def the_hosts_files() -> object:
    return Path(sys.argv[4]).read_text()


@probe
def the_hosts_files_through_a_link() -> object:
    Path("/out/way-out").symlink_to(sys.argv[4])
    try:
        return Path("/out/way-out").read_text()
    finally:
        Path("/out/way-out").unlink()


@probe
def above_a_bound_folder() -> object:
    return os.listdir("/out/../../root/.cache")


@probe
def descriptors_of_the_tool() -> object:
    more = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if int(name) > 2 and not target.startswith("/proc/"):
            more.append(target)
    if more:
        return f"inherited {more}"
    raise OSError(errno.EBADF, "none but the first three")


@probe
def the_tools_environment() -> object:
    more = set(os.environ) - {"HOME", "LC_ALL", "PATH", "PWD", "SOURCE_DATE_EPOCH", "TZ", "SHLVL", "_", "LC_CTYPE"}
    if more:
        return f"sees {sorted(more)}"
    raise OSError(errno.ENOENT, "none but the fixed variables")


@probe
def the_clock() -> object:
    return syscall(227, 0, (ctypes.c_long * 2)(0, 0))


@probe
def the_hosts_name() -> object:
    socket.sethostname("evil")
    return "named"


@probe
def a_higher_limit() -> object:
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError as error:
        raise OSError(errno.EPERM, str(error)) from None
    return "raised"


@probe
def shared_memory_of_the_host() -> object:
    return write("/dev/shm/x")


def main() -> None:
    for name, attack in PROBES.items():
        try:
            said = f"BROKEN: {attack()!r}"
        except OSError as error:
            said = f"{errno.errorcode.get(error.errno or 0, 'refused')} ({error.strerror})"
        # One by one: an attack may end the sandbox.
        print(json.dumps([name, said]), flush=True)


if __name__ == "__main__":
    main()
