# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab relock`, `mirrors`, `yanked`, `export` and `import`: where a root's files come from."""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from worldwise.base import paths
from worldwise.base.disk import space_text
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.common.options import check_output
from worldwise.cli.common.process import EXIT_EXCEEDED
from worldwise.cli.lab.propose import propose
from worldwise.cli.lab.root import lab, listing_roots, root_argument
from worldwise.lab import bundle, yank_check
from worldwise.lab.debian import mirror_check
from worldwise.lab.debian.lock import Lock, differences, dump_lock, load_lock
from worldwise.lab.debian.mirrors import OTHER_MIRROR, Fetch, download, mirrors, no_mirror
from worldwise.lab.debian.relock import load_wish, resolve, with_sha1
from worldwise.lab.debian.second_sources import BUNDLE, second_sources
from worldwise.lab.debian.store import MOST_CRATE, RELOCK
from worldwise.lab.image import Crate
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.roots import MAIN, ROOTS
from worldwise.libraries.crates import Crates, pinned_crates

# What `worldwise run` measures by itself.
DEFAULT_SUITE = "attestation"


@listing_roots
@root_argument
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
    help="With --propose: the suite to measure in both labs, or `none`.",
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
        safe_text.echo(f"{proposed}: what differs" if there else "nothing changed")
        return
    wish = load_wish(root.wish)
    try:
        old = load_lock(root.lock)
    except WorldwiseError as error:
        old = None
        safe_text.echo(f"no lock to compare with: {error.message}", err=True)
    console = safe_text.console(stderr=True)
    with console.status("asking the mirror"):
        new = resolve(wish)
    new = _with_sha1(new, name)
    changes = differences(old, new)
    text = dump_lock(new)
    if old is not None and not changes and root.lock.read_text(encoding="utf-8") == text:
        safe_text.echo("nothing changed")
        return
    temporary = root.lock.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(root.lock)
    for package, before, after in changes:
        safe_text.echo(f"{package}: {before or '(new)'} -> {after or '(gone)'}")
    before, after = (Lab(old).digest[:12] if old else "(none)"), Lab(new).digest[:12]
    safe_text.echo(f"{'lab' if name == MAIN else name}: {before} -> {after}")
    if name == MAIN:
        safe_text.echo(
            "The lab, and every image built in it, will be made anew, and every count measured anew: counts of "
            "different labs are not comparable. Commit lab/lock.json together with figures measured with it."
        )
    else:
        safe_text.echo(f"The root, and what is built in it, will be made anew. Commit lab/{root.lock.name}.")


def _with_sha1(new: Lock, name: str) -> Lock:
    """A new lock with what the archive of snapshots calls its files; those that no lock has yet are downloaded."""
    known = {item.file.sha256: item.file.sha1 for place in _places() for item in place.wanted() if item.file.sha1}
    place = Lab(new, name=name)
    unknown = [item for item in new.wanted() if item.file.sha256 not in known]
    place.store.ensure(unknown, "packages locked for the first time")
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
    keeps the files while they are there. The second sources are asked for files that no mirror has. Crates are
    not asked for: their registry drops none.

    Exit status: 0 a mirror has each file; 1 no mirror answered; 3 all have dropped one.

    \b
      worldwise lab mirrors
      worldwise lab mirrors --root main --root render
    """
    lost: list[mirror_check.Lost] = []
    with safe_text.console(stderr=True).status("asking") as shown:
        for place in [open_lab(name=name) for name in dict.fromkeys(names)]:

            def told(left: int, title: str = place.title) -> None:
                shown.update(f"asking for {title}: {left:,} files to be found")

            wanted = list({item.file.sha256: item for item in place.wanted()}.values())
            found = mirror_check.lost_files(wanted, mirrors(place.lock.suite), second_sources(), told)
            if any(not one.answers for one in found):
                raise no_mirror()
            gone = [one for one in found if one.vanished]
            verdicts = [f"{len(gone):,} on none"] if gone else []
            verdicts += [f"{len(found) - len(gone):,} without an answer"] if len(found) > len(gone) else []
            verdict = ", ".join(verdicts) or "a mirror has each"
            safe_text.echo(f"{place.title}: {len(wanted):,} files: {verdict}")
            # Of files without an answer, one says as much as all.
            for one in gone or found[:1]:
                safe_text.echo(f"  {one.describe()}")
            lost += found
            if len(found) == len(wanted) and not gone:
                break
    if not lost:
        return
    if any(one.vanished for one in lost):
        safe_text.echo(f"ways out: {BUNDLE}; {OTHER_MIRROR}; {RELOCK}", err=True)
        sys.exit(EXIT_EXCEEDED)
    raise WorldwiseError(
        f"no mirror answered for {len(lost):,} files", "check the network and the proxies: `worldwise doctor --network`"
    )


@lab.command("yanked")
def yanked_command() -> None:
    """Ask the registries whether a pinned crate or package was yanked.

    They keep such a version, with a warning not to use it. Exit status: 0 none was; 1 a registry did not answer; 3 one
    was.

    \b
      worldwise lab yanked
    """
    place = open_lab(name="render")
    place.ensure()
    crates = pinned_crates()
    found = {f"crates ({len(crates)})": yank_check.yanked_crates(place, crates)}
    for name in ("run", "dask"):
        found[f"requirements/{name}.txt"] = yank_check.yanked_python([paths.REQUIREMENTS / f"{name}.txt"])
    for what, which in found.items():
        safe_text.echo(f"{what}: {', '.join(which)} was yanked" if which else f"{what}: none was yanked")
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
    help="Write an artefact for a registry: an OCI archive; WORLDWISE_SOURCES takes files from it by digest.",
)
def export_command(file: Path, names: tuple[str, ...], artefact: bool) -> None:
    """Write into one archive all that the lab is made of.

    It has the packages and sources that the locks name, and the libraries' crates, each by its SHA-256. Mirrors drop
    old versions. The archive makes the lab without mirrors and without a network: `lab import` reads it. Missing files
    are downloaded first. The same locks give the same bytes.

    \b
      worldwise lab export worldwise-lab.tar
      worldwise lab export all.tar --root main --root render --root keycache
      worldwise lab export lab.oci.tar --oci
    """
    check_output(file)
    places = [open_lab(name=name) for name in dict.fromkeys(names)]
    for place in places:
        place.fetch()
    crates = Crates(lambda text: safe_text.echo(f"worldwise: {text}", err=True))
    found = pinned_crates()
    for crate in found:
        crates.file(crate)
    entries = _entries(places, found)
    roots = {place.name: place.digest for place in places}
    if artefact:
        digest = bundle.export_artefact(file, roots, entries)
        safe_text.echo(f"{file}: {len({entry.sha256 for entry in entries})} files, sha256:{digest}")
        safe_text.echo("pushed to a registry as HOST/NAME, it is the second source oci://HOST/NAME@sha256:" + digest)
        return
    size = bundle.export(file, roots, entries)
    safe_text.echo(f"{file}: {len({entry.member for entry in entries})} files, {space_text(size)}")


@lab.command("import")
@click.argument("source", metavar="FILE|URL")
def import_command(source: str) -> None:
    """Take what the lab is made of from an archive of `lab export`.

    It takes the files that the locks name and the cache lacks, and verifies each by its SHA-256.

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
    safe_text.echo(
        f"{found.taken} files taken, {found.there} were there, "
        f"{found.foreign} left out: no lock of this checkout names them"
    )
    for place in places:
        there = sum(place.store.has(item.file) for item in place.wanted())
        if there:
            safe_text.echo(f"{place.title}: {there} of {len(place.wanted())} files are there")


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
