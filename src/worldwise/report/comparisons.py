# SPDX-License-Identifier: BSD-2-Clause
"""Showing comparisons: tables for people, and the formats that continuous integration reads."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import Console

from worldwise.base.output.safe_text import Prose, csv_text, json_text
from worldwise.base.tables import Section, Table, count, signed
from worldwise.lab import lock_differences
from worldwise.read.compared.comparison import ComparedRow, Comparison, Gate, Side
from worldwise.report.formats import ci_formats
from worldwise.report.formats.printed_sections import markdown_text, print_prose, print_sections

# The most rows of a summary, to keep it readable; the other formats have all rows.
_MOST_ROWS = 20
# On one screen: rows, cases that are not compared, commands, columns.
_FEW_ROWS, _FEW_CASES, _FEW_COMMANDS, _MOST_WIDTH = 7, 2, 2, 100
# Of each case, on that screen and elsewhere.
_FEW_FUNCTIONS, _MOST_FUNCTIONS = 3, 10
_FEW_SETTINGS = 6


def render(comparison: Comparison, console: Console, full: bool = False) -> None:
    """Print a comparison; rows in which no call differs are only counted unless `full`."""
    print_sections(sections(comparison, full), console)


def render_brief(comparison: Comparison, console: Console, runs: str = "") -> None:
    """Print a comparison on one screen: the rows that changed most, the verdict, and where to go on.

    `runs` is the folder of the runs, if it is not the default one.
    """
    print_sections(brief_sections(comparison), console)
    commands = explain_commands(comparison, runs)
    if commands:
        console.print()
        print_prose(console, "Which functions it is of, where most changed:", "bold")
        for command in commands:
            console.print(command, soft_wrap=True)


def brief_sections(comparison: Comparison) -> list[Section]:
    """What matters most of a comparison, on at most 40 lines of 100 columns with the commands of `explain`."""
    changed = _changed(comparison)
    shown = changed[:_FEW_ROWS]
    left = [Prose(f"{len(changed) - len(shown)} more rows changed (`--full` lists them).")] * (
        len(changed) > len(shown)
    )
    unpaired = [f"{each.case}: {each.reason}." for each in comparison.unpaired[:_FEW_CASES]]
    if len(comparison.unpaired) > len(unpaired):
        unpaired.append(Prose(f"{len(comparison.unpaired) - len(unpaired)} more (`--full` lists them)."))
    gate = comparison.gate
    parts = [
        Section(_title(comparison), _brief_table(shown) if shown else None, [*left, *_row_notes(comparison)]),
        _moved_section(comparison, _FEW_FUNCTIONS),
        _settings_section(comparison, _FEW_SETTINGS),
        Section("Not compared", None, unpaired) if unpaired else None,
        Section("What both are", None, [*_side_notes(comparison, brief=True), *_agreement_notes(comparison)[:2]]),
        # The rows over the limit are those in the table's first lines.
        Section(f"Gate: {'passed' if gate.passed else 'FAILED'}", None, _gate_notes(comparison)[:1] + _lost_notes(gate))
        if gate
        else None,
    ]
    return [part for part in parts if part]


def explain_commands(comparison: Comparison, runs: str = "") -> list[str]:
    """The commands that say which functions the greatest changes are of, ready to paste; one for each case."""
    if comparison.a.baseline:
        # Its runs are gone: it keeps the functions itself.
        return []
    rows = {(row.case, row.case_b): row for row in reversed(_changed(comparison)) if row.difference and row.ratio}
    folder = ["--runs", runs] if runs else []
    found = []
    for row in list(reversed(rows.values()))[:_FEW_COMMANDS]:
        region = ["--measure", row.measure, "--place", row.place]
        if not comparison.a.selection:
            runs_of = [comparison.a.run, comparison.b.run]
            found.append(_typed(["worldwise", "diff", *runs_of], folder, ["--case", row.case], region))
        elif row.place == row.place_b:
            found.append(_typed(["worldwise", "diff", row.case], [row.case_b], region))
    return found


def _typed(*parts: Sequence[str]) -> str:
    """A command as it is typed, in lines of the screen's width where a part begins, as far as that goes."""
    lines = [""]
    for part in filter(None, parts):
        text = shlex.join(part)
        # Two for the backslash.
        if lines[-1] and len(lines[-1]) + 1 + len(text) + 2 > _MOST_WIDTH:
            lines.append("    ")
        lines[-1] = f"{lines[-1]} {text}"
    return "  " + " \\\n  ".join(line.removeprefix(" ") for line in lines)


