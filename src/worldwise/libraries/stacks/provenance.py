# SPDX-License-Identifier: BSD-2-Clause
"""The commit of a user's tree, and whether its files differ from it, without running anything that the tree names.

A repository's own configuration can name programs that git runs: hooks, filters, a file system monitor. So git never
reads it here. It looks at the tree through an empty repository of our own, which borrows the tree's objects and a copy
of its index.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from worldwise.base import files

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/[A-Za-z0-9_./+-]{1,200})")
_GIT_FOLDER = re.compile(r"gitdir: (.{1,1000})")
_MOST_TEXT, _MOST_PACKED, _MOST_INDEX = 4096, 16 * 2**20, 64 * 2**20
# Seconds that git may take to compare a tree with its commit.
_PATIENCE = 60
# Changed files that are named.
_MOST_NAMED = 3


def commit_of(tree: Path) -> str:
    """The commit of a tree and what differs from it, `COMMIT` or `COMMIT, 2 files differ: a.c, b.c`.

    Empty for a tree without git's folder, and for one whose folder is not as git makes it.
    """
    try:
        folder = _git_folder(tree)
        shared = _shared(folder)
        commit = _head(folder, shared)
    except (OSError, ValueError):
        return ""
    return f"{commit}, {_difference(tree, folder, shared, commit)}" if commit else ""


def short(commit: str) -> str:
    """The same with as much of the commit as people read."""
    name, _, difference = commit.partition(", ")
    return f"{name[:12]}, {difference}" if difference and difference != _SAME else name[:12]


_SAME = "no file differs"


def _text(path: Path, most: int = _MOST_TEXT) -> str:
    return files.read_bytes(path, most).decode("ascii").strip()


def _git_folder(tree: Path) -> Path:
    """Git's folder of a tree: in it, or of a second work tree where the file in its place says."""
    found = tree / ".git"
    if found.is_symlink():
        raise ValueError("another folder's")
    if not found.is_file():
        return found
    named = _GIT_FOLDER.fullmatch(_text(found))
    folder = tree / (named[1] if named else "")
    # It names the tree too, or a stranger's tree could have the files of another repository of the user's listed.
    if not named or Path(_text(folder / "gitdir")).resolve() != found.resolve():
        raise ValueError("another tree's")
    return folder


def _shared(folder: Path) -> Path:
    """The folder with the objects and branches: another one for a second work tree."""
    named = folder / "commondir"
    return folder / _text(named) if named.is_file() else folder


def _head(folder: Path, shared: Path) -> str:
    """The commit that is checked out; empty if there is none yet."""
    head = _text(folder / "HEAD")
    if not (ref := _REF.fullmatch(head)):
        return head if _COMMIT.fullmatch(head) else ""
    if ".." in ref[1]:
        return ""
    if (loose := shared / ref[1]).is_file():
        name = _text(loose)
    else:
        packed = _text(shared / "packed-refs", _MOST_PACKED).splitlines()
        name = next((line.partition(" ")[0] for line in packed if line.partition(" ")[2] == ref[1]), "")
    return name if _COMMIT.fullmatch(name) else ""


def _difference(tree: Path, folder: Path, shared: Path, commit: str) -> str:
    """What of the tree's files differs from the commit, in words."""
    with tempfile.TemporaryDirectory(prefix="ww-commit-") as work:
        ours = Path(work, "git")
        try:
            for name in ("objects/info", "refs"):
                (ours / name).mkdir(parents=True)
            (ours / "HEAD").write_text(f"{commit}\n", encoding="ascii")
            objects = (shared / "objects").resolve(strict=True)
            (ours / "objects" / "info" / "alternates").write_text(f"{objects}\n", encoding="utf-8")
            files.copy(folder / "index", ours / "index", _MOST_INDEX, folder.resolve())
            answer = _status(ours, tree)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return "unknown whether files differ"
    if answer.returncode:
        return "unknown whether files differ"
    names = sorted(os.fsdecode(entry[3:]) for entry in answer.stdout.split(b"\0") if entry[3:])
    if not names:
        return _SAME
    named = ", ".join(files.quoted(name) for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{len(names)} {'file differs' if len(names) == 1 else 'files differ'}: {named}{more}"


def _status(ours: Path, tree: Path) -> "subprocess.CompletedProcess[bytes]":
    """What git says of the tree, with no configuration but what stands here."""
    git = shutil.which("git")
    if git is None:
        raise OSError("no git")
    settings = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.bare=false")
    return subprocess.run(
        [
            git,
            *(word for setting in settings for word in ("-c", setting)),
            f"--git-dir={ours}",
            f"--work-tree={tree.resolve()}",
            *("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files=all"),
        ],
        cwd=ours,
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(ours),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PATIENCE,
        check=False,
    )
