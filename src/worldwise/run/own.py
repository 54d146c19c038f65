# SPDX-License-Identifier: BSD-2-Clause
"""A user's library in a run: what the run keeps of it, and the check that a resumed run has the same library."""

from collections.abc import Sequence

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.own import Brought
from worldwise.run.manifests import OwnEntry


def entry_of(own: Brought) -> OwnEntry:
    """The entry that a run keeps for a user's library."""
    return OwnEntry(name=own.name, manifest=own.text, digest=own.digest, files=dict(own.files))


def check_same(run: str, recorded: Sequence[OwnEntry], brought: Sequence[Brought]) -> None:
    """Refuse to resume a run unless the user's libraries are here, unchanged. Raises WorldwiseError."""
    here = {own.name: own for own in brought}
    for entry in recorded:
        own = here.pop(entry.name, None)
        if own is None:
            raise WorldwiseError(
                f"run {run} measures '{files.quoted(entry.name)}', a library of the user's own that is not here",
                "say where it is: worldwise run --resume --implementation DIR",
            )
        if own.digest != entry.digest:
            changed = [
                name for name in sorted({*own.files, *entry.files}) if own.files.get(name) != entry.files.get(name)
            ]
            raise WorldwiseError(
                f"{own.origin}: has changed since run {run} was begun ({', '.join(map(files.quoted, changed[:5]))}"
                f"{' and others' if len(changed) > 5 else ''}): two versions must not stand in one run",
                "start a new run",
            )
    for name in here:
        raise WorldwiseError(f"run {run} was begun without '{name}'", "start a new run with it")
