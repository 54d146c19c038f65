# SPDX-License-Identifier: BSD-2-Clause
"""What a family declares to `explain`: how a call of its own cases is taken apart.

This is the file `explained.py` of a family, with the constant EXPLAINED: see worldwise.base.stages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worldwise.base.tables import Section
from worldwise.explain.owners import Explainer
from worldwise.plan.case import Case


@dataclass(frozen=True)
class Explained:
    """How a family takes a call apart, beside what every explanation has.

    Attributes:
        measure: the measure whose call it is.
        takes: whether a case has such calls.
        sections: the parts of one call in instructions, of the sample of an index, or of the median one. Raises
            WorldwiseError if the trace has not what is needed.
    """

    measure: str
    takes: Callable[[Case], bool]
    sections: Callable[[Explainer, int | None], Sequence[Section]]
