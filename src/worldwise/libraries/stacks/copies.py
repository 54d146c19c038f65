# SPDX-License-Identifier: BSD-2-Clause
"""A user's own stack as a folder of the cache: its file, and copies of all that the file names."""

import re
import tempfile
from pathlib import Path

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.toml import toml_model
from worldwise.libraries.own_library.folder_copy import copy_folder
from worldwise.libraries.stacks import provenance
from worldwise.libraries.stacks.stack import MANIFEST, PATCHES, STACK, TREE, BroughtStack, current, kernel_file, parse

_MOST_PATCH = 4 * 2**20
_MOST_KERNEL = 200 * 2**20
# How a Debian package begins.
_PACKAGE = b"!<arch>\ndebian-binary"


def kept(digest: str | None, store: Path) -> BroughtStack | None:
    """The cache's copy of the stack that an earlier run measured; None of a run that measured the lab's own.

    Raises WorldwiseError if there is none, or if it is spoilt: with another stack other instructions would be told.
    """
    if digest is None:
        return None
    for brought in filter(None, (current(), *(map(load, store.glob(f"{STACK}-{digest[:12]}"))))):
        if brought.digest == digest:
            return brought
    raise WorldwiseError(
        f"the cache no longer has the stack {files.quoted(digest[:12])} that was measured",
        "measure it again: worldwise run --stack FILE",
    )


def bring(file: Path, store: Path) -> BroughtStack:
    """Copy a stack and all that its file names into the cache's folder of own things.

    Raises WorldwiseError naming file, line and key for a value that it cannot have, and the file for a patch or a
    source that cannot be read.
    """
    text = toml_model.read_text(file, STACK)
    stack = parse(text, file)
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store, prefix=".copying-") as work:
        folder = Path(work, "stack")
        folder.mkdir()
        (folder / MANIFEST).write_text(text, encoding="utf-8")
        if stack.optee.patches:
            (folder / PATCHES).mkdir()
        for number, name in enumerate(stack.optee.patches, 1):
            _copy_patch(file, name, folder / PATCHES / f"{number:04}-{_plain(Path(name).name)}")
        for number, name in enumerate(stack.linux.packages, 1):
            _copy_kernel(file, name, folder / kernel_file(number))
        revision = ""
        if stack.optee.source:
            source = file.parent / stack.optee.source
            if not source.is_dir():
                raise WorldwiseError(
                    f"{file}: optee.source: there is no folder {source}",
                    "a source's path is relative to this file; without the line, OP-TEE is the lab's",
                )
            if not (source / "core" / "arch" / "arm").is_dir():
                raise WorldwiseError(
                    f"{file}: optee.source: {source} is no source of OP-TEE OS: it has no folder core/arch/arm",
                    "name the folder that has OP-TEE's Makefile",
                )
            revision = provenance.commit_of(source)
            copied, _ = copy_folder(source, TREE, Path(work, "copied"))
            copied.rename(folder / TREE)
        copy, listed = copy_folder(folder, STACK, store)
    return BroughtStack(stack, copy, file, text, listed, revision)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[-100:]


def _copy_patch(file: Path, name: str, target: Path) -> None:
    path = file.parent / name
    try:
        content = files.read_bytes(path, _MOST_PATCH)
    except OSError as error:
        raise WorldwiseError(
            f"{file}: optee.patches: {path} cannot be read: {error.strerror}", "a patch's path is relative to this file"
        ) from error
    if b"\n+++ " not in content and not content.startswith(b"+++ "):
        raise WorldwiseError(
            f"{file}: optee.patches: {path} is no unified diff: it has no line that begins with '+++'",
            "`git format-patch` and `git diff` write such files",
        )
    target.write_bytes(content)


def _copy_kernel(file: Path, name: str, target: Path) -> None:
    path = file.parent / name
    try:
        files.copy(path, target, _MOST_KERNEL)
    except OSError as error:
        raise WorldwiseError(
            f"{file}: linux.package: {path} cannot be read: {error.strerror}",
            "a package's path is relative to this file; without the line, Linux is the lab's",
        ) from error
    with target.open("rb") as copied:
        if copied.read(len(_PACKAGE)) != _PACKAGE:
            raise WorldwiseError(
                f"{file}: linux.package: {path} is no Debian package",
                "`apt-get download linux-image-VERSION-cloud-arm64:arm64` fetches one, `make bindeb-pkg` in a kernel's "
                "folder makes one",
            )


def load(folder: Path) -> BroughtStack:
    """The stack in a folder of the cache. Raises WorldwiseError if it is spoilt."""
    path = folder / MANIFEST
    text = toml_model.read_text(path, STACK, folder)
    copy, listed = copy_folder(folder, STACK, folder.parent)
    return BroughtStack(parse(text, path), copy, path, text, listed)
