# SPDX-License-Identifier: BSD-2-Clause
"""Tables of storage: the cost of an access to an object in each storage, beside a plain file in Linux."""

from collections.abc import Iterable, Sequence

from worldwise.base.tables import Section, Table, count, factor, ratio, section_name, spread
from worldwise.base.units import size_text
from worldwise.families.storage.answer import WHOLE, storage_answer
from worldwise.families.storage.spec import too_large
from worldwise.plan.parameters import STORAGES
from worldwise.read.line_fit import LEAST_POINTS
from worldwise.read.models import Reading, Row
from worldwise.read.mqttz import CLOCK, SOURCE, beside
from worldwise.read.rows import Key, RowIndex, is_quiet
from worldwise.report.drawing.counts import against_size
from worldwise.report.drawing.vega import Chart
from worldwise.report.tables import Group, Tables

SECURE, PLAIN = "storage", "file"
# The object's size in the published table.
PUBLISHED_SIZE = 7000
REQUESTS = "requests to tee-supplicant"

_ACTIONS = {
    "create": "a new object with its content",
    "read": "all of it",
    "overwrite": "all of it, with as many new bytes",
    "append": "32 bytes added at its end",
    "rename": "to a name that no other object has",
    "enumerate": "three objects of this size, and no others",
    "delete": "",
}
_STORAGES = {"ree": "REE FS", "ree-rpmb": "REE FS, hash in RPMB", "rpmb": "RPMB"}
_SYNCS = {"none": "plain file", "fsync": "plain file, fsync"}
_PUBLISHED = ("create", "read", "delete")


def storage_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on storage; empty if the run has no such rows.

    Unless `full`, the cost inside the TA is shown only where it does not follow from the cost of the whole call.
    """
    table = _StorageRows(reading)
    if not table.sizes:
        return []
    parts: list[Section | None] = [
        *(_action_section(table, action, full) for action in _ACTIONS),
        _byte_section(table),
        _published_section(table, reading),
        _legend_section(table),
    ]
    return [part for part in parts if part]


def _kind(row: Row) -> str:
    """The storage, or a plain file's kind of sync."""
    return row.given["storage"] if row.operation == SECURE else row.given.get("sync", "none")


def _key(row: Row) -> Key:
    return (row.given["action"], row.size, _kind(row), row.variant, row.place)


class _StorageRows(RowIndex):
    """The rows of storage on undisturbed machines, by action, size, storage or kind of sync, variant and place."""

    def __init__(self, reading: Reading) -> None:
        own = (row for row in reading.rows if row.operation in (SECURE, PLAIN) and row.size is not None)
        super().__init__(filter(is_quiet, own), _key)
        self._requests = {
            attempt.case: attempt.result
            for attempt in reading.attempts
            if attempt.operation == SECURE and attempt.what == REQUESTS
        }
        # The suite asked for objects that RPMB has no room for.
        self._asked = any(one.operation == SECURE for one in reading.unavailable)
        self.sizes = sorted({row.size for row in self.rows if row.size is not None})

    def variants(self, action: str, kind: str) -> list[str]:
        """The variants with a measured action in a storage."""
        own = (key for key in self.keys if (key[0], key[2]) == (action, kind))
        return list(dict.fromkeys(str(variant) for _, _, _, variant, _ in own))

    def plain(self, action: str, size: int, variant: str, sync: str = "none") -> Row | None:
        """The same with a plain file, on the same machine if there is one: the library does not matter here."""
        same = self.row(action, size, sync, variant, "linux")
        others = (self.row(action, size, sync, other, "linux") for other in self.variants(action, sync))
        return same or next((row for row in others if row), None)

    def requests(self, row: Row) -> str:
        """How often a call asked tee-supplicant for something."""
        return self._requests.get(row.case, "-")

    def reasons(self, action: str, sizes: Iterable[int] | None = None) -> list[str]:
        """Why an action is unavailable in RPMB for objects of these sizes, by default of all that were measured."""
        found = (too_large(action, size) for size in (self.sizes if sizes is None else sizes))
        return list(filter(None, found)) if self._asked else []


