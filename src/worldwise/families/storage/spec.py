# SPDX-License-Identifier: BSD-2-Clause
"""Secure storage: an access to an object in each kind of storage, beside a plain file in Linux."""

from collections.abc import Mapping

from worldwise.base.units import parse_size, size_text
from worldwise.plan.parameters import LOAD, SIZE, STORAGE, TICKS, action
from worldwise.plan.spec import IN_TEE, LINUX, OPTEE, App, Operation, Parameter, Spec

# The possible sizes of an object or a file: see guest/apps/storage/access.c.
STORAGE_LEAST, STORAGE_MOST = 32, 2**20
# What the device has that tee-supplicant emulates, and the largest object, in whole KiB, that was found to fit: by
# action, of which some need room for the object twice, since RPMB's file system writes the new one beside the old one,
# and enumerating is tried with three. Beside it are three objects of a block each.
RPMB_DEVICE = 256 * 1024
RPMB_MOST = {"": 252 * 1024, "overwrite": 126 * 1024, "append": 126 * 1024, "enumerate": 84 * 1024}

_ACTION = action("create", "read", "overwrite", "append", "rename", "enumerate", "delete")
_SYNC = Parameter("sync", "syncs", ("none", "fsync"), "none")


def _size_problem(operation: str, given: Mapping[str, str]) -> str:
    if STORAGE_LEAST <= parse_size(given["size"]) <= STORAGE_MOST:
        return ""
    allowed = f"{size_text(STORAGE_LEAST)} to {size_text(STORAGE_MOST)}"
    return f"size {given['size']} is out of range for '{operation}'. Allowed: {allowed}."


def _object_problem(_target: str, given: Mapping[str, str]) -> str:
    return _size_problem("storage", given)


def _file_problem(_target: str, given: Mapping[str, str]) -> str:
    if problem := _size_problem("file", given):
        return problem
    if given.get("sync") == "fsync" and given["action"] in ("read", "enumerate"):
        return f"'{given['action']}' writes nothing that sync=fsync could bring to the disk."
    return ""


def _reason(_target: str, _implementation: str, given: Mapping[str, str]) -> str:
    """Why an object cannot be stored, without a full stop; empty if it can."""
    if given.get("storage") != "rpmb":
        return ""
    return too_large(given["action"], parse_size(given["size"]))


def too_large(action: str, size: int) -> str:
    """Why RPMB has no room for an action on an object of so many bytes, without a full stop; empty if it has."""
    most = RPMB_MOST.get(action, RPMB_MOST[""])
    if size <= most:
        return ""
    return (
        f"an object of {size_text(size)} is too large to {action} in RPMB: tee-supplicant's device has "
        f"{size_text(RPMB_DEVICE)}, enough for {size_text(most)}"
    )


SPEC = Spec(
    operations=(
        Operation(
            "storage",
            {OPTEE: {"access": IN_TEE}},
            {OPTEE: (SIZE, LOAD, TICKS, STORAGE, _ACTION)},
            _object_problem,
            _reason,
            app="storage",
        ),
        Operation(
            "file",
            {LINUX: {"access": ("linux",)}},
            {LINUX: (SIZE, LOAD, _ACTION, _SYNC)},
            _file_problem,
            app="storage",
        ),
    ),
    apps={"storage": App("a1f5c2de-0004-4b1c-9a3e-73746f726500")},
)
