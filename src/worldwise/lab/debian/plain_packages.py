# SPDX-License-Identifier: BSD-2-Clause
"""Packages without compression, for who makes many roots.

Half the processor time of a root goes into decompressing its packages, and roots have many packages in common. If the
store has the folder FOLDER, which the tests make, it keeps those packages decompressed that more than one root has. A
user who needs one or two roots would only lose the disk space.
"""

import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from worldwise.base.files import file_sha256
from worldwise.lab.debian.lock import Package, load_lock
from worldwise.lab.debian.unpacked_packages import archive_start, asked, goes_beside, member_end, unreadable
from worldwise.lab.roots import ROOTS

FOLDER = "plain"


@dataclass(frozen=True)
class PackageFile:
    """A package as apt and dpkg get it: its file, which has `size` bytes."""

    path: Path
    size: int
    sha256: str


class PlainPackages:
    """The decompressed packages of a store.

    Args:
        downloads: the store's folder.
    """

    def __init__(self, downloads: Path) -> None:
        self._folder = downloads / FOLDER
        self._shared: set[str] = set()
        if self._folder.is_dir():
            owners = Counter(package.sha256 for root in ROOTS.values() for package in load_lock(root.lock).lab)
            self._shared = {sha256 for sha256, roots in owners.items() if roots > 1}

    def file(self, package: Package, packed: Path) -> PackageFile:
        """The package decompressed, now or before, if others want it too; else as it was downloaded to `packed`.

        Raises WorldwiseError: dpkg-deb cannot read it. OSError: no space.
        """
        if package.sha256 not in self._shared:
            return PackageFile(packed, package.size, package.sha256)
        plain = self._kept(package) or self._decompressed(package, packed)
        return PackageFile(plain, plain.stat().st_size, _sha256_of(plain))

    def _kept(self, package: Package) -> Path | None:
        kept = next(self._folder.glob(f"{package.sha256}-*"), None)
        # Of the others apt compares the SHA-256.
        if kept and goes_beside(package) and file_sha256(kept) != _sha256_of(kept):
            return None
        return kept

    def _decompressed(self, package: Package, packed: Path) -> Path:
        control = asked("--ctrl-tarfile", packed, package.file)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="partial-") as name:
            partial = Path(name, package.sha256)
            with partial.open("xb") as file:
                begin = file.write(archive_start(control, 0))
                file.flush()
                read = subprocess.run(
                    ["dpkg-deb", "--fsys-tarfile", str(packed)], stdout=file, stderr=subprocess.PIPE, check=False
                )
                if read.returncode != 0:
                    raise unreadable(package.file, read.stderr)
                size = file.seek(0, 2) - begin
                file.write(member_end(size))
                file.seek(0)
                file.write(archive_start(control, size))
            partial.chmod(0o644)
            # The name says what apt must find, however much later: the bytes are right now.
            return partial.replace(self._folder / f"{package.sha256}-{file_sha256(partial)}")


def _sha256_of(plain: Path) -> str:
    """The SHA-256 that a decompressed package had when it was made, as its name says."""
    return plain.name.rpartition("-")[2]
