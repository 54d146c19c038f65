# SPDX-License-Identifier: BSD-2-Clause
"""The attempts to tamper with a stored object; guest/apps/faults/linux/tamper.c makes them. What outcomes call them."""

from collections.abc import Mapping
from typing import NamedTuple


class _Tried(NamedTuple):
    """One attempt.

    Attributes:
        label: its name in tables.
        storages: the storages that have what it changes.
        later: whether it is tried after a restart too; attempts on messages are not.
    """

    label: str
    storages: tuple[str, ...]
    later: bool = True


_ALL = ("ree", "ree-rpmb", "rpmb")
_FILES = ("ree", "ree-rpmb")
_CHIP = ("ree-rpmb", "rpmb")

# In the order of the tables; they are tried in the same order.
_ATTEMPTS: Mapping[str, _Tried] = {
    "none": _Tried("nothing is touched", _ALL),
    "other-reads": _Tried("another TA asks for the object", _ALL),
    "flip-data": _Tried("bit flipped: block in use", _FILES),
    "flip-unused": _Tried("bit flipped: block's unused copy", _FILES),
    "flip-node": _Tried("bit flipped: hash tree's root node", _FILES),
    "flip-header": _Tried("bit flipped: file's header", _FILES),
    "flip-directory": _Tried("bit flipped: directory (dirf.db)", _FILES),
    "flip-directory-header": _Tried("bit flipped: directory's header", _FILES),
    "truncate-object": _Tried("object's file cut to half", _FILES),
    "truncate-directory": _Tried("directory cut to half", _FILES),
    "delete-object": _Tried("object's file deleted", _FILES),
    "delete-directory": _Tried("directory deleted", _FILES),
    "delete-files": _Tried("all files deleted", _FILES),
    "swap-blocks": _Tried("blocks of two objects swapped", _FILES),
    "swap-files": _Tried("files of two objects swapped", _FILES),
    "other-file": _Tried("file of another TA's object put there", _FILES),
    "rollback-object": _Tried("older copy put back: object's file", _FILES),
    "rollback-directory": _Tried("older copy put back: directory", _FILES),
    "rollback-files": _Tried("older copy put back: all files", _FILES),
    "wire-flip-answer": _Tried("message: bit flipped in an answer", _CHIP, later=False),
    "wire-old-answer": _Tried("message: older answer given again", _CHIP, later=False),
    "wire-flip-request": _Tried("message: bit flipped in a write", _CHIP, later=False),
    "wire-old-request": _Tried("message: older write sent again", _CHIP, later=False),
    "chip-flip-data": _Tried("chip: bit flipped in the data", _CHIP),
    "chip-flip-entry": _Tried("chip: bit flipped in the table of files", _CHIP),
    "chip-remove-entry": _Tried("chip: entry of the file cleared", _CHIP),
    "chip-erase": _Tried("chip: all blocks erased", _CHIP),
    "chip-swap": _Tried("chip: data of two objects swapped", ("rpmb",)),
    "chip-rollback-blocks": _Tried("chip: older blocks put back", _CHIP),
    "chip-rollback": _Tried("chip: older blocks and counter put back", _CHIP),
    "rollback-all": _Tried("older copy put back: files and chip", ("ree-rpmb",)),
}

# The attempts' names in tables.
LABELS: Mapping[str, str] = {name: tried.label for name, tried in _ATTEMPTS.items()}
# Storage -> the attempts on it.
ATTEMPTS: Mapping[str, tuple[str, ...]] = {
    storage: tuple(name for name, tried in _ATTEMPTS.items() if storage in tried.storages) for storage in _ALL
}
# Attempts that are tried only in the boot that wrote the object.
AT_ONCE = tuple(name for name, tried in _ATTEMPTS.items() if not tried.later)

# A case's further outcomes: each stored state of a write; an attempt to tamper, and the same after a restart.
STORED = "stored"
AFTER_RESTART = ", after a restart"


def label_of(what: str) -> str:
    """An attempt's name in tables, whether or not it was tried after a restart; an unknown one as it is."""
    return LABELS.get(what.removesuffix(AFTER_RESTART), what)
