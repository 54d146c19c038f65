# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise explain --annotate`: the source of a function, with the count of each line."""

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.tables import Section
from worldwise.cli.traces.plugin_runs import Session
from worldwise.cli.traces.typed_calls import SourceWanted
from worldwise.explain.annotated_source import Annotated, annotate, sources
from worldwise.explain.owners import Explainer
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.lent_folders import scratch
from worldwise.lab.sandbox.limits import GIB, MIB, Limits
from worldwise.lab.sandbox.network import Bind
from worldwise.machine.elf_files.questions import ask
from worldwise.records.models import Sample
from worldwise.report.explaining.annotated_source import annotated_sections

_MOST_SOURCE = 4 * 2**20
PATIENCE = 60
_LIMITS = Limits(address_space=2 * GIB, processes=64, file_size=64 * MIB, memory=2 * GIB)
_OBJDUMP = {"EM_AARCH64": "aarch64-linux-gnu-objdump", "EM_ARM": "arm-none-eabi-objdump"}
_INSTRUCTION = re.compile(r"\s*([0-9a-f]{1,16}):\t(.*)")


def annotated(explainer: Explainer, session: Session, sample: Sample, wanted: SourceWanted) -> list[Section]:
    """The sections of a function in a sample. Raises WorldwiseError if it was not executed."""
    found = annotate(explainer, sample, wanted.annotate or "*")
    texts = {name: text for name in sources(found) if (text := read_source(name, wanted.sources or [Path()]))}
    code = (
        {number: instructions_of(session.lab, one) for number, one in enumerate(found)} if wanted.instructions else None
    )
    return annotated_sections(found, texts, code)


def source_lines(explainer: Explainer, sample: Sample) -> dict[tuple[str, str], Counter[tuple[str, int]]]:
    """The instructions of each line of source in a sample, by function and image."""
    found: defaultdict[tuple[str, str], Counter[tuple[str, int]]] = defaultdict(Counter)
    for one in annotate(explainer, sample, "*"):
        for place, line in one.lines.items():
            found[one.name, one.image][place] += line.instructions
    return dict(found)


def path_within(name: str, root: Path) -> PurePosixPath | None:
    """The path of a source file from a resolved folder on, found by the end of its name; None if it is not in there.

    Debug information is a stranger's: it names files, and only those in the folder count.
    """
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
    for start in range(len(parts)):
        path = root.joinpath(*parts[start:])
        with contextlib.suppress(OSError):
            if path.is_file() and path.resolve().is_relative_to(root):
                return PurePosixPath(*parts[start:])
    return None


def read_source(name: str, folders: Sequence[Path]) -> list[str]:
    """The lines of a source file, found in a folder by the end of its path; none if it is in none of them."""
    for root in (folder.resolve() for folder in folders):
        if path := path_within(name, root):
            with contextlib.suppress(OSError):
                return files.read_bytes(root / path, _MOST_SOURCE, root).decode("utf-8", "replace").splitlines()
    return []


def instructions_of(lab: Lab, one: Annotated) -> dict[int, str]:
    """What each instruction of a function is, by objdump in the sandbox; none if it does not say."""
    content = one.table.file
    tool = _OBJDUMP.get(ask(content, ("machine",), what=one.image)[0]) if content else None
    addresses = [address for line in one.lines.values() for address in line.executed]
    if tool is None:
        return {}
    with scratch(lab.cache) as place:
        place.chmod(0o755)
        (place / "elf").write_bytes(content)
        bounds = [f"--start-address={min(addresses):#x}", f"--stop-address={max(addresses) + 4:#x}"]
        command = [tool, "--disassemble", "--no-show-raw-insn", "--demangle", *bounds, "/elf"]
        said = ""
        with contextlib.suppress(WorldwiseError):
            binds: list[Bind] = [(place / "elf", "/elf", "ro")]
            said = lab.run(command, binds=binds, timeout=PATIENCE, limits=_LIMITS).stdout
    matches = map(_INSTRUCTION.fullmatch, said.splitlines())
    return {int(match[1], 16): " ".join(match[2].split()) for match in matches if match}
