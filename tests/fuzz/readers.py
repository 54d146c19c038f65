# SPDX-License-Identifier: BSD-2-Clause
"""The readers of what strangers hand over, as functions of bytes: each returns, or raises what is its defect.

A reader may give its answer or raise WorldwiseError, with a message that is short and fit for a terminal. Anything else
is a finding.
"""

import gzip
import io
from collections.abc import Callable, Mapping
from pathlib import Path

from worldwise.base import paths, toml_model
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.own_manifest import check_manifest
from worldwise.libraries.portable import ADAPTER, MANIFEST, Manifest, Portable
from worldwise.plan import suite
from worldwise.plan.case import Case, parse_case
from worldwise.predict.bounds import estimates
from worldwise.predict.errors import ErrorLines
from worldwise.records import parse
from worldwise.records.check import check_records
from worldwise.records.evidence import required_checks
from worldwise.records.models import Start
from worldwise.records.predicted import parse_predicted
from worldwise.records.trace import parse_trace
from worldwise.run import rundir
from worldwise.run.own import check_same
from worldwise.run.rundir import CaseManifest, Finished, RunManifest
from worldwise.targets import portable_images

CORPUS = Path(__file__).parent / "corpus"
# Of a message: some name all that is allowed.
_MOST_MESSAGE = 20_000

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
    path = Path(rundir.RUN_FILE)
    if b'"finished"' in data:
        rundir.parse_manifest(data, Finished, path)
        return
    manifest = rundir.check_run_manifest(rundir.parse_manifest(data, RunManifest, path), path)
    if manifest.budget:
        manifest.budget.budget()
    check_same("a-run", manifest.own, [])
    manifest.planned(_SUITE)


def read_case(data: bytes) -> None:
    """A case.json, and all that a report takes of a case."""
    path = Path(rundir.CASE_FILE)
    manifest = rundir.parse_manifest(data, CaseManifest, path)
    case = rundir.check_case_manifest(manifest, manifest.id, path).case()
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


READERS: Mapping[str, Callable[[bytes], None]] = {
    "suite": read_suite,
    "implementation": read_implementation,
    "run": read_run,
    "case": read_case,
    "records": read_records,
    "trace": read_trace,
    "predicted": read_predicted,
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
