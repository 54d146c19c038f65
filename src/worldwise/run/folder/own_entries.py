# SPDX-License-Identifier: BSD-2-Clause
"""A user's library in a run: what the run keeps of it, and the check that a resumed run has the same library."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.stacks import stack
from worldwise.run.folder.manifests import RUN_FILE, OwnEntry
from worldwise.run.folder.rundir import Run

if TYPE_CHECKING:
    from worldwise.libraries.own_library.own_libraries import Brought


def entry_of(own: "Brought") -> OwnEntry:
    """The entry that a run keeps for a user's library."""
    revision = own.revision if isinstance(own, stack.BroughtStack) else ""
    return OwnEntry(name=own.name, manifest=own.text, digest=own.digest, files=dict(own.files), revision=revision)


def stack_of(run: Run) -> OwnEntry | None:
    """What a run keeps of its stack; None if that is the lab's."""
    return next((entry for entry in run.manifest.own if entry.name == stack.STACK), None)


def stack_words(run: Run) -> tuple[str, ...]:
    """What the stack of a run has for the lab's, a few words each; none if it is the lab's. Raises WorldwiseError."""
    entry = stack_of(run)
    return stack.words(stack.parse(entry.manifest, run.path / RUN_FILE), entry.revision) if entry else ()


def libraries_of(run: Run) -> list[OwnEntry]:
    """The libraries among what a run has of the user's own: neither a stack nor own code."""
    # It loads the lab, which most reports do without.
    from worldwise.libraries.own_code import MANIFEST

    return [entry for entry in run.manifest.own if entry.name != stack.STACK and MANIFEST not in entry.files]


def check_same(run: str, recorded: Sequence[OwnEntry], brought: "Sequence[Brought]") -> None:
    """Refuse to resume a run unless the user's libraries are here, unchanged. Raises WorldwiseError."""
    here = {own.name: own for own in brought}
    for entry in recorded:
        if entry.name == stack.STACK:
            # It comes from the cache, by its digest.
            continue
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
                f"{' and others' if len(changed) > 5 else ''}): one run must not mix two versions",
                "start a new run",
            )
    for name in here:
        raise WorldwiseError(f"run {run} was begun without '{name}'", "start a new run with it")
