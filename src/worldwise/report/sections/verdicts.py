# SPDX-License-Identifier: BSD-2-Clause
"""The verdict on a budget in sentences: what fits and by whom, what does not, and what nobody judged."""

from collections.abc import Mapping, Sequence

from worldwise.read.contests import Match, worst_of
from worldwise.read.models import BudgetResult, Reading, Row
from worldwise.report.contests import names
from worldwise.report.sections.counts import label
from worldwise.report.sections.tasks import task_text, way_text
from worldwise.report.surprises import milliseconds
from worldwise.report.tables import task_of

# So many names stand in a sentence; more are counted.
_MOST = 4


def budget_verdict(reading: Reading) -> str:
    """Says what of a run fits its budget, what does not, and what was not judged; empty if it has no budget.

    Worst calls are judged, the first one included. By what is done: all variants that do the same are one verdict,
    which names the best of them. Measures that it does not name stand apart, so that a good verdict hides nothing.
    """
    budget = reading.budget
    if budget is None:
        return ""
    groups: dict[str, list[Row]] = {}
    for row in reading.rows:
        if row.place == budget.place:
            groups.setdefault(_what(row), []).append(row)
    judged = {name: rows for name, rows in groups.items() if any(row.against.verdict for row in rows)}
    words = [*(verdict_words(name, rows, budget, reading) for name, rows in judged.items())] or ["nothing was judged"]
    text = "; ".join(words)
    text = f"{text[0].upper()}{text[1:]}."
    if budget.fits is None:
        text += " Undecided as a whole: not every case was measured."
    others = {name: rows for name, rows in groups.items() if name not in judged}
    return text + unjudged_words(others, budget, reading)


def _what(row: Row) -> str:
    task = task_of(row)
    where = f" on {row.board}" if row.board else ""
    return (task_text(task) if task else label(row)) + where


def verdict_words(name: str, rows: Sequence[Row], budget: BudgetResult, reading: Reading) -> str:
    """`P-256 sign 48B fits with 9 of 14 variants, best wolfssl-sp-O2 (0.161 ms)`."""
    best = Match(tuple(rows)).least(worst_of)
    fitting = sum(row.counts.worst <= budget.instructions for row in rows)
    time = f"{milliseconds(best[0].counts.worst, reading)} ms"
    who = names(best, lambda row: way_text(row, rows))
    if len(rows) == 1:
        return f"{name} {'fits' if fitting else 'does not fit'}: {time} ({who})"
    if fitting == len(rows):
        return f"{name} fits with all {len(rows)} variants, best {who} ({time})"
    if fitting:
        return f"{name} fits with {fitting} of {len(rows)} variants, best {who} ({time})"
    return f"{name} fits with none of {len(rows)} variants, the fastest is {time} ({who})"


def unjudged_words(groups: Mapping[str, Sequence[Row]], budget: BudgetResult, reading: Reading) -> str:
    least = {name: min(row.counts.worst for row in rows) for name, rows in groups.items()}
    over = [
        f"{name} ({milliseconds(worst, reading)} ms at the least)"
        for name, worst in least.items()
        if worst > budget.instructions
    ]
    within = [name for name, worst in least.items() if worst <= budget.instructions]
    parts = []
    if over:
        parts.append(f"would not fit: {_listed(over)}")
    if within:
        parts.append(f"some variant would fit: {_listed(within)}")
    return f" Not judged, {'; '.join(parts)}." if parts else ""


def _listed(found: Sequence[str]) -> str:
    left = len(found) - _MOST
    return ", ".join(found[:_MOST]) + (f" and {left} more" if left > 0 else "")
