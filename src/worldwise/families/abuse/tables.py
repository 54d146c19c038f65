# SPDX-License-Identifier: BSD-2-Clause
"""Reports of wrong calls: what each TA answered to every wrong call of its table, and to calls at random."""

from collections import Counter
from collections.abc import Iterable, Mapping

from worldwise.base.tables import Section, Table
from worldwise.families.abuse.spec import ABUSE
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.read.models import Attempt, Reading
from worldwise.report.table_builder import answer, name, number
from worldwise.report.tables import Group, ScreenAnswer, Tables

RANDOM = "random call, answered by "
_BEGIN = "random calls begin"
_NOT_TRIED = "not tried"
_KINDS = (
    "wrong type",
    "size 0",
    "too small",
    "too large",
    "uneven",
    "NULL",
    "wrong value",
    "wrong state",
    "wrong session",
    "unknown command",
)
_RIGHT = "right call"
_WHOSE = ("the TA", "OP-TEE's core", "Linux", "libteec")
_SUCCESS = "TEE_SUCCESS"
_PANIC = "TEE_ERROR_TARGET_DEAD"


def abuse_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on `abuse`; empty if the run has no such rows. `full` has each command and each code."""
    attempts = [attempt for attempt in reading.attempts if attempt.operation == ABUSE]
    parts = [_table_section(attempts, full), _random_section(attempts), *([_codes_section(attempts)] if full else [])]
    return [part for part in parts if part]


def _ta(attempt: Attempt) -> str:
    """The TA's name, with the library that is compiled into it if there is one."""
    name = attempt.given["ta"]
    library = attempt.case.split("/")[1].rpartition("-")[0]
    return name if library in IMPLEMENTATIONS else f"{name} with {library}"


def _split(attempt: Attempt) -> tuple[str, str]:
    """The command of a call of the table, and what is wrong with the call."""
    command, _, kind = attempt.what.partition(": ")
    return command, kind


def _short(codes: Iterable[str]) -> str:
    return ", ".join(sorted(code.removeprefix("TEE_ERROR_") for code in set(codes)))


def _table_section(attempts: Iterable[Attempt], full: bool) -> Section | None:
    tries: dict[tuple[str, ...], Counter[str]] = {}
    answers: dict[tuple[str, ...], list[str]] = {}
    commands: dict[str, set[str]] = {}
    notes: dict[str, None] = {}
    for attempt in attempts:
        if attempt.what == _BEGIN or attempt.what.startswith(RANDOM):
            continue
        command, kind = _split(attempt)
        ta = _ta(attempt)
        if attempt.result == _NOT_TRIED:
            notes[f"{ta}, {command}, {kind}: not tried, {attempt.detail}."] = None
            continue
        key = (ta, command) if full else (ta,)
        tries.setdefault(key, Counter())[kind] += 1
        if kind == _RIGHT:
            commands.setdefault(ta, set()).add(command)
        else:
            answers.setdefault(key, []).append(attempt.result)
    if not tries:
        return None
    kinds = [kind for kind in _KINDS if any(kind in counts for counts in tries.values())]

    def line(names: Iterable[str], commands: int, counts: Mapping[str, int]) -> list[str]:
        wrong = sum(number for kind, number in counts.items() if kind != _RIGHT)
        each = (f"{counts[kind]:,}" if counts[kind] else "-" for kind in kinds)
        return [*names, *([] if full else [str(commands)]), *each, f"{wrong:,}"]

    cells = [line(key, len(commands.get(key[0], ())), counts) for key, counts in tries.items()]
    if len(cells) > 1:
        every = sum(tries.values(), Counter[str]())
        cells.append(line(["all", ""] if full else ["all"], sum(map(len, commands.values())), every))
    headers = ["TA", *(["command"] if full else ["\ncommands"]), *(kind.replace(" ", "\n", 1) for kind in kinds), "all"]
    codes = [f"{' '.join(key)}: {_short(results)}." for key, results in answers.items()]
    return Section(
        "Wrong calls from a table: each got the one GlobalPlatform error that it must get, and changed nothing",
        Table(headers, cells, 2 if full else 1),
        [
            "Numbers of calls, each in a session of its own. A case fails if another answer comes, or if a refused "
            "call changes an output, a size or a byte behind a buffer. NULL: no buffer, but a size: libteec refuses "
            "it. wrong session: closed, never opened, another context's: Linux refuses it. Each command was called "
            "correctly too, before all else and after the random calls.",
            f"The errors that each TA gave. {' '.join(codes)}",
            *notes,
        ],
        name="abuse",
    )


