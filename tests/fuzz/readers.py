# SPDX-License-Identifier: BSD-2-Clause
"""The readers of what strangers hand over, as functions of bytes: each returns, or raises what is its defect.

A reader may give its answer or raise WorldwiseError, with a message that is short and fit for a terminal. Anything else
is a finding.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

from variants import VARIANTS

from worldwise.base import archives, files, paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml import toml_model
from worldwise.lab import bundle
from worldwise.lab.shared_store import object_store, store
from worldwise.libraries.own_library.manifest import check_manifest
from worldwise.libraries.portable import ADAPTER, MANIFEST, Manifest, Portable
from worldwise.machine.board import firmware
from worldwise.machine.elf_files import program_addresses
from worldwise.machine.elf_files import questions as elf_questions
from worldwise.machine.elf_files import reader as elf_reader
from worldwise.machine.symbols.frames import CallFrames
from worldwise.machine.symbols.table import SymbolTable
from worldwise.plan import suite
from worldwise.plan.case import Case, parse_case
from worldwise.plan.user_code.project import Project
from worldwise.predict.bounds import estimates
from worldwise.predict.errors import ErrorLines
from worldwise.read.compared import baseline
from worldwise.read.compared.baseline import Baseline
from worldwise.records import parse
from worldwise.records.check import check_records
from worldwise.records.evidence import required_checks
from worldwise.records.model_predictions import parse_predicted
from worldwise.records.models import Start
from worldwise.records.trace import parse_trace
from worldwise.run.folder import manifests
from worldwise.run.folder.manifests import CaseManifest, Finished, RunManifest
from worldwise.run.folder.own_entries import check_same
from worldwise.targets import portable_images

CORPUS = Path(__file__).parent / "corpus"
# Of a message: some name all that is allowed.
_MOST_MESSAGE = 20_000


def corpus(reader: str) -> dict[str, bytes]:
    """A reader's inputs by their names: files, and what differs from a file in one place."""
    found = {path.name: path.read_bytes() for path in (CORPUS / reader).iterdir()}
    base, changes = VARIANTS.get(reader, ("", {}))
    found |= {name: change(found[base]) for name, change in changes.items()}
    return dict(sorted(found.items()))


# Instead of a library's folder: one with sources in it.
_LIBRARY = paths.PORTABLE
_SUITE = suite.parse_suite(
    """format = 1
name = "fuzz"
title = "What a received run is resumed with"
samples = 2
warmup = 1
[[cases]]
targets = ["optee"]
operations = ["keygen", "empty-invoke"]
implementations = ["mbedtls"]
optimisations = ["O2"]
""",
    "fuzz.toml",
)


def _case(text: str) -> Case:
    return parse_case(text, samples=2, warmup=1)


# Small, so that an input takes a millisecond. Which one is meant says the operation in the first record.
CASES: Mapping[str, Case] = {
    case.operation: case
    for case in map(
        _case,
        (
            "optee/mbedtls-nist-O2/keygen",
            "optee/mbedtls-nist-O2/attestdiv",
            "optee/mbedtls-nist-O2/empty-invoke",
            "linux/mbedtls-O2/sha256,size=1KiB",
            "optee/libtomcrypt-O2/aes,size=64B,key=128,mode=gcm,direction=encrypt",
            "nucleo-f446re/micro-ecc-Os/sign,curve=secp256r1,size=32B",
            "nucleo-f446re/monocypher-Os/ecdh,curve=x25519",
            "optee/mbedtls-nist-O2/tamper,storage=ree",
        ),
    )
}


def read_suite(data: bytes) -> None:
    """A suite's file."""
    suite.parse_suite(toml_model.decode(data, "suite fuzz.toml"), "fuzz.toml")


def read_project(data: bytes) -> None:
    """A worldwise.toml, and what limits say."""
    found = toml_model.parse(Project, toml_model.decode(data, "project fuzz.toml"), "fuzz.toml")
    for measure in found.measure.values():
        for limit in measure.limit.values():
            assert limit.allowed >= 0
            assert limit.budget is None or limit.budget.limit > 0


def read_baseline(data: bytes) -> None:
    """A baseline, which is written again as it was read."""
    found = toml_model.parse(Baseline, toml_model.decode(data, "baseline fuzz.toml"), "fuzz.toml")
    again = toml_model.parse(Baseline, baseline.text_of(found, "--baseline fuzz"), "again.toml")
    assert again == found


