# SPDX-License-Identifier: BSD-2-Clause
"""`--stack` and `worldwise stack`: the user's own OP-TEE, TF-A settings and words of Linux's command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.progress import Notes
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import open_lab
from worldwise.lab.sandbox.identity import require_confinement
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.own_library import own_libraries
from worldwise.libraries.stacks import copies, stack
from worldwise.libraries.stacks.config import config_of, differing, require_settings
from worldwise.libraries.stacks.stack import BroughtStack
from worldwise.plan.case import Case
from worldwise.plan.spec import LINUX, TEE_TARGETS
from worldwise.report.formats.printed_sections import print_section
from worldwise.targets import optee_images
from worldwise.targets.guest import kernel


def _store() -> Path:
    return paths.cache_directory() / "own"


def use(file: Path | None) -> list[BroughtStack]:
    """Use a stack until the command ends; nothing for None. Raises WorldwiseError as `stack.bring` does."""
    if file is None:
        return []
    require_confinement(f"the stack {file}")
    return _used(copies.bring(file, _store()))


def use_kept(digest: str) -> list[BroughtStack]:
    """Use the stack of an earlier run until the command ends. Raises WorldwiseError if the cache no longer has it."""
    return _used(copies.kept(digest, _store()))


def _used(brought: BroughtStack | None) -> list[BroughtStack]:
    click.get_current_context().with_resource(stack.used(brought))
    return [brought] if brought else []


def require_part(used: BroughtStack, cases: Sequence[Case]) -> None:
    """Refuse cases in which a stack has no part, or which it cannot have. Raises WorldwiseError."""
    if not any(case.target in TEE_TARGETS for case in cases):
        raise WorldwiseError(f"{used.origin}: no case that was chosen runs on the machine with OP-TEE")
    for case in cases if used.by_clang and not used.tree else ():
        if case.target == LINUX:
            raise WorldwiseError(
                f"{used.origin}: {case.id} is OP-TEE's library in Linux, which GCC alone compiles, and this stack has "
                "clang",
                "choose what runs in the TEE: --target optee",
            )
    for case in cases if used.tree else ():
        if case.target == LINUX:
            raise WorldwiseError(
                f"{used.origin}: {case.id} is OP-TEE's library in Linux, which is built of 4.10.0's files alone, and "
                "this stack has a source of its own",
                "choose what runs in the TEE: --target optee",
            )
        changes = case.implementation in IMPLEMENTATIONS and IMPLEMENTATIONS[case.implementation].changes
        if changes or ("optee", optee_images.LEAN) in case.parameters:
            raise WorldwiseError(
                f"{used.origin}: {case.id} changes OP-TEE 4.10's source, and this stack has a source of its own",
                "choose other variants: --variant mbedtls-nist-O2",
            )


@click.group("stack")
def stack_group() -> None:
    """Check your own stack: an OP-TEE, its settings and patches, settings of TF-A, words for Linux."""


@stack_group.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--build", is_flag=True, help="Build its OP-TEE too (mbedtls-nist-O2), and check each setting's effect.")
def check(file: Path, build: bool) -> int:
    """Say how worldwise reads a stack's FILE, and what its first run builds.

    \b
      worldwise stack check my-stack.toml
      worldwise stack check my-stack.toml --build

    \f
    It applies the patches and looks for the names of settings in OP-TEE's source; --build says which settings of OP-TEE
    then differ from the lab's.

    Exit status: 0 the stack can be used; 2 it cannot, and why.
    """
    notes = Notes()
    lab = open_lab(notes.console)
    lab.ensure()
    lab.require_entry()
    images = ImageStore(lab, notes.note)
    (brought,) = use(file)
    for word in stack.words(brought.stack, brought.revision):
        safe_text.echo(f"{word}")
    with own_libraries.told(""):
        optee_images.require_understood(brought, images)
    if brought.by_clang and not build:
        safe_text.echo("to build for a variant: OP-TEE by clang, in a root of its own; --build builds it now")
        safe_text.echo(f"the stack can be used; its digest is {brought.digest[:12]}")
        return 0
    with own_libraries.told(""):
        core = optee_images.optee(optee_images.APP_CORE, "O2", notify=notes.note)
    wanted = (optee_images.firmware(), kernel(), core)
    left = list(dict.fromkeys(each.name for recipe in wanted for each in images.unbuilt(recipe)))
    safe_text.echo(f"to build for a variant: {', '.join(left)}" if left else "all that a variant needs is built")
    if build:
        with own_libraries.told(""):
            made = images.get_all(wanted)
        require_settings(brought, made[-1].directory)
        _tell_settings(images, config_of(made[-1].directory))
    safe_text.echo(f"the stack can be used; its digest is {brought.digest[:12]}")
    return 0


def _tell_settings(images: ImageStore, found: Mapping[str, str]) -> None:
    with stack.used(None):
        theirs = images.get(optee_images.optee(optee_images.APP_CORE, "O2"))
    rows = [list(row) for row in differing(config_of(theirs.directory), found)]
    if rows:
        table = Table(["setting", "the lab's", "this stack's"], rows, 3)
        print_section(Section("Settings of OP-TEE that differ", table, []), safe_text.console())
    else:
        safe_text.echo("no setting of OP-TEE differs from the lab's")