def _changed(comparison: Comparison) -> list[ComparedRow]:
    """The rows that are not the same, those over the limit first, then by how much changed."""
    return sorted(
        (row for row in comparison.rows if row.verdict != "same" or not row.same_inputs),
        key=lambda row: (not row.exceeds, -abs((row.ratio or 1) - 1)),
    )


def _brief_table(rows: Sequence[ComparedRow]) -> Table:
    """Without what --full has too; where cases have long ids, without the medians of which B - A is the difference."""
    table = _table(rows)
    dropped = [at for at, head in enumerate(table.headers) if head in _OF_FULL]
    table = table.without(dropped)
    cells = [[*row[:-1], row[-1].replace("OVER THE LIMIT", "over")] for row in table.rows]
    table = Table(table.headers, cells, table.left, table.names)
    for head in ("B, median\ninstr", "A, median\ninstr", "place", "measure"):
        if table.width > _MOST_WIDTH and head in table.headers:
            table = table.without([table.headers.index(head)])
    return table


_OF_FULL = ("n", "calls that\ndiffer", "worst call\nB - A, instr")


def sections(comparison: Comparison, full: bool = False) -> list[Section]:
    """The parts of a comparison, in order: counts, cases not compared, the two sides, the verdict."""
    rows = [row for row in comparison.rows if full or row.verdict != "same" or not row.same_inputs]
    parts = [
        Section(
            f"{_title(comparison)}: medians, and B less A",
            _table(rows) if rows else None,
            _row_notes(comparison, " (--full lists them)" if not full else ""),
        ),
        _moved_section(comparison, _MOST_FUNCTIONS),
        _settings_section(comparison, len(comparison.settings)),
        _unpaired_section(comparison),
        Section("What both are", None, [*_side_notes(comparison), *_agreement_notes(comparison)]),
    ]
    if comparison.gate:
        parts.append(
            Section(f"Gate: {'passed' if comparison.gate.passed else 'FAILED'}", None, _gate_notes(comparison))
        )
    return [part for part in parts if part]


def to_json(comparison: Comparison) -> str:
    """The whole comparison as JSON, with a format number."""
    return json_text(comparison.model_dump_json(indent=2)) + "\n"


def to_csv(comparison: Comparison) -> str:
    """One line per row, units in the headers."""
    columns: Mapping[str, Callable[[ComparedRow], object]] = {
        "case": lambda row: row.case,
        "case_b": lambda row: row.case_b,
        "measure": lambda row: row.measure,
        "place": lambda row: row.place,
        "place_b": lambda row: row.place_b,
        "n_a": lambda row: row.a.n,
        "n_b": lambda row: row.b.n,
        "first_a_instructions": lambda row: row.a.first,
        "first_b_instructions": lambda row: row.b.first,
        "median_a_instructions": lambda row: ci_formats.plain(row.a.median),
        "median_b_instructions": lambda row: ci_formats.plain(row.b.median),
        "difference_instructions": lambda row: ci_formats.plain(row.difference),
        "ratio": lambda row: row.ratio,
        "same_inputs": lambda row: str(row.same_inputs).lower(),
        "calls_differ": lambda row: row.calls_differ,
        "worst_call": lambda row: row.worst.index if row.worst else None,
        "worst_call_a_instructions": lambda row: row.worst.a if row.worst else None,
        "worst_call_b_instructions": lambda row: row.worst.b if row.worst else None,
        "identical_records": lambda row: str(row.identical).lower(),
        "verdict": lambda row: row.verdict,
        "judged": lambda row: row.judged,
        "exceeds": lambda row: None if row.exceeds is None else str(row.exceeds).lower(),
    }
    return csv_text([[*columns], *([value(row) for value in columns.values()] for row in comparison.rows)])


