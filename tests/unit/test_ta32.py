# SPDX-License-Identifier: BSD-2-Clause
"""TAs of 32 bits: what a trace of both sets says of cycles, and what nobody can say of such a TA."""

from pathlib import Path
from typing import Any

import pytest

from traces import CASE, CLIENT, MARK, PROCESS, TraceBuilder, address_space, checked, place, samples_of
from worldwise.explain.layers import load_rules
from worldwise.explain.owners import Explainer
from worldwise.predict.attribution import Attribution
from worldwise.records.trace import read_trace

CORE = "cortex-a72"
RULES = '[[layer]]\nname = "client"\nimages = ["client"]\n'


def attribution(folder: Path, **block: Any) -> Attribution:
    """Of two blocks of the client on a core, the second of which is `block`."""
    trace = TraceBuilder()
    ids = trace.contexts()
    region = trace.region(ids.client)
    trace.run(1, region, ids.client, MARK + 8, 10, times=3)
    trace.run(1, region, ids.client, place(CLIENT, "main", 0xC0), 5, times=2)
    trace.records[-2] |= block
    trace.cycles(1, CORE, [region, 1, 12, 3, 0, 5, 0, 1, 2, 1], [region, 2, 7, 1, 0, 0, 0, 0, 0, 0])
    samples = samples_of([(1000, trace.close(1, region, 1000))])
    trace.end()
    rules = folder / "rules.toml"
    rules.write_text(RULES, encoding="ascii")
    read = read_trace(trace.write(folder / "trace.jsonl"))
    return Attribution(Explainer(CASE, checked(samples), read, address_space(), load_rules(rules), PROCESS))


@pytest.mark.parametrize(("set_", "outside", "instructions"), [("a64", 2, 1), ("a32", 2 + 8, 1 + 10)])
def test_no_figure_of_a_core_of_64_bits_is_of_code_of_32(
    set_: str, outside: int, instructions: int, tmp_path: Path
) -> None:
    """If this fails, the error line of A64 code stands beside the cycles of a TA of 32 bits."""
    of = attribution(tmp_path, set=set_)
    (sample,) = of.explainer.records.samples["invoke", "client"]
    (layer,) = of.record(sample, CORE).layers
    assert (layer.instructions, sum(layer.cycles)) == (40, 21 + 8)
    assert (layer.outside, layer.outside_instructions) == (outside, instructions)
    spent = of.sample(sample, CORE).functions
    assert sum(one.outside for one in spent.values()) == outside
    assert sum(one.outside_instructions for one in spent.values()) == instructions
