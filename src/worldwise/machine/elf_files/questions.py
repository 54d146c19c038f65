# SPDX-License-Identifier: BSD-2-Clause
"""Questions to an ELF file that a stranger may have made, each answered by a process of its own and kept in the cache.

A compiler's ELF file is a stranger's if its sources are, and so is one from a store that machines share. pyelftools
raises any error for a file that no compiler would make, and such a file may also make it wait or fill the memory:
tables of 2^40 entries, types that are names of themselves, packed sections. So it reads in a process that has little
memory and little time, and what that says is checked by its form. An answer depends on the file's bytes alone, so
only the first question about a file costs a process.
"""

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import elftools

import worldwise
from worldwise.base import files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.lab.cache_locks import mark_used

# Part of the cache's addresses: raise it when the same ELF file would give another answer.
_FORMAT = 5
# Bytes of a file. OP-TEE's core with its debug information has 6 MB.
_MOST_FILE = 256 * 2**20
# What the process may take: bytes of memory, seconds of processor time, bytes of its answer.
MEMORY, SECONDS, MOST_ANSWER = 2 * 2**30, 60, 32 * 2**20
# Of the clock: more, since others use the machine too.
_PATIENCE = 10 * SECONDS
_HINT = "build it again; if it came from others, `readelf --all FILE` shows its content"
_MAGIC = b"\x7fELF"
_NO_ELF = "give the linked ELF file itself, not a source, a script, an archive, a .bin or .hex file"
# Without the user's environment and current folder; what it needs is where this process has it from.
BEGIN = "import sys; sys.path += sys.argv[1:3]; from worldwise.machine.elf_files.reader import main; main({}, {}, {})"

_NUMBERS, _TEXT, _TEXTS = range(2**66), 2**16, 1000


def _checked(question: str, answer: Any) -> Any:
    """An answer that has the form of those to its question. Raises ValueError for another.

    Two are looked at by hand: what `exec` asks of each program. What has all forms takes long to load.
    """
    if question == "symbol_address" and (answer is None or _is_number(answer)):
        return answer
    if question == "program" and isinstance(answer, list) and len(answer) == 6:
        kind, processor, entry, loader, needs, folders = answer
        texts = all(
            isinstance(one, list) and len(one) <= _TEXTS and all(map(_is_text, one)) for one in (needs, folders)
        )
        if texts and _is_number(entry) and all(map(_is_text, (kind, processor, loader))):
            return tuple(answer)
    from worldwise.machine.elf_files.answers import form

    return form(question).validate_python(answer)


def _is_number(value: Any) -> bool:
    return type(value) is int and value in _NUMBERS


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _TEXT


def content_of(elf: Path | bytes, what: str) -> bytes:
    """The bytes of a file. Raises WorldwiseError: `what` it is, and why it cannot be read."""
    if isinstance(elf, bytes):
        return elf
    try:
        return files.read_bytes(elf, _MOST_FILE)
    except OSError as error:
        raise WorldwiseError(f"{what} cannot be read: {elf}: {error.strerror}") from None


def ask(
    elf: Path | bytes,
    *questions: tuple[str | int, ...],
    what: str = "",
    debug: bytes = b"",
    cache: Path | None = None,
) -> list[Any]:
    """What questions (a name in reader.QUESTIONS and its arguments) are answered about an ELF file.

    Args:
        elf: the file, or its content.
        questions: at least one; all that the cache lacks are asked of one process.
        what: begins the error's sentence "... cannot be read"; the file's path without it.
        debug: the content of the file with the symbols and the debug information, if `elf` is stripped.
        cache: the folder in which answers are kept; without it that of the user's cache.

    Raises WorldwiseError.
    """
    what = what or str(elf)
    content = content_of(elf, what)
    cache = cache or paths.cache_place() / "symbols"
    digests = [hashlib.sha256(one).hexdigest() for one in (content, debug)]
    kept = {one: cache / f"{_address(digests, one)}.json" for one in questions}
    found = {one: answer for one, path in kept.items() if (answer := _kept(path, one)) is not None}
    wanted = [one for one in questions if one not in found]
    if wanted:
        try:
            answers = answered(wanted, answer_of(content, debug, wanted))
        except ValueError as error:
            if not content.startswith(_MAGIC):
                raise WorldwiseError(
                    f"{what} cannot be read: it is no ELF file, as compilers link one.", _NO_ELF
                ) from None
            raise WorldwiseError(f"{what} cannot be read: {files.quoted(str(error))}", _HINT) from None
        for one, answer in zip(wanted, answers, strict=True):
            found[one] = (answer,)
            _keep(kept[one], answer)
    return [found[one][0] for one in questions]


def _address(digests: Sequence[str], question: Sequence[str | int]) -> str:
    """The cache's name of an answer."""
    text = json.dumps([_FORMAT, digests, question])
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _kept(path: Path, question: Sequence[str | int]) -> tuple[Any] | None:
    # A file that is not whole is made anew, whatever is wrong with it.
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = _checked(str(question[0]), json.loads(files.read_bytes(path, MOST_ANSWER, path.parent)))
        mark_used(path)
        return (found,)
    return None


def _keep(path: Path, answer: Any) -> None:
    # Without a cache that can be written the next question is asked again.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(answer, file, separators=(",", ":"), default=vars)
        Path(temporary).replace(path)


def answer_of(content: bytes, debug: bytes, questions: Sequence[tuple[str | int, ...]]) -> bytes:
    """What a new process says to questions. Raises ValueError that says in a few words why it says nothing."""
    places = [str(Path(module.__file__ or "").resolve().parents[1]) for module in (worldwise, elftools)]
    begin = BEGIN.format(MEMORY, SECONDS, MOST_ANSWER)
    asked = json.dumps({"sizes": [len(content), len(debug)], "questions": questions}) + "\n"
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-c", begin, *places],
                input=asked.encode() + content + debug,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE,
                cwd="/",
                env={},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ValueError("it takes too much time") from None
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            raise ValueError(f"it takes more than {SECONDS} seconds of a processor")
        if done.returncode != 0:
            raise ValueError("it takes too much memory, or says more than a program contains")
        said.seek(0)
        return said.read(MOST_ANSWER)


def answered(questions: Sequence[tuple[str | int, ...]], said: bytes) -> list[Any]:
    """The answers to questions in what a process said. Raises ValueError that says in a few words what is wrong."""
    strange = "the process that reads it says what no compiler produces"
    try:
        answers = json.loads(said)
    except (ValueError, RecursionError):
        raise ValueError(strange) from None
    if not isinstance(answers, list) or len(answers) != len(questions):
        raise ValueError(strange)
    found = []
    for question, answer in zip(questions, answers, strict=True):
        if not isinstance(answer, list) or len(answer) != 2:
            raise ValueError(strange)
        if answer[0] is not True:
            raise ValueError(str(answer[1]))
        try:
            found.append(_checked(str(question[0]), answer[1]))
        except ValueError:
            raise ValueError(strange) from None
    return found
