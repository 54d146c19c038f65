# SPDX-License-Identifier: BSD-2-Clause
"""The commit of a user's tree: found without anything of the tree's being run, and kept with the run."""

import shutil
import subprocess
from pathlib import Path

import pytest

from worldwise.libraries.stacks import copies, stack
from worldwise.libraries.stacks.provenance import commit_of, short
from worldwise.run.folder.manifests import OwnEntry
from worldwise.run.folder.own_entries import entry_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(tree: Path, *words: str) -> str:
    own = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *own, *words], cwd=tree, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one commit that has a folder of OP-TEE's."""
    made = tmp_path / "tree"
    (made / "core" / "arch" / "arm").mkdir(parents=True)
    (made / "core" / "arch" / "arm" / "sub.mk").write_text("srcs-y += a.c\n")
    (made / "Makefile").write_text("all:\n")
    (made / ".gitignore").write_text("out/\n")
    git(made, "init", "-q", "-b", "main")
    git(made, "add", ".")
    git(made, "commit", "-q", "-m", "first")
    return made


def test_commit_and_changed_files_are_told(tree: Path) -> None:
    commit = git(tree, "rev-parse", "HEAD")
    assert commit_of(tree) == f"{commit}, no file differs"
    assert short(commit_of(tree)) == commit[:12]
    (tree / "out").mkdir()
    (tree / "out" / "ignored").write_text("")
    assert commit_of(tree) == f"{commit}, no file differs"
    (tree / "Makefile").write_text("all: more\n")
    (tree / "new.c").write_text("")
    assert commit_of(tree) == f"{commit}, 2 files differ: Makefile, new.c"
    assert short(commit_of(tree)) == f"{commit[:12]}, 2 files differ: Makefile, new.c"
    for number in range(3):
        (tree / f"other{number}.c").write_text("")
    assert commit_of(tree).endswith("5 files differ: Makefile, new.c, other0.c and 2 more")


def test_a_staged_change_differs_too(tree: Path) -> None:
    (tree / "Makefile").write_text("all: more\n")
    git(tree, "add", ".")
    assert commit_of(tree).endswith(", 1 file differs: Makefile")


def test_packed_branches_a_detached_head_and_a_second_work_tree_are_read(tree: Path, tmp_path: Path) -> None:
    commit = git(tree, "rev-parse", "HEAD")
    git(tree, "pack-refs", "--all")
    assert commit_of(tree).startswith(commit)
    git(tree, "worktree", "add", "-q", str(tmp_path / "second"))
    assert commit_of(tmp_path / "second") == f"{commit}, no file differs"
    git(tree, "checkout", "-q", "--detach")
    git(tree, "gc", "-q")
    assert commit_of(tree) == f"{commit}, no file differs"


def test_nothing_that_the_tree_names_is_run(tree: Path, tmp_path: Path) -> None:
    """If this fails, a stranger's tree runs a program of its choice on the user's machine, outside the sandbox."""
    mark = tmp_path / "was-run"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process", "core.sshCommand"):
        git(tree, "config", key, str(program))
    git(tree, "config", "core.hooksPath", str(tmp_path))
    for hook in ("post-index-change", "fsmonitor-watchman"):
        shutil.copy(program, tmp_path / hook)
    (tree / ".gitattributes").write_text("* filter=x\n")
    (tree / "Makefile").write_text("all: more\n")
    assert commit_of(tree).endswith("2 files differ: .gitattributes, Makefile")
    assert not mark.exists()
    # It does run if git reads the tree's own configuration.
    subprocess.run(["git", "status"], cwd=tree, check=False, capture_output=True)
    assert mark.exists()


def test_another_repository_is_not_looked_into(tree: Path, tmp_path: Path) -> None:
    """If this fails, a stranger's tree makes a run name files of another repository of the user's."""
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text(f"gitdir: {tree / '.git'}\n")
    assert commit_of(stranger) == ""
    (stranger / ".git").unlink()
    (stranger / ".git").symlink_to(tree / ".git")
    assert commit_of(stranger) == ""


@pytest.mark.parametrize(
    ("head", "ref"),
    [
        ("", ""),
        ("ref: refs/heads/none", ""),
        ("ref: refs/heads/../../../Makefile", ""),
        ("ref: refs/heads/main", "no commit"),
        ("f" * 39, ""),
        ("\xff", ""),
    ],
)
def test_a_folder_that_git_did_not_make_so_has_no_commit(head: str, ref: str, tree: Path) -> None:
    (tree / ".git" / "HEAD").write_bytes(head.encode("latin-1"))
    if ref:
        (tree / ".git" / "refs" / "heads" / "main").write_text(ref)
    assert commit_of(tree) == ""


def test_a_commit_that_is_not_there_leaves_the_difference_unknown(tree: Path) -> None:
    (tree / ".git" / "HEAD").write_text("e" * 40)
    assert commit_of(tree) == f"{'e' * 40}, unknown whether files differ"
    (tree / ".git" / "index").write_text("no index")
    assert commit_of(tree) == f"{'e' * 40}, unknown whether files differ"


def test_a_run_keeps_the_commit(tree: Path, tmp_path: Path) -> None:
    file = tmp_path / "my-stack.toml"
    file.write_text('[optee]\nsource = "tree"\n')
    brought = copies.bring(file, tmp_path / "store")
    entry = entry_of(brought)
    assert entry.revision == commit_of(tree)
    assert stack.words(brought.stack, entry.revision) == (f"OP-TEE from tree ({entry.revision[:12]})",)
    assert ".git/HEAD" not in brought.files
    # Another commit with the same files is the same stack.
    git(tree, "commit", "-q", "--allow-empty", "-m", "second")
    again = copies.bring(file, tmp_path / "store")
    assert again.digest == brought.digest
    assert again.revision != brought.revision
    # What has none is as older versions wrote it.
    assert "revision" not in OwnEntry(name="a", manifest="", digest="0" * 64, files={}).model_dump()
