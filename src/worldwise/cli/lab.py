# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab`: the pinned Debian root everything is built and emulated in."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console

from worldwise import debian, paths
from worldwise.errors import WorldwiseError
from worldwise.lab import Bind, Lab, directory_size, labs_in, open_lab, remove_labs


def _size(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


@click.group()
def lab() -> None:
    """The pinned Debian root that everything is built and emulated in."""


@lab.command()
def build() -> None:
    """Download the locked packages and make the lab; nothing to do if it is there and whole."""
    place = open_lab()
    if not place.ensure():
        click.echo(f"lab {place.digest[:12]} is up to date")
    # What cannot be entered is not of use, and this is the time to say so.
    place.run(["true"])


@lab.command()
def status() -> None:
    """Show what is built and downloaded, and its size. Exit status 1 if the lab is not usable."""
    place = open_lab()
    problem = place.problem()
    rows: list[tuple[str, str]] = []
    rows.append(("lab", f"{place.digest[:12]}  (SHA-256 {place.digest})"))
    rows.append(("state", problem or "built"))
    rows.append(("directory", str(place.directory)))
    if not problem:
        rows.append(("size", _size(directory_size(place.root))))
    groups: list[tuple[str, Iterable[debian.File]]] = [
        ("packages of the lab", place.lock.lab),
        ("packages of the target", place.lock.target),
        ("source files", [file for source in place.lock.sources for file in source.files]),
    ]
    for name, files in groups:
        every = list(files)
        there = sum(place.store.has(file) for file in every)
        total = _size(sum(file.size for file in every))
        rows.append((name, f"{there} of {len(every)} downloaded ({total} in all)"))
    others = [path for path in labs_in(place.cache) if path != place.directory]
    for path in others:
        rows.append(("another lab", f"{path.name}, {_size(directory_size(path))}; `lab clean` removes it"))
    for part in sorted(place.cache.iterdir()):
        if part.is_dir():
            rows.append((f"cache: {part.name}", _size(directory_size(part))))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")
    if problem:
        sys.exit(1)


@lab.command(context_settings={"ignore_unknown_options": True})
@click.option("--network", is_flag=True, help="Let the lab see the network.")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
def enter(argv: tuple[str, ...], network: bool) -> None:
    """Run ARGV (a shell if there is none) in the lab, with the current directory at /work, writable."""
    place = open_lab()
    place.ensure()
    tty = sys.stdin.isatty()
    binds: list[Bind] = [(Path.cwd(), "/work", "rw")]
    env = {"TERM": os.environ["TERM"]} if tty and "TERM" in os.environ else {}
    command = place.command(argv or ("bash",), binds=binds, chdir="/work", env=env, network=network, tty=tty)
    code = subprocess.run(command, check=False).returncode
    if code != 0:
        # The command's own failure is its own affair; bubblewrap's refusal needs words.
        place.run(["true"])
    sys.exit(code if code >= 0 else 128 - code)


@lab.command()
def relock() -> None:
    """Lock what the mirror has today, as lab/packages.toml wishes, and show what changed."""
    path = paths.LAB / "lock.json"
    wish = debian.load_wish()
    try:
        old = debian.load_lock(path)
    except WorldwiseError as error:
        old = None
        click.echo(f"no lock to compare with: {error.message}", err=True)
    console = Console(stderr=True)
    with console.status("asking the mirror"):
        new = debian.resolve(wish)
    changes = debian.differences(old, new)
    text = debian.dump_lock(new)
    if old is not None and not changes and path.read_text(encoding="utf-8") == text:
        click.echo("nothing changed")
        return
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    for name, before, after in changes:
        click.echo(f"{name}: {before or '(new)'} -> {after or '(gone)'}")
    before, after = (Lab(old).digest[:12] if old else "(none)"), Lab(new).digest[:12]
    click.echo(f"lab: {before} -> {after}")
    click.echo(
        "The lab, and every image built in it, will be made anew, and every count measured anew: counts of "
        "different labs are not comparable. Commit lab/lock.json together with figures measured with it."
    )


@lab.command()
@click.option("--all", "everything", is_flag=True, help="Remove the locked lab and the downloads too.")
def clean(everything: bool) -> None:
    """Remove labs of other locks."""
    place = open_lab()
    before = directory_size(place.cache)
    gone = remove_labs(place, everything)
    if not gone:
        click.echo("nothing to remove")
        return
    names = ", ".join(str(path.relative_to(place.cache)) for path in gone)
    click.echo(f"removed {names}: {_size(max(0, before - directory_size(place.cache)))} freed")