def to_markdown(comparison: Comparison) -> str:
    """A summary that fits a page of continuous integration: the verdict first, and the rows that matter most."""
    gate = comparison.gate
    verdict = "" if gate is None else "Passed: " if gate.passed else "Failed: "
    changed = _changed(comparison)
    shown = changed[:_MOST_ROWS]
    notes = _row_notes(comparison)
    if len(changed) > len(shown):
        notes.insert(0, f"The {len(shown)} rows with the greatest change; {len(changed) - len(shown)} more changed.")
    parts = [
        Section(
            f"{verdict}{_title(comparison)}",
            _table(shown) if shown else None,
            [*_gate_notes(comparison), *notes],
        ),
        _moved_section(comparison, _MOST_FUNCTIONS),
        _settings_section(comparison, len(comparison.settings)),
        _unpaired_section(comparison),
        Section("What both are", None, [*_side_notes(comparison), *_agreement_notes(comparison)]),
    ]
    return markdown_text(filter(None, parts))


def to_junit(comparison: Comparison) -> str:
    """JUnit XML: a test case for each row, failed if it is over the gate's limit, and for each case not compared."""
    results = [
        ci_formats.Result(
            group=f"{row.target}.{row.variant}",
            name=" ".join(filter(None, (row.operation, row.parameters, row.measure, row.place))),
            state="failed" if row.exceeds else "passed",
            message=_judgement(row, comparison) if row.exceeds else "",
            details=_sentence(row),
        )
        for row in comparison.rows
    ]
    gated = comparison.gate is not None and comparison.gate.lost > 0
    for each in comparison.unpaired:
        target, variant, rest = each.case.split("/")
        state: ci_formats.State = "error" if each.lost and gated else "skipped"
        results.append(ci_formats.Result(f"{target}.{variant}", rest, state, f"{each.case}: {each.reason}", ""))
    facts = {
        f"{name}.{key}": value
        for name, side in (("a", comparison.a), ("b", comparison.b))
        for key, value in (("run", side.run), ("selection", side.selection), ("lab", side.lab), ("git", side.git))
        if value
    }
    return ci_formats.to_junit(f"worldwise: {_title(comparison)}", results, facts)


def to_github_action_benchmark(comparison: Comparison) -> str:
    """B's medians as github-action-benchmark reads them (`customSmallerIsBetter`)."""
    return ci_formats.to_github_action_benchmark(_figures(comparison))


def to_bencher(comparison: Comparison) -> str:
    """B's medians in Bencher Metric Format."""
    return ci_formats.to_bencher(_figures(comparison))


