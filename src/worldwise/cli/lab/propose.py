# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab relock --propose`: the change for a pull request: lock, list of packages, and what counts become."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.base.tables import Section, Table
from worldwise.lab import drift, lock_differences
from worldwise.lab.debian import relock
from worldwise.lab.debian.lock import Lock, SourcePackage, differences, dump_lock, load_lock
from worldwise.lab.debian.mirrors import mirrors, no_mirror
from worldwise.lab.debian.relock import load_wish
from worldwise.lab.roots import Root

_HEADERS = ["function (image)", "before", "after", "change"]
# Of a call, so many functions are listed: those that changed most.
_MOST_FUNCTIONS = 10


@dataclass(frozen=True)
class Proposal:
    """A root's new lock and list of packages.

    Attributes:
        old, new: its locks.
        text: the list of packages, with the versions of sources that took the place of others.
        staying: the source packages that no mirror has and whose version stays, since nothing can take its place.
    """

    old: Lock
    new: Lock
    text: str
    staying: tuple[SourcePackage, ...]


def proposal(root: Root) -> Proposal:
    """What the mirror has today of what a root's list wishes for; sources that it dropped get their newest version.

    Raises WorldwiseError.
    """
    old, wish = load_lock(root.lock), load_wish(root.wish)
    text = root.wish.read_text(encoding="utf-8")
    mirror = next(mirrors(wish.suites.binary), None)
    if mirror is None:
        raise no_mirror()
    staying: list[SourcePackage] = []
    with relock.offer(wish, mirror) as apt:
        for source in old.sources:
            suite, package = source.suite or old.suite, source.package or source.name
            if source.version in apt.versions(package, suite):
                continue
            if drift.patched(source) or source.package:
                staying.append(source)
                continue
            newest = relock.newest_source(apt, source.name, wish.sources[source.name], suite)
            text = _with_version(text, source.name, source.version, newest.version)
    names = {source.name for source in staying}
    new = relock.resolve(relock.parsed(text, root.wish).without_sources(names))
    suites = {one.suite for one in new.snapshots}
    times = [*new.snapshots, *(one for one in old.snapshots if one.suite not in suites)]
    named = {source.suite for source in (*new.sources, *staying)} | {new.suite}
    new = replace(
        new,
        sources=[*new.sources, *staying],
        snapshots=[one for one in times if one.suite in named],
    )
    return Proposal(old, relock.ordered(new), text, tuple(staying))


def _with_version(text: str, name: str, before: str, after: str) -> str:
    """A list of packages with another version of a source, all else as it was."""
    line = re.compile(rf'^("?{re.escape(name)}"? *= *(?:\{{[^}}\n]*version *= *)?"){re.escape(before)}"', re.MULTILINE)
    if len(line.findall(text)) != 1:
        raise WorldwiseError(f"the list of packages has no line of {name} with {before}", "change its version by hand")
    return line.sub(lambda match: f'{match[1]}{after}"', text)


def propose(root: Root, output: Path, complete: Callable[[Lock], Lock], suite: str) -> bool:
    """Write a root's lock and list, measure the suite in the old lab and in the new one, and write what differs.

    Args:
        root: the root.
        output: gets the words of a pull request, in Markdown.
        complete: gives a lock the SHA-1 of its files.
        suite: what is measured; empty for nothing.

    Returns whether anything changed. Raises WorldwiseError.
    """
    found = proposal(root)
    new = complete(found.new)
    if dump_lock(new) == root.lock.read_text(encoding="utf-8"):
        return False
    with tempfile.TemporaryDirectory(prefix="worldwise-propose-") as name:
        runs = {side: Path(name, side) for side in ("old", "new")}
        before, after = (lock.digest(root.recipe)[:12] for lock in (found.old, new))
        if suite and before != after:
            # Before the files change: this is the lab of the old lock, or the command says that it cannot be made.
            _measured(suite, runs["old"])
            _explained(suite, runs["old"], Path(name, "old-functions"))
        for path, text in ((root.wish, found.text), (root.lock, dump_lock(new))):
            temporary = path.with_suffix(".tmp")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path)
        compared = ""
        if suite and before != after:
            _measured(suite, runs["new"])
            _explained(suite, runs["new"], Path(name, "new-functions"))
            compared = _compared(runs, Path(name, "compared.md"))
            compared += _functions(Path(name, "old-functions"), Path(name, "new-functions"))
    output.write_text(_words(found, new, before, after, suite, compared), encoding="utf-8")
    return True