def _action_section(table: _StorageRows, action: str, full: bool) -> Section | None:
    lines: list[list[str]] = []
    names = {kind: table.variants(action, kind) for kind in (*STORAGES, *_SYNCS)}
    several = len({variant for variants in names.values() for variant in variants}) > 1
    shown: list[Row] = []
    for kind in STORAGES:
        for variant in names[kind]:
            label = _STORAGES[kind] + (f", {variant}" if several else "")
            client = [table.row(action, size, kind, variant, "client") for size in table.sizes]
            inside = [table.row(action, size, kind, variant, "ta") for size in table.sizes]
            files = [table.plain(action, size, variant) for size in table.sizes]
            shown += filter(None, client)
            absent = ["too large" if kind == "rpmb" and table.reasons(action, [size]) else "-" for size in table.sizes]
            lines.append([label, "client, instr", *_medians(client, absent)])
            if full:
                lines.append(["", "TA, instr", *_medians(inside, absent)])
            lines.append(
                [
                    "",
                    "client / plain file",
                    *(
                        ratio(ours.median / file.median if ours and file else None)
                        for ours, file in zip(client, files, strict=True)
                    ),
                ]
            )
            lines.append(["", "requests", *(table.requests(row) if row else "-" for row in client)])
    for kind, label in _SYNCS.items():
        # The plain files are the same for every build of OP-TEE.
        for variant in names[kind][:1]:
            rows = [table.plain(action, size, variant, kind) for size in table.sizes]
            shown += filter(None, rows)
            lines.append([label, "Linux, instr", *_medians(rows, ["-"] * len(rows))])
    if not lines:
        return None
    what = f": {_ACTIONS[action]}" if _ACTIONS[action] else ""
    title = f"Storage, {action}{what}; medians ({_samples(shown)})"
    notes = [f"too large: {'; '.join(table.reasons(action))}."] if table.reasons(action) else []
    return Section(
        title,
        Table(["storage", "of one call", *map(size_text, table.sizes)], lines, 2),
        notes,
        name=section_name("storage", action),
    )


def _medians(rows: Sequence[Row | None], absent: Sequence[str]) -> list[str]:
    return [count(row.median) if row else other for row, other in zip(rows, absent, strict=True)]


def _samples(rows: Iterable[Row]) -> str:
    """`n = 100; of 1MiB 20`."""
    sizes: dict[int, set[int]] = {}
    for row in rows:
        sizes.setdefault(row.counts.n, set()).add(row.size or 0)
    usual = max(sizes, key=lambda n: len(sizes[n]))
    others = [f"of {', '.join(map(size_text, sorted(of)))} {n:,}" for n, of in sizes.items() if n != usual]
    return "; ".join([f"n = {usual:,}", *others])


def _byte_section(table: _StorageRows) -> Section | None:
    lines = []
    for action in WHOLE:
        for kind in (*STORAGES, *_SYNCS):
            secure = kind in STORAGES
            variants = table.variants(action, kind)
            for variant in variants if secure else variants[:1]:
                rows = [table.row(action, size, kind, variant, "client" if secure else "linux") for size in table.sizes]
                each = [row.median / row.size if row and row.size else None for row in rows]
                if any(value is not None for value in each):
                    cells = [ratio(value) for value in each]
                    lines.append([action, (_STORAGES | _SYNCS)[kind], variant if secure else "any", *cells])
    if not lines:
        return None
    return Section(
        "Storage, instructions of the caller's whole call per byte of the object",
        Table(["action", "storage", "variant", *map(size_text, table.sizes)], lines, 3),
        [
            "For a small object that is mostly the fixed cost: finding it in the directory, and its own keys and "
            "hashes. Of a large one it is what its blocks take: 4 KiB in the REE file system, 256 bytes in RPMB."
        ],
        name="storage-per-byte",
    )


def _published_section(table: _StorageRows, reading: Reading) -> Section | None:
    figures = {
        (figure.operation.partition(" ")[0], figure.algorithm): figure
        for figure in reading.published_table
        if figure.source == SOURCE and figure.algorithm in ("secure storage", "plain file")
    }
    lines = []
    for action in _PUBLISHED:
        theirs = figures.get((action, "secure storage"))
        plain = figures.get((action, "plain file"))
        variants = table.variants(action, "ree")
        if not theirs or not plain:
            continue
        for variant in variants:
            ours = table.row(action, PUBLISHED_SIZE, "ree", variant, "client")
            file = table.plain(action, PUBLISHED_SIZE, variant)
            lines.append([f"{action}, secure", variant, *beside(theirs, ours, 3, 3)])
            lines[-1] += [
                factor(theirs.value / plain.value),
                ratio(ours.median / file.median if ours and file else None),
            ]
        if variants:
            file = table.plain(action, PUBLISHED_SIZE, variants[0])
            lines.append([f"{action}, plain", "any", *beside(plain, file, 3, 3), "1.00", "1.00" if file else "-"])
    if not lines:
        return None
    headers = ["object of 7000 B", "ours is", "theirs\nms", "stdev\nms", "ours, mean\ninstr", "stdev\ninstr"]
    headers += ["assumed\nus", "secure / plain\ntheirs", "secure / plain\nours"]
    return Section(
        "Storage, published figures beside ours",
        Table(headers, lines, 2),
        [
            reading.published_reason,
            "theirs: mean and standard deviation of 100, in milliseconds. ours: the client's whole call, with the "
            "object in the REE file system; the plain file is on a tmpfs. assumed us: our mean at "
            f"{CLOCK} and one instruction per cycle. How their program writes and reads its plain file, and how many "
            "objects there were, is not stated.",
        ],
        name="storage-published",
    )


