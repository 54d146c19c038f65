# SPDX-License-Identifier: BSD-2-Clause
"""What models of cores said of a case, in the cache: making it anew reads a trace, which takes seconds."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock
from pydantic import TypeAdapter, ValidationError

from worldwise.base import files
from worldwise.base.files import file_sha256
from worldwise.base.json_model import parse_json
from worldwise.lab.cache_locks import mark_used
from worldwise.lab.image import MOST_MANIFEST, check_files
from worldwise.records.model_predictions import MOST_BYTES, PredictedCase

_MANIFEST, _FILE = "modelled.json", "predicted.json"
_CASES = TypeAdapter(dict[str, PredictedCase])


class ModelStore:
    """A case's cycles by core, each at an address that covers everything that decides them.

    Args:
        cache: the user's cache; they are among its traces, of which they are made.
    """

    def __init__(self, cache: Path) -> None:
        self.directory = cache / "traces"

    def get(self, digest: str) -> Mapping[str, PredictedCase] | None:
        """What is at an address; None if there is nothing, or if it is damaged."""
        directory = self.directory / digest[:16]
        try:
            manifest = parse_json(files.read_bytes(directory / _MANIFEST, MOST_MANIFEST, directory))
            if manifest["digest"] != digest or check_files(directory, manifest["files"]):
                return None
            found = _CASES.validate_json(files.read_bytes(directory / _FILE, MOST_BYTES, directory))
        except (OSError, ValueError, ValidationError, KeyError, TypeError, AttributeError):
            return None
        mark_used(directory)
        return found

    def put(self, digest: str, found: Mapping[str, PredictedCase]) -> None:
        """Keep what the models said, in place of what is at the address."""
        self.directory.mkdir(parents=True, exist_ok=True)
        final = self.directory / digest[:16]
        with (
            FileLock(self.directory / f".{digest[:16]}.lock"),
            tempfile.TemporaryDirectory(dir=self.directory, prefix=".watching-") as work,
        ):
            made = Path(work) / "made"
            made.mkdir()
            (made / _FILE).write_bytes(_CASES.dump_json(dict(found)))
            kept = {"digest": digest, "files": {_FILE: file_sha256(made / _FILE)}}
            (made / _MANIFEST).write_text(json.dumps(kept) + "\n", encoding="utf-8")
            shutil.rmtree(final, ignore_errors=True)
            made.rename(final)
