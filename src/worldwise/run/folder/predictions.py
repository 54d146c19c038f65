# SPDX-License-Identifier: BSD-2-Clause
"""Predictions in a run's folder: a file for each core, written once."""

import os
from pathlib import PurePath

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.records.model_predictions import MOST_BYTES, Predicted, parse_predicted
from worldwise.run.folder.rundir import Run

_BEGIN, _END = "predicted-", ".json"


def store(run: Run, predicted: Predicted) -> None:
    """Writes a core's predictions. Raises WorldwiseError if the run has other ones of this core: none is rewritten."""
    name = PurePath(f"{_BEGIN}{predicted.core}{_END}")
    content = f"{predicted.model_dump_json(indent=1)}\n".encode()
    try:
        if os.path.lexists(run.path / name):
            if files.read_bytes(run.path / name, MOST_BYTES, run.path) == content:
                return
            raise WorldwiseError(
                f"run {run.id} has predictions of {predicted.core} that differ, and worldwise rewrites none",
                "the model has changed since: make a new run, or let `worldwise predict` show these",
            )
        files.write_whole(run.path, name, content)
    except OSError as error:
        raise WorldwiseError(f"{run.path / name}: could not be written: {error.strerror or error}.") from error


def load(run: Run) -> tuple[Predicted, ...]:
    """The predictions of a run, by core. Raises WorldwiseError naming a wrong file, or one of another run."""
    found = []
    for path in sorted(run.path.glob(f"{_BEGIN}*{_END}")):
        try:
            predicted = parse_predicted(files.read_bytes(path, MOST_BYTES, run.path), path)
        except OSError as error:
            raise WorldwiseError(f"{path}: cannot be read: {files.quoted(error.strerror or str(error))}") from None
        if path.name != f"{_BEGIN}{predicted.core}{_END}":
            raise WorldwiseError(f"{path}: it has the predictions of {predicted.core}, not those of its name.")
        for one in predicted.cases:
            if one.case not in run.manifest.cases:
                raise WorldwiseError(f"{path}: the run has no case '{files.quoted(one.case)}'.")
        found.append(predicted)
    return tuple(found)
