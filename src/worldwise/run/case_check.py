# SPDX-License-Identifier: BSD-2-Clause
"""A case that was just measured: its records are checked, and told in few words."""

import functools
from pathlib import Path
from statistics import median

from worldwise.base.errors import WorldwiseError
from worldwise.base.units import INSTRUCTIONS, Unit
from worldwise.machine.elf_files.program_addresses import address_name
from worldwise.machine.machine import RECORDS, Machine
from worldwise.machine.measurer import Measurer
from worldwise.plan.case import Case
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.globalplatform import name_results
from worldwise.records.parse import read_records


def check_run(
    case: Case, directory: Path, measurer: Measurer, machine: Machine, unit: Unit = INSTRUCTIONS
) -> CheckedRecords:
    """The checked records that a case has just left in a directory.

    Raises WorldwiseError with GlobalPlatform's name for a result, and the ends of the machine's consoles.
    """
    path = directory / RECORDS
    try:
        program = machine.symbols.get("program")
        symbol = functools.partial(address_name, program) if program else lambda _: ""
        return check_records(read_records(path), case, str(path), symbol, unit)
    except WorldwiseError as error:
        raise WorldwiseError(name_results(error.message), error.hint, measurer.diagnosis(directory, machine)) from None


def found_words(case: Case, checked: CheckedRecords) -> str:
    """The median of a case's first measure at its outermost place, in words; empty for a campaign."""
    for name, places in case.measures.items():
        counts = [one.count for one in checked.samples.get((name, places[-1]), ()) if one.phase == "sample"]
        if counts:
            return f", {name} {median(counts):,.0f} {checked.start.unit}"
    return ""
