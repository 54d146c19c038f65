# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the blind test: what came out by core and domain, and what it changed in the error lines."""

from worldwise.base.tables import Section, Table
from worldwise.predict.domains import Domain
from worldwise.predict.errors import ErrorLines
from worldwise.predict.rules import LEAST_FIGURES
from worldwise.validation.blind_test.results import BlindFigures, Test
from worldwise.validation.record import Run
from worldwise.validation.statistics import FigureErrors, Judge, error_lines, errors, judges


def numbers(found: FigureErrors) -> list[str]:
    """Figures, median, 90 %, worst and mean, as tables have them."""
    return [
        str(found.figures),
        *(f"{value:.1f}" for value in (found.median, found.p90, found.worst)),
        f"{found.bias:+.1f}",
    ]


def blind_section(found: BlindFigures, test: Test | None = None) -> Section:
    """What came out of a blind test, by core and domain: of all its figures, whatever they are for now.

    `test`: a later one; the first by default.
    """
    groups: dict[tuple[str, Domain], list[tuple[float, float, str]]] = {}
    for one in found.set:
        if one.test != (test.commit if test else ""):
            continue
        groups.setdefault((one.core, one.domain), []).extend(
            (predicted, measured, one.role) for _, predicted, measured in one.predicted
        )
    rows = []
    for (core, domain), some in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1].kind)):
        if some:
            judge = sum(role == "judge" for *_, role in some)
            made = errors((predicted, measured) for predicted, measured, _ in some)
            rows.append([core, domain.kind, *numbers(made), str(judge)])
    which, by = ("A later blind test", test) if test else ("The blind test", found.test)
    return Section(
        f"{which}: figures that nobody had compared, by the engine of {by.commit} ({by.made})",
        Table(["core", "code", "figures", "median", "90 %", "worst", "mean", "judge"], rows, left=2),
        ["judge: so many of them may only judge; a core may be fitted to the others from now on."],
        f"blind-{by.commit}" if test else "blind",
    )


def _pair(figure: tuple[str, float, float]) -> tuple[float, float]:
    _, predicted, measured = figure
    return predicted, measured


def again_section(found: BlindFigures) -> list[Section]:
    """What a later engine said of the same figures, beside what the first one did; none if it was not asked."""
    if not found.again:
        return []
    rows = []
    for one in sorted((one for one in found.set if one.again), key=lambda one: (one.core, one.domain.kind)):
        blind, again = errors(map(_pair, one.predicted)), errors(map(_pair, one.again))
        before = [f"{blind.median:.1f}", f"{blind.bias:+.1f}"]
        rows.append([one.core, one.domain.kind, one.source, one.role, *before, *numbers(again)])
    headers = ["core", "code", "of", "may", "blind", "mean", "figures", "again", "90 %", "worst", "mean"]
    return [
        Section(
            f"The same figures, predicted again ({found.again.made})",
            Table(headers, rows, left=4),
            ["blind, again: the medians, each with the mean with its sign behind it. may: what the figures may do."],
            "blind-again",
        )
    ]


def changed_section(run: Run, found: BlindFigures) -> Section:
    """The error lines of each domain before the blind test and after it."""
    before = judges(run)
    after = ErrorLines.model_validate_json(error_lines(run, found))
    # Where a figure is of a domain there is something to say of it.
    domains = sorted({(one.core, one.domain) for one in judges(run, found)}, key=lambda one: (one[0], one[1].kind))
    rows = []
    for core, domain in domains:
        line = after.line(core, domain)
        own = f"{line.figures}{'' if line.kind == domain.kind else ', joined'}" if line else ""
        rows.append(
            [
                core,
                domain.kind,
                *_before([one for one in before if one.core == core], domain),
                *((f"{line.median:.1f} ({own})", f"{line.least:.3f} to {line.most:.3f}") if line else _NONE),
            ]
        )
    return Section(
        "Error lines before the blind test, and after it",
        Table(["core", "code", "± %, before", "from, to before", "± %, after", "from, to after"], rows, left=2),
        [
            "In brackets: how many figures. Before: by integer or vector code, or by waiting, and from and to of all "
            "figures. joined: with other code, as too few figures are of this."
        ],
        "blind-changed",
    )


_NONE = ("unvalidated", "-")


def _before(some: list[Judge], domain: Domain) -> tuple[str, str]:
    """What the line of a domain was: of its kind, else of all code of the core."""
    if domain.waits is None:
        own = [one for one in some if (one.domain.code == "integer") == (domain.code == "integer")]
    else:
        own = [one for one in some if one.domain.waits == domain.waits]
    of = next((each for each in (own, some) if len(each) >= LEAST_FIGURES), None)
    if of is None:
        return _NONE
    made = errors(one.pair for one in of)
    return f"{made.median:.1f} ({made.figures})", f"{made.lowest:.3f} to {made.highest:.3f}"
