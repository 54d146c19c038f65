# SPDX-License-Identifier: BSD-2-Clause
"""Large packages of a root, unpacked beside mmdebstrap.

Cross compilers and emulators are half of a root's bytes, dpkg unpacks one package after the other, and no package's
script asks for what is in their files. So mmdebstrap gets such a package with empty files, beside its control files,
which decide what is installed and which scripts run. Another processor unpacks the files meanwhile, and they take the
places of the empty ones once mmdebstrap has ended.
"""

import fnmatch
import io
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from worldwise.base.errors import WorldwiseError
from worldwise.lab.debian.lock import Package

_LARGE = 5_000_000
# Not the native compiler: Debian's alternatives want the programs that they lead to.
_NAMES = ("*-aarch64-linux-gnu", "*-arm-linux-gnueabihf", "*-arm-none-eabi", "qemu-system-*")


def goes_beside(package: Package) -> bool:
    """Whether a package is large, and a cross compiler or an emulator by its name."""
    return package.size >= _LARGE and any(fnmatch.fnmatchcase(package.name, name) for name in _NAMES)


def asked(question: str, file: Path, name: str = "") -> bytes:
    """What dpkg-deb says of a package, which is called `name`, or as its file. Raises WorldwiseError if it cannot."""
    read = subprocess.run(["dpkg-deb", question, str(file)], capture_output=True, check=False)
    if read.returncode != 0:
        raise unreadable(name or str(file), read.stderr)
    return read.stdout


def unreadable(name: str, said: bytes) -> WorldwiseError:
    """The error for a package that dpkg-deb cannot read, with what it said."""
    return WorldwiseError(f"{name} is not a package dpkg-deb can read", details=said.decode(errors="replace"))


def with_empty_files(file: Path) -> bytes:
    """A package with the control files of `file`, and with empty files in the places that its MD5 sums name.

    Raises WorldwiseError: dpkg-deb cannot read the package.
    """
    control_members, data = asked("--ctrl-tarfile", file), io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(control_members)) as control,
        tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as places,
    ):
        sums = control.extractfile("./md5sums")
        files = [PurePosixPath(line.split(maxsplit=1)[1]) for line in sums.read().decode().splitlines()] if sums else []
        folders = {parent for path in files for parent in path.parents}
        for path in sorted({*files, *folders}):
            name = "./" if path == PurePosixPath() else f"./{path}/" if path in folders else f"./{path}"
            place = tarfile.TarInfo(name)
            place.type, place.mode = (tarfile.DIRTYPE, 0o755) if path in folders else (tarfile.REGTYPE, 0o644)
            places.addfile(place)
    content = data.getvalue()
    return archive_start(control_members, len(content)) + content + member_end(len(content))


def archive_start(control: bytes, size: int) -> bytes:
    """What stands in a package before its uncompressed files of `size` bytes; `control` are its control files."""
    before = (("debian-binary", b"2.0\n"), ("control.tar", control))
    members = (_member_start(name, len(content)) + content + member_end(len(content)) for name, content in before)
    return b"!<arch>\n" + b"".join(members) + _member_start("data.tar", size)


def _member_start(name: str, size: int) -> bytes:
    """The header of a member of an archive of ar, whose times and owners are nought."""
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{0o100644:<8o}{size:<10}`\n".encode()


def member_end(size: int) -> bytes:
    """What stands behind a member of `size` bytes."""
    return b"\n" * (size % 2)


class UnpackingThread:
    """The files of large packages, unpacked in a folder of their own by a thread.

    Args:
        packages: each package with its file.
        folder: where they are unpacked; on the file system of the root.
        empty: folders, as paths from the root, that keep none of their files.
    """

    def __init__(self, packages: Sequence[tuple[Package, Path]], folder: Path, empty: Sequence[str]) -> None:
        self._packages = packages
        self._folder = folder
        self._empty = empty
        self._stopped = threading.Event()
        self._running: list[subprocess.Popen[bytes]] = []
        self._thread = ThreadPoolExecutor(1, "unpacking")

    def start(self) -> None:
        """Begin to unpack."""
        self._folder.mkdir(mode=0o755)
        self.unpacked_lists = self._thread.submit(self._unpack_all)

    def stop(self) -> None:
        """End what still runs, and wait for that."""
        self._stopped.set()
        for process in self._running:
            process.kill()
        self._thread.shutdown()

    def move_to(self, root: Path) -> None:
        """Wait until all is unpacked, move it to its places in `root`, and tell dpkg's database.

        Raises WorldwiseError: a package that could not be unpacked.
        """
        lists = self.unpacked_lists.result()
        for folder in self._empty:
            shutil.rmtree(self._folder / folder.lstrip("/"), ignore_errors=True)
        _move(self._folder, root)
        shutil.rmtree(self._folder)
        known = root / "var/lib/dpkg/info"
        for package, paths in lists.items():
            names = (f"{package.name}.list", f"{package.name}:{package.architecture}.list")
            for place in (known / name for name in names if (known / name).exists()):
                place.write_text(paths, encoding="utf-8")

    def _unpack_all(self) -> dict[Package, str]:
        """Each package's list of files. Raises WorldwiseError."""
        lists = {}
        for package, file in self._packages:
            if self._stopped.is_set():
                break
            try:
                lists[package] = self._unpack(file)
            except OSError as error:
                if self._stopped.is_set():
                    break
                raise WorldwiseError(f"{package.file} could not be unpacked: {error}") from None
        return lists

    def _unpack(self, file: Path) -> str:
        """Unpack a package. Returns the paths of its files and folders as dpkg's database has them."""
        take = ["tar", "--extract", "--no-same-owner", "--preserve-permissions", "--verbose", "--file=-"]
        with (
            subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(file)], stdout=subprocess.PIPE) as reader,
            subprocess.Popen(
                [*take, f"--directory={self._folder}"],
                stdin=reader.stdout,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as unpacker,
        ):
            self._running = [reader, unpacker]
            if self._stopped.is_set():
                reader.kill()
            assert reader.stdout is not None
            reader.stdout.close()
            out, err = unpacker.communicate()
        self._running = []
        if reader.returncode or unpacker.returncode:
            raise OSError(err.decode(errors="replace").strip() or f"dpkg-deb ended with status {reader.returncode}")
        paths = (line.removeprefix(".").rstrip("/") or "/." for line in out.decode().splitlines())
        return "".join(f"{path}\n" for path in paths)


def _move(source: Path, target: Path) -> None:
    """Move what is below `source` below `target`; folders that are there already stay, whatever leads to them."""
    for entry in sorted(os.scandir(source), key=lambda found: found.name):
        place = target / entry.name
        if entry.is_dir(follow_symlinks=False) and place.is_dir():
            _move(Path(entry.path), place)
        else:
            Path(entry.path).rename(place)