def _words(found: Proposal, new: Lock, before: str, after: str, suite: str, compared: str) -> str:
    changed = lock_differences.changes(found.old, new)
    lines = [f"Lab: {before} -> {after}" if before != after else f"Lab: {before}, as before", ""]
    lines += [f"- {change}" for change in changed] or ["No version differs."]
    if found.staying:
        lines += ["", "No mirror has these any more, and nothing can take their place; their files come from the"]
        lines += ["archive of snapshots or a second source:", ""]
        lines += [f"- {source.name} {source.version} ({source.suite})" for source in found.staying]
    lines += ["", "<details><summary>All packages</summary>", ""]
    lines += [f"- {name}: {was or '(new)'} -> {now or '(gone)'}" for name, was, now in differences(found.old, new)]
    lines += ["", "</details>", ""]
    if compared:
        lines += [f"## {suite}, in both labs", "", compared]
    elif before != after:
        lines += ["This measured nothing. Counts of different labs do not compare: measure the cited figures again."]
    return "\n".join(lines).rstrip() + "\n"


def _measured(suite: str, runs: Path) -> None:
    # A failed case (status 1) is for the comparison to report, but a run that never began has nothing to compare.
    call_tool(["run", suite, "--runs", str(runs), "--locked"], (0, 1))
    if not runs.is_dir() or not any(runs.iterdir()):
        raise WorldwiseError(f"`worldwise run {suite}` left no run", "its words are above")


def _compared(runs: dict[str, Path], path: Path) -> str:
    sides = [str(next(runs[side].iterdir())) for side in ("old", "new")]
    # The second run is of a checkout with another lock, so of another revision.
    allowed = [word for what in ("lab", "images", "worldwise") for word in ("--allow", what)]
    call_tool(["compare", *sides, *allowed, "--write", f"markdown={path}"], (0,))
    return path.read_text(encoding="utf-8")


def _explained(suite: str, runs: Path, folder: Path) -> None:
    """Write which function executes what in the cases that the suite measures first: a file for each measure.

    The old lab is explained before the lock changes; afterwards no command would explain it.
    """
    # They take long to load, and no other command on the lab needs them.
    from worldwise.plan.case import parse_case
    from worldwise.plan.suite import load_suite

    folder.mkdir()
    cases = [parse_case(name) for name in load_suite(suite).first]
    for number, (case, measure) in enumerate((one, measure) for one in cases for measure in one.measures):
        run, file = str(next(runs.iterdir())), str(folder / f"{number}.json")
        words = ["explain", run, "--case", case.id, "--measure", measure, "--format", "json", "--output", file]
        # A case that failed in one lab has no functions there; the comparison says that it failed.
        call_tool([*words, "--locked"], (0, 1))


def _functions(old: Path, new: Path) -> str:
    """The functions that changed most, as Markdown: a table for each file that both folders have."""
    from worldwise.report.formats.printed_sections import markdown_text

    parts = []
    for path in sorted(old.glob("*.json")):
        if (new / path.name).exists():
            before, after = (json.loads((folder / path.name).read_text(encoding="utf-8")) for folder in (old, new))
            title = f"{after['case']}: {after['measure']} at {after['place']}"
            parts.append(Section(title, Table(_HEADERS, _changes(before, after), 1)))
    return "\n" + markdown_text(parts) if parts else ""


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[list[str]]:
    """The rows of a table: the whole call, and the functions that changed most."""
    counts = [
        {f"{one['function']} ({one['image']})": one["self"] for one in side["functions"]} for side in (before, after)
    ]
    names = sorted(dict.fromkeys([*counts[0], *counts[1]]))
    pairs = [(name, counts[0].get(name, 0), counts[1].get(name, 0)) for name in names]
    pairs = sorted((pair for pair in pairs if pair[1] != pair[2]), key=lambda pair: -abs(pair[2] - pair[1]))
    whole = ("the whole call", before["instructions"], after["instructions"])
    return [[name, f"{was:,}", f"{now:,}", f"{now - was:+,}"] for name, was, now in [whole, *pairs[:_MOST_FUNCTIONS]]]


def call_tool(words: Sequence[str], allowed: tuple[int, ...]) -> None:
    """Runs the tool with these words. Raises WorldwiseError if its status is not allowed."""
    safe_text.echo(f"worldwise: worldwise {' '.join(words)}", err=True)
    status = subprocess.run([sys.executable, "-P", "-m", "worldwise", *words], check=False).returncode
    if status not in allowed:
        raise WorldwiseError(f"`worldwise {words[0]}` ended with status {status}", "its words are above")
