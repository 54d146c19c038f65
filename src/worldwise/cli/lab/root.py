# SPDX-License-Identifier: BSD-2-Clause
"""The group `worldwise lab`, and `build`, `drift`, `status`, `check`, `enter` and `clean`: a root, made and used."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import click

from worldwise.base import paths
from worldwise.base.disk import directory_size, space_text
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.help_screen import Group, echo_line
from worldwise.cli.common.options import locked_option, setting
from worldwise.lab import drift as drifting
from worldwise.lab import lock_differences
from worldwise.lab.debian.lock import File, differences, load_lock
from worldwise.lab.debian.sources import FROM_VARIABLE, KINDS
from worldwise.lab.lab import Lab, labs_in, open_lab, remove_labs
from worldwise.lab.roots import MAIN, ROOTS
from worldwise.lab.sandbox.identity import Confinement, confinement
from worldwise.lab.sandbox.lent_folders import lent
from worldwise.lab.sandbox.network import Bind


@click.group(cls=Group)
def lab() -> None:
    """The pinned Debian root that all is built and emulated in, and smaller ones, made when something needs them."""


root_argument = click.argument("name", default=MAIN, type=click.Choice(list(ROOTS)), metavar="[NAME]")
_WIDEST = max(map(len, ROOTS))
_NAMES = "\b\n" + "\n".join(f"{root.name:<{_WIDEST}} {root.purpose}" for root in ROOTS.values())


def listing_roots(function: Callable[..., None]) -> click.Command:
    """A command whose help ends with the list of roots."""
    return lab.command(after=_NAMES)(function)


@listing_roots
@root_argument
@click.option(
    "--all", "everything", is_flag=True, help="Also download the files that otherwise wait for their first use."
)
@click.option(
    "--from",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    help="Download from sources of this kind alone: the mirrors, the archive of snapshots, second sources; can be "
    "given again.",
)
@locked_option
@click.pass_context
def build(context: click.Context, name: str, everything: bool, kinds: tuple[str, ...]) -> None:
    """Download the packages of the lab, or of the root NAME, and make it if it is missing.

    The packages of measured machines are downloaded at their first use.

    \b
      worldwise lab build
      worldwise lab build --all
      worldwise lab build --all --from snapshots --locked
    """
    if kinds:
        setting(FROM_VARIABLE, " ".join(kinds), context)
    place = open_lab(name=name)
    built = place.ensure()
    if everything:
        place.fetch()
    if not built:
        safe_text.echo(f"{place.title} ({place.digest[:12]}) is up to date")
    # A lab that cannot be entered is of no use: this raises an error that says why.
    place.run(["true"])


@listing_roots
@root_argument
@click.option("--undo", is_flag=True, help="Go back to the lock: the next command makes the lab that it describes.")
def drift(name: str, undo: bool) -> None:
    """List the versions that the lab has in place of its lock's.

    A lab differs from its lock if files of the lock were gone from every source when it was made; --undo goes back to
    the lock. Exit status 1 if the lab differs.

    \b
      worldwise lab drift
      worldwise lab drift --undo
    """
    lock, cache = load_lock(ROOTS[name].lock), paths.cache_directory()
    title = "the lab" if name == MAIN else f"the root {name}"
    if undo:
        there = drifting.forget(cache, lock)
        safe_text.echo(f"{title} is that of the lock again" if there else f"{title} does not differ from the lock")
        return
    new = drifting.kept(cache, lock)
    if new is None:
        safe_text.echo(f"{title} does not differ from the lock")
        return
    for package, before, after in differences(lock, new):
        safe_text.echo(f"{package}: {before or '(new)'} -> {after or '(gone)'}")
    recipe = ROOTS[name].recipe
    safe_text.echo(f"{title}: {lock.digest(recipe)[:12]} -> {new.digest(recipe)[:12]}")
    safe_text.echo(lock_differences.whole(lock_differences.changes(lock, new)))
    sys.exit(1)


@lab.command()
def status() -> None:
    """Show what is built and downloaded, and its size. Exit status 1 if the lab is not usable.

    \b
      worldwise lab status
    """
    places = {name: open_lab(name=name) for name in ROOTS}
    place = places[MAIN]
    problem = place.problem()
    rows: list[tuple[str, str]] = []
    rows.append(("lab", f"{place.digest[:12]}"))
    rows.append(("SHA-256", place.digest))
    rows.append(("state", problem or "built"))
    if place.differing:
        rows.append(("lock", lock_differences.sentence(place.differing)))
    rows.append(("directory", str(place.directory)))
    if not problem:
        rows.append(("size", space_text(directory_size(place.root))))
    groups: list[tuple[str, Iterable[File]]] = [
        ("packages of the lab", place.lock.lab),
        ("packages of the target", place.lock.target),
        ("source files", [file for source in place.lock.sources for file in source.files]),
    ]
    rows += [(name, _downloaded(place, files)) for name, files in groups]
    for name, other in places.items():
        if name != MAIN:
            state = other.problem() or f"built, {space_text(directory_size(other.root))}"
            rows.append((f"root {name}", f"{other.digest[:12]}  {state}; {_downloaded(other, other.lock.lab)}"))
    known = {place.directory for place in places.values()}
    if others := [path for path in labs_in(place.cache) if path not in known]:
        size = space_text(sum(map(directory_size, others)))
        rows.append(("other labs", f"{len(others)}, {size}: `lab clean` removes them"))
    rows.append(("cache", f"{place.cache}, {space_text(directory_size(place.cache))}: `worldwise cache` lists parts"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        echo_line(f"{name:<{width}}  ", value)
    if problem:
        sys.exit(1)


def _downloaded(place: Lab, files: Iterable[File]) -> str:
    every = list(files)
    there = sum(place.store.has(file) for file in every)
    return f"{there} of {len(every)} files downloaded ({space_text(sum(file.size for file in every))} in all)"


@listing_roots
@root_argument
def check(name: str) -> None:
    """Hash every file of the lab and compare with what was made. Exit status 1 if one differs.

    Every start does a part of it. The next command that needs a damaged root makes it anew.

    \b
      worldwise lab check
    """
    place = open_lab(name=name)
    place.require()
    if not place.contents.listed and (problem := place.list_contents()):
        raise WorldwiseError(f"{place.title} is damaged: {problem}", "the next command that needs it makes it again")
    with safe_text.console(stderr=True).status("hashing") as shown:
        found = place.contents.verify(lambda done, of: shown.update(f"hashing: {space_text(done)} of {space_text(of)}"))
    for problem in found.problems:
        safe_text.echo(problem)
    verdict = f"{len(found.problems)} differ" if found.problems else "all are as they were made"
    safe_text.echo(
        f"{place.title} ({place.digest[:12]}): {found.files:,} files with {found.size:,} bytes, {found.links:,} links, "
        f"{found.seconds:.1f} s: {verdict}"
    )
    if found.problems:
        sys.exit(1)


# What stands behind the program is the program's own, whatever it looks like.
@lab.command(context_settings={"allow_interspersed_args": False})
@click.option("--network", is_flag=True, help="Let the lab see the network.")
@click.option(
    "--root",
    "name",
    default=MAIN,
    type=click.Choice(list(ROOTS)),
    metavar="NAME",
    help="Use this root instead of the lab: `worldwise lab build --help` lists them.",
)
@click.option(
    "--lend",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Let the program see only DIR, the current directory (.) or a folder in it, and own its files while it runs.",
)
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
def enter(argv: tuple[str, ...], network: bool, name: str, folders: tuple[Path, ...]) -> None:
    """Run ARGV (a shell if there is none) in the lab, with the current directory at /work.

    The program may do in that directory what you may. If you are root, the program runs as a user that owns nothing
    else on this host, the same one each time: it may read the directory, and write where the permissions let all users
    write. --lend . gives it the directory as its own, --lend DIR a folder of it. Arguments behind the program are its
    own.

    \b
      worldwise lab enter
      worldwise lab enter qemu-system-aarch64 --version
      worldwise lab enter --root tex --lend . pdflatex paper.tex
    """
    here = Path.cwd()
    lend = [folder.resolve() for folder in folders]
    for folder in lend:
        _check_lent(folder, here)
    place = open_lab(name=name)
    place.ensure()
    tty = sys.stdin.isatty()
    shown = {one: str(PurePosixPath("/work", one.relative_to(here))) for one in lend} or {here: "/work"}
    binds: list[Bind] = [(path, inside, "rw") for path, inside in shown.items()]
    if not lend and (problem := _out_of_reach(here, confinement(steady=True))):
        safe_text.echo(f"worldwise: {problem}", err=True)
    env = {"TERM": os.environ["TERM"]} if tty and "TERM" in os.environ else {}
    command = place.command(
        argv or ("bash",), binds=binds, chdir="/work", env=env, network=network, tty=tty, steady=True
    )
    with lent(lend, steady=True):
        code = subprocess.run(command, check=False).returncode
    if code != 0:
        # A program that fails has said why. If the lab cannot be entered at all, this raises an error that says why.
        place.run(["true"])
    sys.exit(code if code >= 0 else 128 - code)


def _check_lent(folder: Path, here: Path) -> None:
    """Raise an error for a folder that is not lent: one elsewhere, or one with what the host or the tool starts."""
    if folder != here and here not in folder.parents:
        raise click.UsageError(f"--lend {folder}: is not {here} or a folder of it")
    kept = {
        "the whole system": Path("/"),
        "your home folder": Path.home(),
        "worldwise": paths.REPOSITORY,
        "worldwise's cache": paths.cache_place(),
    }
    for what, path in kept.items():
        if path.resolve().is_relative_to(folder):
            raise WorldwiseError(
                f"--lend {folder}: {what} is in it, and programs in the lab could change that",
                "lend a folder with only the files that the program needs",
            )


def _out_of_reach(here: Path, who: Confinement) -> str:
    """What a program that runs as another user cannot do in the current directory, and the way out; or nothing."""
    if who.kind != "another user":
        return ""
    entry = here.stat()
    mode = entry.st_mode >> (6 if entry.st_uid == who.uid else 0)
    if mode & 0o7 == 0o7:
        return ""
    lacks = "write" if mode & 0o5 == 0o5 else "read or write" if not mode & 0o2 else "read"
    return f"{here}: the program runs as user {who.uid}, who may not {lacks} here; --lend . lends it this folder"


@lab.command()
@click.option("--all", "everything", is_flag=True, help="Remove the locked lab and roots and the downloads too.")
def clean(everything: bool) -> None:
    """Remove labs and roots that were made from another lock than today's.

    \b
      worldwise lab clean
    """
    places = [open_lab(name=name) for name in ROOTS]
    place = places[0]
    before = directory_size(place.cache)
    gone = remove_labs(places, everything)
    if not gone:
        safe_text.echo("nothing to remove")
        return
    names = ", ".join(str(path.relative_to(place.cache)) for path in gone)
    safe_text.echo(f"removed {names}: {space_text(max(0, before - directory_size(place.cache)))} freed")
