# SPDX-License-Identifier: BSD-2-Clause
"""What a machine says of itself: its kernel's symbols and sections, and where its processes have their programs."""

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from worldwise.base.errors import WorldwiseError
from worldwise.base.files import file_sha256
from worldwise.lab import image
from worldwise.machine.emulator import Emulator
from worldwise.machine.machine import RECORDS, Machine

_MACHINE_FILES = ("kallsyms", "modules", "sections", "processes", "vdso")
# guest/linux/init.c takes so many words of a case, the program's name among them.
_MAX_PROGRAMS = 15
_MAPS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ *(.*)")


def machine_symbols(emulator: Emulator, machine: Machine) -> Path:
    """The folder with what the machine says of itself, made by running /bin/symbols on it unless it is there.

    Files: kallsyms, modules, sections, processes, vdso; see guest/linux/symbols.c. Raises WorldwiseError if the
    machine does not say.
    """
    digest = machine.digest(emulator.lab)
    emulator.directory.mkdir(parents=True, exist_ok=True)
    final = emulator.directory / f"{digest[:12]}.symbols"
    snapshot = emulator.snapshot(machine)
    with FileLock(snapshot.with_name(f".{digest[:12]}.symbols.lock")):
        problem = problem_of(final, digest)
        if not problem:
            return final
        if final.exists():
            emulator.notify(f"symbols of {machine.name}: {problem}; asking the machine again")
            shutil.rmtree(final)
        work = Path(tempfile.mkdtemp(dir=emulator.directory, prefix=".symbols-"))
        try:
            _ask(emulator, machine, work)
            manifest = {"digest": digest, "files": {name: file_sha256(work / name) for name in _MACHINE_FILES}}
            (work / "symbols.json").write_text(json.dumps(manifest) + "\n", encoding="utf-8")
            work.rename(final)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return final


def _ask(emulator: Emulator, machine: Machine, directory: Path) -> None:
    programs = [
        f"/{name}"
        for name, content in sorted(initramfs_files(machine.files["initramfs.cpio"]).items())
        if name.startswith("bin/") and name != "bin/symbols" and content.startswith(b"\x7fELF")
    ]
    if len(programs) > _MAX_PROGRAMS:
        raise WorldwiseError(f"machine {machine.name} has {len(programs)} programs, more than a case can name")
    status = emulator.run(machine, ["/bin/symbols", *programs], directory, left=_MACHINE_FILES).status
    if status:
        said = ""
        with contextlib.suppress(OSError, ValueError, LookupError):
            said = json.loads((directory / RECORDS).read_text(encoding="ascii").splitlines()[-1])["message"]
        raise WorldwiseError(
            f"machine {machine.name} does not give its memory layout: {said or f'/bin/symbols ended with {status}'}",
            details=emulator.diagnosis(directory, machine),
        )
    for path in directory.iterdir():
        if path.name not in _MACHINE_FILES:
            path.unlink()


def problem_of(directory: Path, digest: str) -> str:
    """Why kept symbols cannot be used; empty if they can."""
    try:
        manifest = json.loads((directory / "symbols.json").read_text(encoding="utf-8"))
        if manifest["digest"] != digest or set(manifest["files"]) != set(_MACHINE_FILES):
            return "they are another machine's"
        return image.check_files(directory, manifest["files"])
    except FileNotFoundError:
        return "not there"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"they cannot be read ({error})"


def read_processes(text: str) -> Iterator[tuple[str, list[tuple[int, int, int, str]]]]:
    """The processes of the machine: name, and its executable mappings (start, end, file offset, path)."""
    name = ""
    lines: list[tuple[int, int, int, str]] = []
    for line in text.splitlines():
        if match := _MAPS.fullmatch(line):
            if "x" in match[3]:
                lines.append((int(match[1], 16), int(match[2], 16), int(match[4], 16), match[5]))
        else:
            if name:
                yield name, lines
            name, lines = line.split(" ", 2)[2], []
    if name:
        yield name, lines


def initramfs_files(path: Path) -> dict[str, bytes]:
    """The regular files of a cpio archive (newc), by their names. Raises WorldwiseError for another format."""
    archive = path.read_bytes()
    files: dict[str, bytes] = {}
    at = 0
    try:
        while archive[at : at + 6] == b"070701":
            fields = [int(archive[at + 6 + 8 * field : at + 14 + 8 * field], 16) for field in range(13)]
            mode, size, name_size = fields[1], fields[6], fields[11]
            name = archive[at + 110 : at + 109 + name_size].decode()
            if name == "TRAILER!!!":
                return files
            begin = (at + 110 + name_size + 3) & ~3
            if mode & 0o170000 == 0o100000:
                files[name.removeprefix("./")] = archive[begin : begin + size]
            at = (begin + size + 3) & ~3
    except ValueError:
        pass
    raise WorldwiseError(f"{path} is not a whole cpio archive of the format newc")
