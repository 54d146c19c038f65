# SPDX-License-Identifier: BSD-2-Clause
"""The key of a scheduler: who has it can give the workers tasks, and be a worker. It is made here and nowhere else.

A key is a private key and a certificate that it has signed itself. Scheduler, workers and `run` show each other the
same one, by TLS, and trust no other. It goes from machine to machine as one file that only its user can read.
"""

import contextlib
import datetime
import os
import re
import socket
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldwise.base import files
from worldwise.base.errors import HostError, WorldwiseError

# The first line of the file; who reads a certificate skips it.
_HEAD = (
    "The key of a worldwise scheduler. Who has it can run programs as you on all its workers: docs/use/machines.md\n"
)
_PEM = r"-----BEGIN {0}-----\n[A-Za-z0-9+/=\n]+-----END {0}-----\n"
# A page that has moved since makes no key of another form.
_WHOLE = re.compile(
    rf"The key of a worldwise scheduler\.[^\n]*\n({_PEM.format('PRIVATE KEY')})({_PEM.format('CERTIFICATE')})"
)
_MOST_BYTES = 64 * 1024
# Seconds for a connection, and for its handshake.
ANSWER = 10.0


@dataclass(frozen=True)
class Key:
    """The key of one scheduler, as PEM.

    Attributes:
        secret: the private key.
        certificate: its certificate.
    """

    secret: str = field(repr=False)
    certificate: str

    @property
    def text(self) -> str:
        """What its file has."""
        return _HEAD + self.secret + self.certificate

    def security(self, file: Path | None = None) -> Any:
        """Dask's settings of TLS: no connection without the key. With a `file` that has it, they name the file."""
        from distributed.security import Security

        certificate, secret = (str(file), str(file)) if file else (self.certificate, self.secret)
        pairs: dict[str, str] = {}
        for role in ("client", "scheduler", "worker"):
            pairs |= {f"tls_{role}_cert": certificate, f"tls_{role}_key": secret}
        return Security(require_encryption=True, tls_ca_file=certificate, **pairs)


def new_key() -> Key:
    """A key that nobody has. It holds for a year."""
    from distributed.security import Security

    made = Security.temporary()
    return Key(made.tls_worker_key, made.tls_worker_cert)


def write_key(key: Key, path: Path) -> None:
    """Write a key into a new file that only this user can read. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
        try:
            # Whatever the umask is.
            os.fchmod(file.fileno(), 0o600)
            file.write(key.text)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            path.unlink()
            raise


def made_or_read(path: Path) -> Key:
    """The key in a file; without the file, a new key that is written there. Raises WorldwiseError."""
    if not os.path.lexists(path):
        try:
            # Of two that start at once, the slower one takes the key of the other.
            with contextlib.suppress(FileExistsError):
                write_key(new_key(), path)
        except OSError as error:
            raise WorldwiseError(f"{path}: the key cannot be written: {error.strerror or error}.") from None
    return read_key(path)


def read_key(path: Path) -> Key:
    """The key in a file. Raises WorldwiseError if it is not there, not whole, too old, or known to others."""
    try:
        with files.open_regular(path, _MOST_BYTES) as file:
            found = os.fstat(file.fileno())
            text = file.read(_MOST_BYTES).decode("ascii", errors="replace")
    except FileNotFoundError:
        raise WorldwiseError(
            f"{path}: there is no such key file.",
            "`worldwise scheduler dask://HOST:PORT --key FILE` makes it; copy it here",
        ) from None
    except OSError as error:
        raise WorldwiseError(f"{path}: the key cannot be read: {error.strerror or error}.") from None
    if found.st_mode & 0o077:
        raise WorldwiseError(
            f"{path}: other users may read or change this key (its mode is {found.st_mode & 0o777:04o}).",
            "if it has been so for long, remove it and let `worldwise scheduler` make a new one; else chmod 600",
        )
    if found.st_uid not in (0, os.geteuid()):
        raise WorldwiseError(
            f"{path}: this key belongs to another user (id {found.st_uid}).", "copy it to a file of your own"
        )
    whole = _WHOLE.fullmatch(text)
    if not whole or not _holds_together(path):
        raise WorldwiseError(f"{path}: this is not a complete key of a worldwise scheduler.", "copy the file once more")
    key = Key(whole[1], whole[2])
    if (ended := end_of(key)) < datetime.datetime.now(datetime.UTC):
        raise WorldwiseError(
            f"{path}: this key expired on {ended:%Y-%m-%d}.",
            "remove it, let `worldwise scheduler` make a new one, copy it",
        )
    return key


def _holds_together(path: Path) -> bool:
    """Whether the file's private key is that of its certificate."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(path)
    except (OSError, ValueError):
        return False
    return True


def end_of(key: Key) -> datetime.datetime:
    """When its certificate ends."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(key.certificate.encode()).not_valid_after_utc


def answers(address: str, key: Key, path: Path) -> bool:
    """Whether a scheduler with this key, which `path` has, is at `tls://HOST:PORT`; False if nobody listens there.

    Raises HostError if it has another key, or none.
    """
    try:
        connection = socket.create_connection(host_and_port(address), timeout=ANSWER)
    except OSError:
        return False
    context: ssl.SSLContext = key.security().get_connection_args("client")["ssl_context"]
    shown = address.replace("tls://", "dask://")
    with connection:
        try:
            # The one authority is the key itself: whoever else listens there ends here.
            with context.wrap_socket(connection):
                return True
        except ssl.SSLCertVerificationError:
            raise HostError(
                f"{shown}: the scheduler there has another key than {path}.", "copy the file that it was started with"
            ) from None
        except OSError as error:
            raise HostError(
                f"{shown}: the program that listens there is not a scheduler with a key: {error}.",
                "`worldwise scheduler` of this version, with --key: docs/use/machines.md",
            ) from None


def host_and_port(address: str) -> tuple[str, int]:
    """The host, without brackets, and the port of `tls://HOST:PORT`."""
    host, _, port = address.removeprefix("tls://").rpartition(":")
    return host.strip("[]"), int(port)


def facing(address: str) -> str:
    """The address of this machine from which `tls://HOST:PORT` is reached. Raises HostError."""
    host, port = host_and_port(address)
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # Nothing is sent: the kernel says which of its addresses it would take.
            probe.connect(where)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise HostError(f"{host}: this machine has no route there: {error.strerror or error}.") from None