def read_implementation(data: bytes) -> None:
    """An implementation.toml, and what it names looked for in a folder."""
    path = Path(MANIFEST)
    text = toml_model.decode(data, f"implementation {path}")
    manifest = toml_model.parse(Manifest, text, path)
    library = Portable(manifest, _LIBRARY / ADAPTER, _LIBRARY)
    check_manifest(_LIBRARY, library)
    portable_images.curve_plan(library, "secp256r1", "cortex-m4")
    library.grid()


def read_run(data: bytes) -> None:
    """A run.json or finished.json, and what resuming the run makes of it."""
    path = Path(manifests.RUN_FILE)
    if b'"finished"' in data:
        manifests.parse_manifest(data, Finished, path)
        return
    manifest = manifests.check_run_manifest(manifests.parse_manifest(data, RunManifest, path), path)
    if manifest.budget:
        manifest.budget.budget()
    check_same("a-run", manifest.own, [])
    manifest.planned(_SUITE)


def read_case(data: bytes) -> None:
    """A case.json, and all that a report takes of a case."""
    path = Path(manifests.CASE_FILE)
    manifest = manifests.parse_manifest(data, CaseManifest, path)
    case = manifests.check_case_manifest(manifest, manifest.id, path).case()
    assert (case.arguments, case.measures, case.spans, case.runs, case.size, case.core) is not None
    required_checks(case)


def read_records(data: bytes) -> None:
    """A records.jsonl, checked as that of a case."""
    records = parse.parse_records(data, "records.jsonl")
    first = records[0]
    if isinstance(first, Start) and first.operation in CASES:
        check_records(records, CASES[first.operation])


def read_trace(data: bytes) -> None:
    """A trace, plain or packed, and all its rows."""
    path = Path("trace.jsonl")
    stream = io.BytesIO(data)
    try:
        with gzip.GzipFile(fileobj=stream) if data.startswith(b"\x1f\x8b") else stream as file:
            trace = parse_trace(file, path)
    except OSError as error:
        # What is no archive: the reader of a file says the same of all that cannot be read.
        raise WorldwiseError(f"{path}: cannot be read: {error}") from None
    for one in trace.passes[:100]:
        assert sum(row.times for row in trace.rows(one)) >= 0


def read_predicted(data: bytes) -> None:
    """A file of predictions, and what they are worth."""
    predicted = parse_predicted(data, Path("predicted-cortex-a72.json"))
    for case in predicted.cases:
        for one in estimates(case, predicted.core, ErrorLines()):
            assert one.whole.low <= one.whole.high


# --- archives, stores and programs ---

# What a lock names, and the most bytes of each; a good archive has them.
_LOCKED = (b"one", b"two" * 100, b"three")
# Far less than what is allowed, so that mutated numbers go beyond it.
_LIMITS = files.TreeLimits(file=8192, total=16384, entries=64, depth=16)
# The most bytes that a reader has left on disk, by its name.
LEFT: dict[str, int] = {}


@contextlib.contextmanager
def _work(reader: str, most: int) -> Iterator[Path]:
    """A folder of its own, in which a reader may leave at most so many bytes."""
    with tempfile.TemporaryDirectory() as name:
        try:
            yield Path(name)
        finally:
            left = sum(path.lstat().st_size for path in Path(name, "made").rglob("*") if path.is_file())
            LEFT[reader] = max(LEFT.get(reader, 0), left)
            assert left <= most, f"{left} bytes on disk"


def read_bundle(data: bytes) -> None:
    """An archive of `lab export`, imported into an empty cache."""
    with _work("bundle", sum(map(len, _LOCKED))) as work:
        path = work / "archive"
        path.write_bytes(data)
        digests = [hashlib.sha256(content).hexdigest() for content in _LOCKED]
        entries = [
            bundle.Entry(digest, number == 2, "it", work / "made" / str(number) / digest, len(content))
            for number, (digest, content) in enumerate(zip(digests, _LOCKED, strict=True))
        ]
        try:
            bundle.take(path, entries)
        finally:
            for entry, content in zip(entries, _LOCKED, strict=True):
                assert not entry.path.exists() or entry.path.read_bytes() == content


def read_object(data: bytes) -> None:
    """An archive of an object store, its own SHA-256 behind it, unpacked."""
    with _work("object", _LIMITS.total) as work, mock.patch.object(object_store, "LIMITS", _LIMITS):
        path = work / "archive"
        path.write_bytes(data + hashlib.sha256(data).hexdigest().encode())
        assert object_store.has_own_digest(path)
        try:
            object_store.unpack(path, work / "made")
        except archives.ArchiveError as error:
            raise WorldwiseError(str(error)) from None
        assert not any(each.is_symlink() for each in work.rglob("*"))


