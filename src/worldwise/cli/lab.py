# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab`: the pinned Debian root everything is built and emulated in."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

import click

from worldwise.base import outgoing, paths
from worldwise.base.disk import directory_size, space_text
from worldwise.base.errors import WorldwiseError
from worldwise.cli.columns import echo_line
from worldwise.cli.container import image_command
from worldwise.cli.ending import EXIT_EXCEEDED
from worldwise.cli.group import Group
from worldwise.cli.options import check_output, locked_option, setting
from worldwise.cli.propose import propose
from worldwise.lab import asking, bundle, differing, yanked
from worldwise.lab import drift as drifting
from worldwise.lab.debian.lock import File, Lock, differences, dump_lock, load_lock
from worldwise.lab.debian.mirrors import OTHER_MIRROR, Fetch, download, mirrors, no_mirror
from worldwise.lab.debian.relock import load_wish, resolve, with_sha1
from worldwise.lab.debian.second import BUNDLE, second_sources
from worldwise.lab.debian.sources import FROM_VARIABLE, KINDS
from worldwise.lab.debian.store import MOST_CRATE, RELOCK
from worldwise.lab.image import Crate
from worldwise.lab.lab import Lab, labs_in, open_lab, remove_labs
from worldwise.lab.roots import MAIN, RECIPE, ROOTS
from worldwise.lab.sandbox.identity import Confinement, confinement
from worldwise.lab.sandbox.lending import lent
from worldwise.lab.sandbox.network import Bind
from worldwise.libraries.crates import Crates, pinned_crates

# What `worldwise run` measures by itself.
DEFAULT_SUITE = "attestation"


@click.group(cls=Group)
def lab() -> None:
    """The pinned Debian root that all is built and emulated in, and smaller ones, made when something needs them."""


_root_argument = click.argument("name", default=MAIN, type=click.Choice(list(ROOTS)), metavar="[NAME]")
_WIDEST = max(map(len, ROOTS))
_NAMES = "\b\n" + "\n".join(f"{root.name:<{_WIDEST}} {root.purpose}" for root in ROOTS.values())


def _command(function: Callable[..., None]) -> click.Command:
    """A command whose help ends with the list of roots."""
    return lab.command(after=_NAMES)(function)


@_command
@_root_argument
@click.option("--all", "everything", is_flag=True, help="Also download now what is otherwise downloaded on first use.")
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

    What the measured machines and their firmware are made of is downloaded when it is first used.

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
        outgoing.echo(f"{place.title} ({place.digest[:12]}) is up to date")
    # A lab that cannot be entered is of no use: this raises an error that says why.
    place.run(["true"])


