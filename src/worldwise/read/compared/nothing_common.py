# SPDX-License-Identifier: BSD-2-Clause
"""Two runs, or two selections of one, without a case that is complete in both: what they have instead, and the way out.

Reads ids and states of cases, no records.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from worldwise.base.errors import WorldwiseError
from worldwise.plan.spec import OWN
from worldwise.read.compared.comparison import Unpaired
from worldwise.read.compared.selection import CaseParts
from worldwise.run.folder.rundir import Run

# Names of cases, and values of what differs, that a line has.
_FEW = 3


def nothing_common(
    what: str, runs: tuple[Run, Run], sides: tuple[Collection[str], Collection[str]], unpaired: Sequence[Unpaired]
) -> WorldwiseError:
    """The error that says so.

    Args:
        what: how it begins.
        runs: of A and of B; the same one twice for two selections of it.
        sides: the ids of the cases that were chosen of each.
        unpaired: each case of either side, and why it has no partner.
    """
    a, b = sides
    common = set(a) & set(b)
    lines = [
        f"{name}: run {run.id}, {_counted(ids)}: {_named(list(ids))}"
        for name, run, ids in zip("AB", runs, sides, strict=True)
    ]
    reasons = Counter(one.reason for one in unpaired if one.case in common)
    lines += [
        f"{_counted(cases)} {'is' if len(cases) == 1 else 'are'} in both, but {reason}: {_named(cases)}"
        for reason, _ in reasons.most_common(_FEW)
        if (cases := [one.case for one in unpaired if one.case in common and one.reason == reason])
    ]
    differ = _differing(a, b)
    lines += [f"{name}: {_named(sorted(one))} / {_named(sorted(other))}" for name, (one, other) in differ.items()]
    return WorldwiseError(what, _way_out(runs, sides, bool(reasons), list(differ)), "\n".join(lines))


def _counted(cases: Collection[str]) -> str:
    return f"{len(cases):,} case{'' if len(cases) == 1 else 's'}" if cases else "no case"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW:,} more" if len(names) > _FEW else ""
    return (", ".join(names[:_FEW]) + more) or "-"


def _differing(a: Collection[str], b: Collection[str]) -> dict[str, tuple[set[str], set[str]]]:
    """The parts of ids of which no value is on both sides: name -> the values of each side."""
    try:
        sides = [[CaseParts.of(case) for case in ids] for ids in (a, b)]
    except ValueError:
        # A run that somebody else has written may say anything.
        return {}
    if not all(sides):
        return {}
    is_own = all(part.target == OWN for side in sides for part in side)
    kinds: dict[str, Callable[[CaseParts], str]] = {
        "targets": lambda part: part.target,
        "names of the code" if is_own else "libraries": _variant,
        "functions" if is_own else "operations": lambda part: part.operation,
        "parameters": lambda part: ",".join(f"{key}={value}" for key, value in part.parameters.items()),
    }
    found = {}
    for name, of in kinds.items():
        one, other = ({of(part) for part in side} for side in sides)
        if not one & other:
            found[name] = one, other
    return found


def _variant(part: CaseParts) -> str:
    return "-".join(filter(None, (part.implementation, part.optimisation)))


def _way_out(
    runs: tuple[Run, Run], sides: tuple[Collection[str], Collection[str]], in_both: bool, differ: Sequence[str]
) -> str:
    run_a, run_b = runs
    if in_both:
        return "see why a case failed: `worldwise report RUN`; complete a run: `worldwise run --resume RUN`"
    if run_a.path == run_b.path or not all(sides):
        return "choose others: `worldwise report RUN --all` lists what a run has"
    if differ == ["names of the code"]:
        return "give the code one name in both runs: `worldwise run ... --name NAME`"
    if len(differ) == 1 and differ[0] in ("targets", "libraries"):
        word = "TARGET" if differ[0] == "targets" else "VARIANT"
        return f"measure both in one run, and name them: `worldwise compare RUN {word}_A {word}_B`"
    if run_a.manifest.suite != run_b.manifest.suite:
        return "measure the same suite twice, with the same choice of cases (`--target`, `--variant`, `--operation`)"
    return "measure the same cases in both runs; `worldwise report RUN` lists those of one"
