# SPDX-License-Identifier: BSD-2-Clause
"""Words for rows that the tables of several families share: machine, build, samples, a library's claims."""

from collections.abc import Callable, Iterable

from worldwise.libraries.cores import PLAIN_MACHINES, PLAIN_TARGETS
from worldwise.libraries.implementation import CONSTANT_TIME, IMPLEMENTATIONS, LICENCES, TWEETNACL
from worldwise.libraries.portable import OPTIMISATIONS, portables
from worldwise.read.models import Row


def core_of(row: Row) -> str:
    """The core that a row was measured on; empty if its target has no choice of cores."""
    return row.core or row.given.get("core", PLAIN_TARGETS.get(row.target, ""))


def options_text(row: Row) -> str:
    """The build options of a row's case, as its id has them; empty for the default."""
    return row.given.get("options", "")


def machine_of(row: Row) -> tuple[str, str]:
    """Target and core of a row."""
    return (row.target, core_of(row))


def machine_text(machine: tuple[str, str]) -> str:
    """A machine's name in titles: `Linux on Armv7-A (Cortex-A9)`."""
    target, core = machine
    title = PLAIN_MACHINES[target].title if target in PLAIN_MACHINES else target
    # A host says its core in words.
    return f"{title} ({core if ' ' in core else core.title()})"


def machines(rows: Iterable[Row]) -> list[tuple[str, str]]:
    """The machines that rows are of, by target and core."""
    return sorted({machine_of(row) for row in rows})


def level_rank(optimisation: str) -> int:
    """An optimisation's place in tables: from -O0 to -O3."""
    return OPTIMISATIONS.index(optimisation) if optimisation in OPTIMISATIONS else len(OPTIMISATIONS)


def by_includes(rows: Iterable[Row], what: Callable[[Row], str], text: Callable[[Row], str]) -> dict[str, list[str]]:
    """What counts include, each text once, and what has it: `text` and `what` of each row."""
    found: dict[str, list[str]] = {}
    for row in rows:
        names = found.setdefault(text(row), [])
        if what(row) not in names:
            names.append(what(row))
    return found


def samples_text(rows: Iterable[Row]) -> str:
    """`(n = 100)`, or the least and the most where they differ."""
    sizes = sorted({row.counts.n for row in rows})
    return f"(n = {sizes[0]:,})" if len(sizes) == 1 else f"(n = {sizes[0]:,} to {sizes[-1]:,})"


def claim(implementation: str, curve: str = "") -> tuple[str, str, str]:
    """A library's claim of constant time, in a word; where its authors make the claim; and its licence."""
    if implementation in IMPLEMENTATIONS:
        library = TWEETNACL if curve in ("ed25519", "x25519") else IMPLEMENTATIONS[implementation].library
        text, licence = CONSTANT_TIME[library], LICENCES[library]
    else:
        known = portables().get(implementation)
        if known is None:
            return "?", "a library of the user's own that is not here", "?"
        text, licence = known.manifest.constant_time, known.manifest.licence
    word, _, where = text.partition(": ")
    return word, where, licence.replace("-or-later", "+")


def licence_text(implementation: str, curve: str = "") -> str:
    """A library's licence; of those that its user may choose from, the first permissive one."""
    choices = claim(implementation, curve)[2].split(" OR ")
    return next(filter(_is_permissive, choices), " OR ".join(choices))


def is_permissive(implementation: str, curve: str = "") -> bool:
    """Whether a library can be linked into a product without conditions on the product's own source."""
    return any(map(_is_permissive, claim(implementation, curve)[2].split(" OR ")))


def _is_permissive(licence: str) -> bool:
    # By SPDX names. One that is unknown is not taken for permissive.
    return licence.startswith(("Apache-", "BSD-", "MIT", "ISC", "0BSD", "CC0-", "Unlicense", "public domain"))