@_command
@_root_argument
@click.option("--undo", is_flag=True, help="Go back to the lock: what is made next is the lab that it describes.")
def drift(name: str, undo: bool) -> None:
    """Say what the lab has in place of what its lock names.

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
        outgoing.echo(f"{title} is that of the lock again" if there else f"{title} does not differ from the lock")
        return
    new = drifting.kept(cache, lock)
    if new is None:
        outgoing.echo(f"{title} does not differ from the lock")
        return
    for package, before, after in differences(lock, new):
        outgoing.echo(f"{package}: {before or '(new)'} -> {after or '(gone)'}")
    outgoing.echo(f"{title}: {lock.digest(RECIPE)[:12]} -> {new.digest(RECIPE)[:12]}")
    outgoing.echo(differing.whole(differing.changes(lock, new)))
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
        rows.append(("lock", differing.sentence(place.differing)))
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
    rows.append(("cache", f"{place.cache}, {space_text(directory_size(place.cache))}: `worldwise cache` says of what"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        echo_line(f"{name:<{width}}  ", value)
    if problem:
        sys.exit(1)


def _downloaded(place: Lab, files: Iterable[File]) -> str:
    every = list(files)
    there = sum(place.store.has(file) for file in every)
    return f"{there} of {len(every)} files downloaded ({space_text(sum(file.size for file in every))} in all)"


@_command
@_root_argument
def check(name: str) -> None:
    """Hash every file of the lab and compare with what was made. Exit status 1 if one differs.

    Every start does a part of it. What is found damaged is made anew by the next command that needs it.

    \b
      worldwise lab check
    """
    place = open_lab(name=name)
    place.require()
    if not place.contents.listed and (problem := place.list_contents()):
        raise WorldwiseError(f"{place.title} is damaged: {problem}", "the next command that needs it makes it anew")
    with outgoing.console(stderr=True).status("hashing") as shown:
        found = place.contents.verify(lambda done, of: shown.update(f"hashing: {space_text(done)} of {space_text(of)}"))
    for problem in found.problems:
        outgoing.echo(problem)
    verdict = f"{len(found.problems)} differ" if found.problems else "all are as they were made"
    outgoing.echo(
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
    write. --lend . gives it the directory as its own, --lend DIR a folder of it. What stands behind the program is the
    program's own.

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
        outgoing.echo(f"worldwise: {problem}", err=True)
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
                f"--lend {folder}: {what} is in it, and what runs in the lab could change that",
                "lend a folder that has only what the program needs",
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


@_command
@_root_argument
@click.option(
    "--propose",
    "proposed",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Make the change for a pull request: sources that the mirror has dropped get their newest version in "
    "lab/packages.toml too, the main job is measured in both labs, and FILE gets what differs, in Markdown.",
)
@click.option(
    "--suite",
    default=DEFAULT_SUITE,
    show_default=True,
    help="With --propose: what is measured in both labs; `none` for nothing.",
)
def relock(name: str, proposed: Path | None, suite: str) -> None:
    """Lock the versions that the mirror has today.

    lab/packages.toml, or the root's own file, lists the packages. The command prints what changed.

    \b
      worldwise lab relock
      worldwise lab relock --propose proposal.md
    """
    paths.require_checkout("locking anew")
    root = ROOTS[name]
    if proposed:
        check_output(proposed)
        measured = suite if name == MAIN and suite != "none" else ""
        there = propose(root, proposed, lambda new: _with_sha1(new, name), measured)
        outgoing.echo(f"{proposed}: what differs" if there else "nothing changed")
        return
    wish = load_wish(root.wish)
    try:
        old = load_lock(root.lock)
    except WorldwiseError as error:
        old = None
        outgoing.echo(f"no lock to compare with: {error.message}", err=True)
    console = outgoing.console(stderr=True)
    with console.status("asking the mirror"):
        new = resolve(wish)
    new = _with_sha1(new, name)
    changes = differences(old, new)
    text = dump_lock(new)
    if old is not None and not changes and root.lock.read_text(encoding="utf-8") == text:
        outgoing.echo("nothing changed")
        return
    temporary = root.lock.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(root.lock)
    for package, before, after in changes:
        outgoing.echo(f"{package}: {before or '(new)'} -> {after or '(gone)'}")
    before, after = (Lab(old).digest[:12] if old else "(none)"), Lab(new).digest[:12]
    outgoing.echo(f"{'lab' if name == MAIN else name}: {before} -> {after}")
    if name == MAIN:
        outgoing.echo(
            "The lab, and every image built in it, will be made anew, and every count measured anew: counts of "
            "different labs are not comparable. Commit lab/lock.json together with figures measured with it."
        )
    else:
        outgoing.echo(f"The root, and what is built in it, will be made anew. Commit lab/{root.lock.name}.")


def _with_sha1(new: Lock, name: str) -> Lock:
    """A new lock with what the archive of snapshots calls its files; those that no lock has yet are downloaded."""
    known = {item.file.sha256: item.file.sha1 for place in _places() for item in place.wanted() if item.file.sha1}
    place = Lab(new, name=name)
    unknown = [item for item in new.wanted() if item.file.sha256 not in known]
    place.store.ensure(unknown, "what is locked for the first time")
    return with_sha1(new, known, place.store.path)


def _places() -> list[Lab]:
    """Every root whose lock can be read."""
    found = []
    for name in ROOTS:
        with contextlib.suppress(WorldwiseError):
            found.append(open_lab(name=name))
    return found


@lab.command("mirrors")
@click.option(
    "--root",
    "names",
    multiple=True,
    default=tuple(ROOTS),
    type=click.Choice(list(ROOTS)),
    metavar="NAME",
    help="The roots whose files it asks for; can be given again.  [default: all]",
)
def mirrors_command(names: tuple[str, ...]) -> None:
    """Ask the mirrors whether they still have each file of the locks.

    Mirrors drop old versions. A daily job with this command says so before somebody's first run does; `lab export`
    keeps the files while they are there. Files that no mirror has are sought at the second sources too. Crates are
    not asked for: their registry drops none.

    Exit status: 0 a mirror has each file; 1 no mirror could be asked; 3 all have dropped one.

    \b
      worldwise lab mirrors
      worldwise lab mirrors --root main --root render
    """
    lost: list[asking.Lost] = []
    with outgoing.console(stderr=True).status("asking") as shown:
        for place in [open_lab(name=name) for name in dict.fromkeys(names)]:

            def told(left: int, title: str = place.title) -> None:
                shown.update(f"asking for {title}: {left:,} files to be found")

            wanted = list({item.file.sha256: item for item in place.wanted()}.values())
            found = asking.lost_files(wanted, mirrors(place.lock.suite), second_sources(), told)
            if any(not one.answers for one in found):
                raise no_mirror()
            gone = [one for one in found if one.vanished]
            verdicts = [f"{len(gone):,} on none"] if gone else []
            verdicts += [f"{len(found) - len(gone):,} without an answer"] if len(found) > len(gone) else []
            verdict = ", ".join(verdicts) or "a mirror has each"
            outgoing.echo(f"{place.title}: {len(wanted):,} files: {verdict}")
            # Of files without an answer, one says as much as all.
            for one in gone or found[:1]:
                outgoing.echo(f"  {one.describe()}")
            lost += found
            if len(found) == len(wanted) and not gone:
                break
    if not lost:
        return
    if any(one.vanished for one in lost):
        outgoing.echo(f"ways out: {BUNDLE}; {OTHER_MIRROR}; {RELOCK}", err=True)
        sys.exit(EXIT_EXCEEDED)
    raise WorldwiseError(
        f"no mirror answered for {len(lost):,} files", "check the network and the proxies: `worldwise doctor --network`"
    )


@lab.command("yanked")
def yanked_command() -> None:
    """Ask the registries whether a pinned crate or package was yanked.

    They keep such a version, with a warning not to use it. Exit status: 0 none was; 1 it could not be asked; 3 one was.

    \b
      worldwise lab yanked
    """
    place = open_lab(name="render")
    place.ensure()
    crates = pinned_crates()
    found = {f"crates ({len(crates)})": yanked.yanked_crates(place, crates)}
    for name in ("run", "dask"):
        found[f"requirements/{name}.txt"] = yanked.yanked_python([paths.REQUIREMENTS / f"{name}.txt"])
    for what, which in found.items():
        outgoing.echo(f"{what}: {', '.join(which)} was yanked" if which else f"{what}: none was yanked")
    if any(found.values()):
        sys.exit(EXIT_EXCEEDED)


# Without these no run can be made; the key cache, other tools and the tests need the others.
_RUN_ROOTS = (MAIN, "render")


@lab.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--root",
    "names",
    multiple=True,
    default=_RUN_ROOTS,
    show_default=True,
    type=click.Choice(list(ROOTS)),
    metavar="NAME",
    help="The roots whose files it has; can be given again.",
)
@click.option(
    "--oci",
    "artefact",
    is_flag=True,
    help="Write an artefact for a registry: an OCI archive, of which WORLDWISE_SOURCES takes what a digest names.",
)
def export_command(file: Path, names: tuple[str, ...], artefact: bool) -> None:
    """Write into one archive all that the lab is made of.

    It has the packages and sources that the locks name, and the libraries' crates, each by its SHA-256. Mirrors drop
    old versions. With the archive the lab is made all the same, and without network: `lab import` takes it. What is
    not downloaded yet is downloaded first. The same locks give the same bytes.

    \b
      worldwise lab export worldwise-lab.tar
      worldwise lab export all.tar --root main --root render --root keycache
      worldwise lab export lab.oci.tar --oci
    """
    check_output(file)
    places = [open_lab(name=name) for name in dict.fromkeys(names)]
    for place in places:
        place.fetch()
    crates = Crates(lambda text: outgoing.echo(f"worldwise: {text}", err=True))
    found = pinned_crates()
    for crate in found:
        crates.file(crate)
    entries = _entries(places, found)
    roots = {place.name: place.digest for place in places}
    if artefact:
        digest = bundle.export_artefact(file, roots, entries)
        outgoing.echo(f"{file}: {len({entry.sha256 for entry in entries})} files, sha256:{digest}")
        outgoing.echo("pushed to a registry as HOST/NAME, it is the second source oci://HOST/NAME@sha256:" + digest)
        return
    size = bundle.export(file, roots, entries)
    outgoing.echo(f"{file}: {len({entry.member for entry in entries})} files, {space_text(size)}")


@lab.command("import")
@click.argument("source", metavar="FILE|URL")
def import_command(source: str) -> None:
    """Take what the lab is made of from an archive of `lab export`.

    It takes what the locks name and is not there yet, and verifies each file by its SHA-256.

    \b
      worldwise lab import worldwise-lab.tar
      worldwise lab import https://HOST/worldwise-lab.tar
    """
    places = [open_lab(name=name) for name in ROOTS]
    entries = _entries(places, pinned_crates())
    store = places[0].store
    if "://" in source:
        store.directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=store.directory, prefix="partial-") as name:
            archive = Path(name, "archive")
            # An archive may be of several labs, older ones too.
            most = 4 * sum(item.file.size for place in places for item in place.wanted()) + 2**30
            try:
                answer = download([Fetch(source, archive, most)])
            except subprocess.TimeoutExpired as late:
                raise WorldwiseError(
                    f"{source} could not be fetched: not there after {late.timeout:.0f} s", "try another line"
                ) from None
            if not archive.exists():
                raise WorldwiseError(
                    f"{source} could not be fetched", "check the address and the network", answer.stderr
                )
            found = bundle.take(archive, entries)
    else:
        found = bundle.take(Path(source), entries)
    outgoing.echo(
        f"{found.taken} files taken, {found.there} were there, "
        f"{found.foreign} left out: no lock of this checkout names them"
    )
    for place in places:
        there = sum(place.store.has(item.file) for item in place.wanted())
        if there:
            outgoing.echo(f"{place.title}: {there} of {len(place.wanted())} files are there")


def _entries(places: Sequence[Lab], crates: Iterable[Crate]) -> list[bundle.Entry]:
    """Every file that roots and libraries name, with its place in the cache."""
    packages = [
        bundle.Entry(item.file.sha256, False, item.label, place.store.path(item.file), item.file.size)
        for place in places
        for item in place.wanted()
    ]
    store = places[0].store
    return packages + [
        bundle.Entry(one.sha256, True, f"crate {one.name} {one.version}", store.crate_path(one.sha256), MOST_CRATE)
        for one in crates
    ]


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
        outgoing.echo("nothing to remove")
        return
    names = ", ".join(str(path.relative_to(place.cache)) for path in gone)
    outgoing.echo(f"removed {names}: {space_text(max(0, before - directory_size(place.cache)))} freed")


lab.add_command(image_command)
