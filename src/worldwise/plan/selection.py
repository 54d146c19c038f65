# SPDX-License-Identifier: BSD-2-Clause
"""Which cases of a suite are measured: filters, and the sweep over a library's build options."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from worldwise.base.choices import choice_error, close_names
from worldwise.base.errors import WorldwiseError
from worldwise.base.files import quoted
from worldwise.libraries import portable
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.curve_table import curve_name
from worldwise.libraries.portable import OPTIMISATIONS
from worldwise.plan.case import Case, Unavailable
from worldwise.plan.checks import in_order
from worldwise.plan.suite import Suite

# A message lists at most so many names; of more it lists only the close ones.
_FEW = 12


def swept(suite: Suite) -> Suite:
    """The suite with every case of a curve repeated for each combination of its library's build options.

    Cases of libraries without options stay as they are. Raises WorldwiseError if no library has options.
    """
    cases: dict[str, Case] = {}
    found = False
    for case in suite.cases:
        library = portable.portables().get(case.implementation)
        texts = [case.options]
        optional = case.target in PLAIN_TARGETS and case.operation in portable.OF_CURVE
        if optional and library and library.manifest.options:
            texts = [*library.grid(), case.options]
            found = True
        for text in texts:
            given = {key: value for key, value in case.parameters if key != "options"}
            chosen = replace(
                case, parameters=in_order(case.target, case.operation, given | ({"options": text} if text else {}))
            )
            cases.setdefault(chosen.id, chosen)
    if not found:
        raise WorldwiseError(
            f"suite {suite.name} has no case of a library with build options on {' or '.join(PLAIN_TARGETS)}: there is "
            "nothing to sweep.",
            "without a suite, --option-sweep takes suite options",
        )
    return replace(suite, cases=tuple(cases.values()))


def select(
    cases: Sequence[Case],
    variants: Collection[str] = (),
    operations: Collection[str] = (),
    targets: Collection[str] = (),
    curves: Collection[str] = (),
) -> list[Case]:
    """The cases that pass every filter, in their order. An empty filter passes everything.

    A filter's values are names or shell patterns (`mbedtls-nist-*`). Raises WorldwiseError if a value matches
    no case of the suite, or if together they leave nothing.
    """
    filters = (("variant", variants), ("operation", operations), ("target", targets), ("curve", curves))
    for kind, values in filters:
        present = _present(cases, kind)
        for value in values:
            if not any(fnmatchcase(name, value) for name in present):
                raise choice_error(kind, value, present, what="is not in any case of this suite")
    chosen = [
        case
        for case in cases
        if all(
            not values or (getattr(case, kind) and any(fnmatchcase(getattr(case, kind), value) for value in values))
            for kind, values in filters
        )
    ]
    if not chosen:
        asked = ", ".join(f"{kind} {' or '.join(values)}" for kind, values in filters if values)
        raise WorldwiseError(
            f"no case of this suite is {asked} at once." if asked else "the suite has no cases.",
            hint="the suite's cases: " + ", ".join(case.id for case in cases),
        )
    return chosen


def select_unavailable(
    unavailable: Iterable[Unavailable],
    variants: Collection[str] = (),
    operations: Collection[str] = (),
    targets: Collection[str] = (),
    curves: Collection[str] = (),
) -> list[Unavailable]:
    """What a suite lacks and passes the filters of `select`, in the suite's order. Raises no error."""

    def passes(one: Unavailable) -> bool:
        built = [f"{one.implementation}-{level}" for level in OPTIMISATIONS]
        filters = ((variants, built), (operations, [one.operation]), (targets, [one.target]), (curves, [one.curve]))
        return all(
            not values or any(name and fnmatchcase(name, value) for name in names for value in values)
            for values, names in filters
        )

    return [one for one in unavailable if passes(one)]


def curve_names(values: Iterable[str]) -> tuple[str, ...]:
    """The curves by the names in suites: P-256, p256 and prime256v1 become secp256r1. Patterns stay as they are."""
    return tuple(map(curve_name, values))


def require_known(cases: Sequence[Case], suite: str, kind: str, values: Iterable[str]) -> None:
    """Check the values of a filter, which are names or shell patterns; `kind` is an attribute of a case.

    Raises WorldwiseError if a value matches no case and there are too many names to list: the error names the close
    ones. If there are few names, `select` raises an error that lists them all.
    """
    known = _present(cases, kind)
    for value in values:
        if any(fnmatchcase(name, value) for name in known):
            continue
        if not known:
            raise WorldwiseError(
                f"suite {suite} has no case with a {kind}, so --{kind} {quoted(value)} cannot choose one.",
                f"leave --{kind} out; `worldwise suites {quoted(suite)}` shows what the suite has",
            )
        if len(known) > _FEW:
            close = close_names(value, known)
            raise WorldwiseError(
                f"{kind} '{quoted(value)}' is not in suite {suite}, which has {len(known)} {kind}s"
                + (f". Close to it: {', '.join(close)}." if close else "."),
                f"`worldwise suites {quoted(suite)}` lists all; '{_pattern(known)}' chooses several",
            )


def _present(cases: Sequence[Case], kind: str) -> list[str]:
    """The values that an attribute of a case has in some cases, each once and none empty."""
    return [name for name in dict.fromkeys(getattr(case, kind) for case in cases) if name]


def _pattern(known: Sequence[str]) -> str:
    return f"{known[0].partition('-')[0]}*"
