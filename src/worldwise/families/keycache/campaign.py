# SPDX-License-Identifier: BSD-2-Clause
"""The key cache's campaigns: a power cut while its server takes keys, and the other attempts on it."""

import tempfile
from pathlib import Path

from worldwise.families.keycache.attempts import HOLD_ATTEMPTS, NOT_TRIED
from worldwise.families.keycache.power_cut import judge
from worldwise.families.keycache.spec import KEYCACHE_CUT, KEYCACHE_HOLD
from worldwise.machine.elf_files.program_addresses import symbol_address
from worldwise.machine.machine import RECORDS
from worldwise.records.models import CUT, Outcome
from worldwise.records.parse import read_records
from worldwise.run.campaign import PROGRAM, Campaign, Trial, outcomes
from worldwise.run.power_cuts import JOURNAL, LEFT, Cuts, spread
from worldwise.targets.optee import OPTEE_TARGETS

# A machine writes this while it has nothing else to report, so that it does not count as hanging.
_PROGRESS = "progress"
# Further files that a machine leaves: the additions to its server's log of records, and its client's requests and
# confirmations; also the journal and the log as they are when the cuts begin.
_SHADOW = "shadow"
_ASKED = "asked"
_BASES = {JOURNAL: "base", _SHADOW: "base-log"}
_CUT_READY = "worldwise_cut_ready"


def _hold(trial: Trial) -> None:
    storage = dict(trial.case.parameters)["storage"]
    for attempt in HOLD_ATTEMPTS:
        if attempt not in NOT_TRIED.get(storage, ()):
            with trial.step("hold", f"storage={storage}", f"attempt={attempt}") as work:
                for said in outcomes(read_records(work / RECORDS)):
                    if said.what != _PROGRESS:
                        trial.outcome(said.what, said)


def _cut(trial: Trial) -> None:
    case, parameters = trial.case, dict(trial.case.parameters)
    found: dict[tuple[int, int], list[Outcome]] = {}
    words = [word for word in case.arguments if not word.startswith("points=")]
    step = ("cut-write", *words)
    read = ("cut-read", *(word for word in words if word.startswith(("storage=", "stream="))))
    with tempfile.TemporaryDirectory(prefix="ww-campaign-") as temporary:
        prepared = trial.emulator.prepare(
            trial.machine, [PROGRAM, *step], _cut_address(trial), Path(temporary), tuple(_BASES.values())
        )
        base = {name: (prepared / file).read_bytes() for name, file in _BASES.items()}
        cuts = Cuts(trial, step, prepared)
        length, whole = cuts.whole(*base, _ASKED)
        points = spread(length, int(parameters["points"]))
        for at, left in zip(points, cuts.at(points, whole), strict=True):
            stored = len(left[JOURNAL]), len(left[_SHADOW])
            if stored not in found:
                files = {name: content + left[name] for name, content in base.items()}
                with trial.step(*read, files=files) as work:
                    found[stored] = outcomes(read_records(work / RECORDS))
            trial.outcome(CUT, judge(left[_ASKED].decode("ascii"), found[stored]), at)


def _cut_address(trial: Trial) -> int:
    """The program's state when everything is ready for the first request."""
    recipes = OPTEE_TARGETS[trial.case.target].recipes(trial.case)
    built = trial.images.get(next(recipe for recipe in recipes if recipe.name.startswith("programs-")))
    return symbol_address(built.file(Path(PROGRAM).name), _CUT_READY)


CAMPAIGN = Campaign(tries={KEYCACHE_HOLD: _hold, KEYCACHE_CUT: _cut}, left=(*LEFT, _SHADOW, _ASKED))
