# SPDX-License-Identifier: BSD-2-Clause
"""What a family declares to `explain`: how to split a call of its own cases into parts.

A family's file `explained.py` has the constant EXPLAINED: see worldwise.base.family_stages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worldwise.base.tables import Section
from worldwise.explain.owners import Explainer
from worldwise.plan.case import Case


@dataclass(frozen=True)
class Explained:
    """How a family splits a call into parts, beside the tables of every explanation.

    Attributes:
        measure: the measure whose call is split.
        takes: whether a case has such calls.
        sections: the parts of one call in instructions, of the sample of an index, or of the median one. Raises
        WorldwiseError if the trace lacks a region that is needed.
    """

    measure: str
    takes: Callable[[Case], bool]
    sections: Callable[[Explainer, int | None], Sequence[Section]]