def _widest(rows: Iterable[Row]) -> str:
    """A sentence on the row whose samples differ the most, as a share of the median."""

    def share(row: Row) -> float:
        return (row.counts.stdev or 0) / row.median

    row = max(sorted(rows, key=lambda row: (row.case, row.place)), key=share)
    return (
        f"the greatest standard deviation is {100 * share(row):.1f} % of the median ({row.parameters}, {row.place}; "
        f"{spread(row.counts.stdev)} instructions)"
    )


def _legend_section(table: _StorageRows) -> Section:
    kinds = {
        "objects": [row for row in table.rows if row.operation == SECURE],
        "plain files": [row for row in table.rows if row.operation == PLAIN],
    }
    includes = {row.place: row.counts.includes for row in table.rows}
    notes = [
        "REE FS: OP-TEE's objects in files that tee-supplicant keeps. REE FS, hash in RPMB: the same on an OP-TEE that "
        "has RPMB too, and keeps there what the directory of the files must hash to. RPMB: the objects themselves in "
        "RPMB, a device that tee-supplicant emulates. What it computes is counted, an HMAC of each block in software; "
        "a real device computes that itself.",
        "None of these is a disk: tee-supplicant's files, its emulated device and the plain files are all in the "
        "machine's memory (a tmpfs, on which fsync has nothing to do but to be called). Only instructions are "
        "counted; a real flash device adds its own time to each request.",
        "Before each call the storage is as before every other: three objects of 32 bytes and, unless it is to be "
        "made, the object; to enumerate, three objects of the size and no others. The bench then reads back, or "
        "looks for, what each call did. The object is opened and closed again within each call. fsync is of the "
        "file, and of "
        "its directory where a name changes.",
        "requests: how often one call made Linux hand something to tee-supplicant, each there and back through the "
        "monitor, Linux and another process. It is how often the client gave the processor away, by the sample with "
        "the fewest; in calls of many million instructions other tasks take it too, which adds a few.",
        "Linux's timer does not interrupt a call; each sample has keys and nonces of its own. "
        + " ".join(f"Of {kind} {_widest(rows)}." for kind, rows in kinds.items() if rows),
        *(f"{place}: {text}." for place, text in includes.items()),
    ]
    if any(table.reasons(action) for action in _ACTIONS):
        notes.append(
            "too large: RPMB's file system writes an object's new content beside the old one, so that overwriting and "
            "appending need room for both."
        )
    return Section("How to read the tables of storage", None, notes, name="storage-legend")


# Okabe and Ito's, as those of libraries.
_COLOURS = dict(
    zip(
        (*_STORAGES.values(), *_SYNCS.values()),
        ("#0072b2", "#e69f00", "#d55e00", "#009e73", "#56b4e9"),
        strict=True,
    )
)


def _charts(reading: Reading) -> list[Chart]:
    """A figure for each action: what it costs in each storage, and with a plain file, against the object's size."""
    table = _StorageRows(reading)
    found = []
    for action, what in _ACTIONS.items():
        rows: list[Row] = []
        names: dict[str, str] = {}
        for kind, label in {**_STORAGES, **_SYNCS}.items():
            for variant in table.variants(action, kind)[:1]:
                place = "client" if kind in STORAGES else "linux"
                chosen = [table.row(action, size, kind, variant, place) for size in table.sizes]
                there = [row for row in chosen if row and row.size and row.median > 0]
                names |= {row.case: label for row in there}
                rows += there
        if len({row.size for row in rows}) < LEAST_POINTS:
            continue
        shown = [label for label in _COLOURS if label in names.values()]
        colour = {
            "field": "storage",
            "type": "nominal",
            "title": None,
            "scale": {"domain": shown, "range": [_COLOURS[label] for label in shown]},
        }
        title = f"Storage, {action}{f': {what}' if what else ''}"
        given = {row.case: {"storage": names[row.case], "level": f"-{row.optimisation}"} for row in rows}
        name = section_name("sizes-storage", action)
        found.append(against_size(name, title, rows, colour, given, names))
    return found


TABLES = Tables(
    groups=(Group(460, storage_sections),),
    answers=lambda reading: storage_answer(reading, tuple(_ACTIONS)),
    operations={
        SECURE: "an object in secure storage",
        PLAIN: "a plain file",
    },
    own=(SECURE, PLAIN),
    charts=_charts,
    drawn=(SECURE, PLAIN),
)