def read_folder(data: bytes) -> None:
    """A folder of a shared store, made as the bytes say, three for each of its entries, and taken."""
    with _work("folder", _LIMITS.total) as work:
        places = [work / "store" / "images" / "it"]
        places[0].mkdir(parents=True)
        for kind, where, name in _threes(data[:3000]):
            place = places[where % len(places)]
            path = place / bytes([name % 94 + 33]).decode().replace("/", "_").replace(".", "_")
            with contextlib.suppress(OSError):
                _make(path, kind, places)
        notes: list[str] = []
        final = work / "made"
        with mock.patch.object(store, "LIMITS", _LIMITS):
            taken = store.Shared(notes.append, work / "store").take("images", "it", final, lambda _: "")
        assert taken == final.exists()
        if not taken:
            raise WorldwiseError(notes[-1])
        assert not any(each.is_symlink() for each in final.rglob("*"))


def _threes(data: bytes) -> Iterator[tuple[int, int, int]]:
    return zip(data[::3], data[1::3], data[2::3], strict=False)


def _make(path: Path, kind: int, places: list[Path]) -> None:
    what = kind % 32
    if what < 20:
        with path.open("xb") as file:
            file.write(bytes(kind * 8))
    elif what < 28:
        path.mkdir()
        places.append(path)
    elif what == 28:
        path.symlink_to(places[kind % len(places)])
    elif what == 29:
        os.mkfifo(path)
    elif what == 30:
        with path.open("xb") as file:
            file.truncate(2**25)
    else:
        path.hardlink_to(next((each for each in path.parent.iterdir() if each.is_file()), path))


def read_elf(data: bytes) -> None:
    """An ELF file: every question that the tool asks, and what the tool makes of the answers.

    They are answered in this process, which is where a process of its own would find what takes time or memory.
    """

    def said(content: bytes, debug: bytes, questions: Sequence[Sequence[object]]) -> bytes:
        return json.dumps(elf_reader.answer(content, debug, questions)).encode()

    told: list[WorldwiseError] = []
    with _work("elf", 0) as work, mock.patch.object(elf_questions, "answer_of", said):
        path, cache = work / "elf", work / "symbols"
        path.write_bytes(data)
        with mock.patch.object(paths, "cache_place", lambda: work):
            for call in _CALLS:
                try:
                    call(path, cache)
                except WorldwiseError as error:
                    told.append(error)
    # What is in none of a good file is told too: a source, a variable, main().
    if len(told) > _LACKING:
        raise told[-1]


_NAME = "recurse"
_CALLS: Sequence[Callable[[Path, Path], object]] = (
    lambda path, _: elf_questions.ask(path, ("interpreted",), ("machine",), ("loaded_bytes",), ("build_id",)),
    lambda path, _: program_addresses.symbol_address(path, _NAME),
    lambda path, _: program_addresses.address_name(path, 0x102),
    lambda path, _: program_addresses.static_variable(path, "random.c", "state"),
    lambda path, _: program_addresses.functions(path),
    lambda path, _: program_addresses.objects(path),
    lambda path, _: program_addresses.code_at(path, 0x100, 0x104),
    lambda path, _: firmware.read_firmware(path),
    lambda path, cache: CallFrames("it", path.read_bytes(), cache).rule(0x100),
    lambda path, cache: _table(SymbolTable.from_elf(path, "it", cache, None, lambda _, __: "")),
)
_LACKING = 1


def _table(table: SymbolTable) -> None:
    table.lookup(0x102)
    table.gaps()
    table.part(0, 2**64)
    table.bias_of_mapping(0x1000, 0x100)
    table.inline_chain(0x102)


READERS: Mapping[str, Callable[[bytes], None]] = {
    "suite": read_suite,
    "project": read_project,
    "baseline": read_baseline,
    "implementation": read_implementation,
    "run": read_run,
    "case": read_case,
    "records": read_records,
    "trace": read_trace,
    "predicted": read_predicted,
    "bundle": read_bundle,
    "object": read_object,
    "folder": read_folder,
    "elf": read_elf,
}


def try_reader(name: str, data: bytes) -> WorldwiseError | None:
    """What a reader says of an input; None if it takes it. Raises whatever is a defect of the reader."""
    try:
        READERS[name](data)
    except WorldwiseError as error:
        if len(error.message) > _MOST_MESSAGE:
            raise AssertionError(f"a message of {len(error.message)} characters: {error.message[:200]!r}") from error
        for text in (error.message, error.hint, error.details):
            if any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in text.replace("\n", "")):
                raise AssertionError(f"a control character in {text[:500]!r}") from error
            text.encode()
        return error
    return None
