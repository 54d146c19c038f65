# SPDX-License-Identifier: BSD-2-Clause
"""A Linux host that nobody has: Debian's sshd on loopback in a root of its own, and qemu-user where a host runs Arm."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from machines import LOOPBACK, listening
from worldwise.lab.lab import open_lab
from worldwise.lab.sandbox.identity import confinement
from worldwise.lab.sandbox.lent_folders import lent
from worldwise.lab.sandbox.limits import Limits
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.linux_host.ssh import SshAddress

_USER, _INSIDE = "board", "/tmp/host"
_CONFIG = """\
ListenAddress 127.0.0.1
HostKey {inside}/host_key
AuthorizedKeysFile {inside}/authorized_keys
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
ForceCommand {inside}/session
"""
# Its commands find another env; a host that is slow takes half a second for each.
_SESSION = """\
#!/bin/sh
PATH={inside}/bin:$PATH
export PATH
[ ! -e {inside}/slow ] || sleep 0.5
exec sh -c "$SSH_ORIGINAL_COMMAND"
"""
# The kernel here does not run the programs: they are the last words of `env NAME=VALUE... PROGRAM`. The fifth byte of
# an ELF file is 1 for 32 bits.
_ENV = """\
#!/bin/sh
while :; do
  case $1 in
    *=*) export "$1"; shift ;;
    *) break ;;
  esac
done
case $(od -An -tu1 -j4 -N1 "$1") in
  *1) exec qemu-arm -cpu cortex-a9 "$@" ;;
  *) exec qemu-aarch64 -cpu cortex-a72 "$@" ;;
esac
"""


class Sshd:
    """The host: what it is made of stands in a folder, and it is there within `running`.

    Attributes:
        client: a folder with a program called ssh, which knows the host and has a key for it.
        work: where the host's programs and records are while it measures.
    """

    def __init__(self, root: Path) -> None:
        self.lab = open_lab(name="host")
        self.lab.ensure()
        self._host, self.client = root / "host", root / "client"
        self.work = self._host / "work"
        for folder in (self._host, self.client, self.work, self._host / "bin"):
            folder.mkdir()
        root.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = SshAddress("127.0.0.1", _USER, self._port, f"{_INSIDE}/work")
        for pair in (self._host / "host_key", self.client / "key", self.client / "other_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", pair], check=True)
        shutil.copy(self.client / "key.pub", self._host / "authorized_keys")
        kind, key, *_ = (self._host / "host_key.pub").read_text().split()
        self.known = self.client / "known_hosts"
        self.known.write_text(f"[127.0.0.1]:{self._port} {kind} {key}\n")
        (self._host / "sshd_config").write_text(_CONFIG.format(inside=_INSIDE))
        uid = confinement().uid
        (self._host / "passwd").write_text(f"{_USER}:x:{uid}:{uid}::/tmp:/bin/sh\n")
        for name, text in (("session", _SESSION.format(inside=_INSIDE)), ("bin/env", _ENV)):
            self._script(self._host / name, text)
        # Before the one that it makes is found first.
        self._ssh = shutil.which("ssh")
        self.use_key("key")

    def use_key(self, name: str) -> None:
        """Have the client use one of its keys: `key`, which the host knows, or `other_key`."""
        options = f"-F none -i {self.client / name} -o IdentitiesOnly=yes -o UserKnownHostsFile={self.known}"
        self._script(self.client / "ssh", f'#!/bin/sh\nexec {self._ssh} {options} "$@"\n')

    def be_slow(self, slow: bool) -> None:
        """Have each command take half a second longer, or not."""
        with contextlib.suppress(FileNotFoundError):
            (self._host / "slow").unlink()
        if slow:
            (self._host / "slow").touch()

    @contextlib.contextmanager
    def running(self) -> "Iterator[subprocess.Popen[bytes]]":
        """The host is on."""
        limits = Limits(address_space=None)
        binds: list[Bind] = [(self._host, _INSIDE, "rw"), (self._host / "passwd", "/etc/passwd", "ro")]
        arguments = ["/usr/sbin/sshd", "-D", "-e", "-p", str(self._port), "-f", f"{_INSIDE}/sshd_config"]
        log = self._host.parent / "sshd.log"
        with lent([self._host]), log.open("ab") as messages:
            command = self.lab.command(arguments, network=True, binds=binds, limits=limits)
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)
            try:
                deadline = time.monotonic() + 60
                while LOOPBACK not in listening(self._port):
                    assert process.poll() is None and time.monotonic() < deadline, log.read_text()
                    time.sleep(0.02)
                yield process
            finally:
                process.kill()
                process.wait()

    @staticmethod
    def _script(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)


def first_on_the_path(folder: Path) -> str:
    """PATH with a folder before all others."""
    return f"{folder}:{os.environ['PATH']}"