EXPORTERS: Mapping[str, Callable[[Comparison], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "junit": to_junit,
    "github-action-benchmark": to_github_action_benchmark,
    "bencher": to_bencher,
}


def _figures(comparison: Comparison) -> Iterable[ci_formats.Figure]:
    for row in comparison.rows:
        yield ci_formats.Figure(
            name=f"{row.case_b} {row.measure} {row.place_b}",
            measure="instructions",
            value=row.b.median,
            low=row.b.min,
            high=row.b.max,
            extra=f"n = {row.b.n}; {_sentence(row)}",
        )


def _title(comparison: Comparison) -> str:
    a, b = comparison.a, comparison.b
    if a.selection:
        return f"A = {a.selection}, B = {b.selection}, of run {a.run}"
    return f"A = {a.run}, B = {b.run}"


def _table(rows: Sequence[ComparedRow]) -> Table:
    calls = any(row.calls_differ is not None for row in rows)
    headers = ["case", "measure", "place", "n", "A, median\ninstr", "B, median\ninstr", "B - A\ninstr", "B / A"]
    headers += ["calls that\ndiffer", "worst call\nB - A, instr"] if calls else []
    headers += ["verdict"]
    cells = []
    for row in rows:
        line = [
            _case_label(row),
            row.measure,
            row.place if row.place == row.place_b else f"{row.place} / {row.place_b}",
            count(row.a.n) if row.a.n == row.b.n else f"{row.a.n} / {row.b.n}",
            count(row.a.median),
            count(row.b.median),
            signed(row.difference),
            _ratio(row),
        ]
        if calls:
            line += [
                "-" if row.calls_differ is None else f"{row.calls_differ} of {1 + row.a.warmup + row.a.n}",
                "-" if row.worst is None else signed(row.worst.b - row.worst.a),
            ]
        cells.append([*line, f"{row.finding}{', OVER THE LIMIT' if row.exceeds else ''}"])
    return Table(headers, cells, 3)


def _case_label(row: ComparedRow) -> str:
    """The case; if variants are compared, the part of the id that both share."""
    if row.case == row.case_b:
        return row.case
    a, b = row.case.split("/"), row.case_b.split("/")
    common = [one if one == two else "*" for one, two in zip(a[:2], b[:2], strict=True)]
    words_a, words_b = a[2].split(","), b[2].split(",")
    return "/".join([*common, ",".join(word for word in words_a if word in words_b)])


def _row_notes(comparison: Comparison, hint: str = "") -> list[str]:
    """Sentences on all rows; `hint` says how to see the equal rows, if there is a way."""
    rows = comparison.rows
    same = [row for row in rows if row.verdict == "same" and row.same_inputs]
    cases = {row.case: row.identical for row in rows} | comparison.outcomes
    notes = []
    if same and comparison.a.baseline:
        notes.append(f"{len(same)} of {len(rows)} rows have the same median, to the instruction{hint}.")
    elif same:
        notes.append(f"{len(same)} of {len(rows)} rows are the same, call by call to the instruction{hint}.")
    if cases and not comparison.a.selection and not comparison.a.baseline:
        notes.append(f"{sum(cases.values())} of {len(cases)} cases have the same records, to the byte.")
    other = sum(not row.same_inputs for row in rows)
    if other:
        notes.append(
            f"{other} rows have other inputs: the two sides did not do the same work call by call (other random keys "
            "or nonces, or another number of calls), so that part of the difference may be theirs. Their calls are "
            "not compared one by one."
        )
    for case, same_outcome in comparison.outcomes.items():
        notes.append(f"{case} has no counts; what came out is {'the same' if same_outcome else 'NOT the same'}.")
    return notes


def _moved_section(comparison: Comparison, most: int) -> Section | None:
    """The functions that moved the medians, of a baseline that keeps them."""
    if not comparison.moved:
        return None
    per_case: dict[str, int] = {}
    lines = []
    for one in comparison.moved:
        per_case[one.case] = per_case.get(one.case, 0) + 1
        if per_case[one.case] <= most:
            lines.append([one.case, one.function, one.line, f"{one.a:,}", f"{one.b:,}", f"{one.b - one.a:+,}"])
    left = len(comparison.moved) - len(lines)
    headers = ["case", "function (file)", "dearest line\nof it in B", "A\ninstr", "B\ninstr", "B - A\ninstr"]
    texts = 3
    if not any(row[2] for row in lines):
        lines, headers, texts = [[*row[:2], *row[3:]] for row in lines], [*headers[:2], *headers[3:]], 2
    return Section(
        "Which functions moved it, in the median call",
        Table(headers, lines, texts),
        [Prose(f"{left} more functions moved.")] * bool(left),
    )


def _settings_section(comparison: Comparison, most: int) -> Section | None:
    """The settings of OP-TEE that differ between two stacks."""
    if not comparison.settings:
        return None
    shown = comparison.settings[:most]
    # Without the image where all settings are of one.
    images = {one.image for one in comparison.settings}
    rows = [[one.image, one.setting, one.a, one.b][len(images) == 1 :] for one in shown]
    headers = ["OP-TEE", "setting", "A", "B"][len(images) == 1 :]
    left = len(comparison.settings) - len(shown)
    return Section(
        "Settings of OP-TEE that differ",
        Table(headers, rows, len(headers)),
        [Prose(f"{left} more settings differ (`--full` lists them).")] * bool(left),
    )


def _unpaired_section(comparison: Comparison) -> Section | None:
    notes = [f"{each.case}: {each.reason}." for each in comparison.unpaired]
    return Section("Not compared", None, notes) if notes else None


def _side_notes(comparison: Comparison, brief: bool = False) -> list[str]:
    if brief and comparison.a.run == comparison.b.run:
        return [f"Both: {_provenance(comparison.a)}"]
    return [f"{name}: {_provenance(side)}" for name, side in (("A", comparison.a), ("B", comparison.b))]


def _provenance(side: Side) -> str:
    if side.baseline:
        return f"{side.run}, {side.baseline}; worldwise {side.worldwise}; lab {side.lab[:12] or 'none'}."
    revision = f", revision {side.git}" if side.git else ""
    own = "".join(f"; {name} {digest[:12]}" for name, digest in side.own.items())
    state = "" if side.state == "complete" else f" ({side.state})"
    said = lock_differences.whole(side.drift)
    differs = f" {said}" if said else ""
    return (
        f"run {side.run}{state}, begun {side.started}; worldwise {side.worldwise}{revision}; "
        f"lab {side.lab[:12] or 'none'}{own}.{differs}"
    )


def _agreement_notes(comparison: Comparison) -> list[str]:
    allowed = [f"They differ, as you allowed, in {each.what}: {each.detail}." for each in comparison.disagreements]
    return [*allowed, *comparison.notes]


def _gate_notes(comparison: Comparison) -> list[str]:
    gate = comparison.gate
    if gate is None:
        return []
    over = f"{gate.exceeded} of {gate.judged} rows exceed A by more than {gate.limit}."
    judged = {row.judged for row in comparison.rows}
    rule = {
        frozenset({"calls"}): "Every call is judged, the first and the warm-up included.",
        frozenset({"median"}): "The medians are judged.",
    }.get(
        frozenset(each for each in judged if each), "On boards with the same inputs every call is judged, else medians."
    )
    notes = [f"{over} {rule}", *(_judgement(row, comparison) for row in comparison.exceeding[:_MOST_ROWS])]
    return notes + _lost_notes(gate)


def _lost_notes(gate: Gate) -> list[str]:
    return [Prose(f"{gate.lost} cases or rows of A are not in B (`--allow cases` lets that pass).")] * bool(gate.lost)


def _judgement(row: ComparedRow, comparison: Comparison) -> str:
    """Why a row is over the limit: its median, and the worst call if calls are judged."""
    limit = comparison.gate.limit if comparison.gate else ""
    over = row.worst if row.judged == "calls" else None
    call = f"; call {over.index} {signed(over.b - over.a)} ({over.a:,} to {over.b:,})" if over else ""
    return f"{row.name}: median {_sentence(row)}{call}; the limit is {limit}"


def _sentence(row: ComparedRow) -> str:
    inputs = "" if row.same_inputs else ", other inputs"
    return (
        f"{signed(row.difference)} instructions ({count(row.a.median)} to {count(row.b.median)}, "
        f"B / A = {_ratio(row)}{inputs})"
    )


def _ratio(row: ComparedRow) -> str:
    """The ratio with six digits, so that a change of one instruction in a million shows."""
    return "-" if row.ratio is None else f"{row.ratio:,.6f}" if row.ratio < 100 else f"{row.ratio:,.2f}"