def _random(attempts: Iterable[Attempt]) -> Mapping[str, Counter[tuple[str, str]]]:
    """TA -> (who answered, code) -> calls."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for attempt in attempts:
        if attempt.what.startswith(RANDOM):
            whose = attempt.what.removeprefix(RANDOM)
            found.setdefault(_ta(attempt), Counter())[whose, attempt.result] += int(attempt.detail)
    return found


def _random_section(attempts: list[Attempt]) -> Section | None:
    found = _random(attempts)
    if not found:
        return None
    cells = [[ta, *_who_answered(counts)] for ta, counts in found.items()]
    if len(cells) > 1:
        cells.append(["all", *_who_answered(sum(found.values(), Counter[tuple[str, str]]()))])
    headers = ["TA", "\ncalls", "the TA:\nsuccess", "the TA:\nerror", "OP-TEE's\ncore", "\nLinux", "\nlibteec"]
    headers += ["different\ncodes", "\npanics"]
    begun = dict.fromkeys(attempt.detail.partition(", ")[2] for attempt in attempts if attempt.what == _BEGIN)
    return Section(
        "Calls at random: who answered, and how",
        Table(headers, cells, 1),
        [
            "Known and unknown commands, types, sizes, contents, values, temporary and registered "
            "memory, on four sessions that are closed and opened again now and then. Every call depends on the seed "
            f"alone ({', '.join(begun)}). A code that GlobalPlatform does not define, a panic "
            "(TEE_ERROR_TARGET_DEAD) and "
            "a byte behind a buffer that changed fail the case at once, with the call's number."
        ],
        name="abuse-random",
    )


def _who_answered(counts: Counter[tuple[str, str]]) -> list[str]:
    """The calls, then how many each one answered, then the different codes and the panics."""
    of_ta = sum(number for (whose, _), number in counts.items() if whose == _WHOSE[0])
    success = counts[_WHOSE[0], _SUCCESS]
    others = (sum(n for (other, _), n in counts.items() if other == whose) for whose in _WHOSE[1:])
    codes = len({code for _, code in counts})
    return [f"{number:,}" for number in (counts.total(), success, of_ta - success, *others, codes, _panics(counts))]


def _panics(counts: Counter[tuple[str, str]]) -> int:
    """How many calls ended in a panic of the TA."""
    return sum(number for (_, code), number in counts.items() if code == _PANIC)


def _codes_section(attempts: list[Attempt]) -> Section | None:
    cells = [
        [ta, whose, code, f"{counts[whose, code]:,}", f"{100 * counts[whose, code] / counts.total():,.2f}"]
        for ta, counts in _random(attempts).items()
        for whose, code in sorted(counts, key=lambda key: (_WHOSE.index(key[0]), key[1]))
    ]
    return (
        Section(
            "Calls at random: every code",
            Table(["TA", "answered by", "code", "calls", "% of\ncalls"], cells, 3),
            name="abuse-codes",
        )
        if cells
        else None
    )


def abuse_answer(reading: Reading) -> list[ScreenAnswer]:
    """Wrong calls and calls at random by TA; nothing if the run tried none."""
    attempts = [attempt for attempt in reading.attempts if attempt.operation == ABUSE]
    random = _random(attempts)
    tried = [one for one in attempts if one.what != _BEGIN and not one.what.startswith(RANDOM)]
    wrong = Counter(_ta(one) for one in tried if one.result != _NOT_TRIED and _split(one)[1] != _RIGHT)
    untried = sum(one.result == _NOT_TRIED for one in tried)

    return answer(
        "What TAs answer to wrong calls",
        list(dict.fromkeys(map(_ta, attempts))),
        [
            name("TA", lambda ta: ta),
            number("wrong calls,\nall refused", lambda ta: f"{wrong[ta]:,}"),
            number("calls at\nrandom", lambda ta: f"{random.get(ta, Counter()).total():,}"),
            number("\npanics", lambda ta: f"{_panics(random.get(ta, Counter())):,}"),
        ],
        (section.name for section in abuse_sections(reading)),
        surprises=(f"Wrong calls that could not be tried: {untried:,}.",) if untried else (),
        verdict="Every wrong call got the one error that it must get, and changed nothing: another answer fails its "
        "case.",
    )


TABLES = Tables(groups=(Group(430, abuse_sections),), answers=abuse_answer)
