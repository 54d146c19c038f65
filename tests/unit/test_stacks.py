# SPDX-License-Identifier: BSD-2-Clause
"""Stacks and the folded format."""

import pytest

from flames import FLAME_STACKS, frame
from worldwise.base.errors import WorldwiseError
from worldwise.explain.stacks import StackFrame, folded, parse_folded


def test_a_frame_reads_as_one_word_of_the_format() -> None:
    assert str(frame("main")) == "main (client)"
    assert str(StackFrame(" a;b\nc ", "ta", "TA", "secure")) == "a,b c (ta)"
    with pytest.raises(ValueError, match="without the name"):
        StackFrame(" ", "ta", "TA", "secure")


def test_folded_is_sorted_sums_what_reads_alike_and_reads_back() -> None:
    text = folded(FLAME_STACKS)
    assert text == folded(dict(reversed(FLAME_STACKS.items())))
    assert text.splitlines() == sorted(text.splitlines())
    assert text.startswith("main (client) 120\n")
    assert parse_folded(text) == {tuple(map(str, stack)): count for stack, count in FLAME_STACKS.items()}
    one, other = frame("main"), StackFrame("main", "client", "another layer", "normal")
    assert folded({(one,): 1, (other,): 2, (one, other): 0}) == "main (client) 3\n"


def test_what_no_stack_can_be_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 instructions"):
        folded({(frame("main"),): -1})
    with pytest.raises(ValueError, match="0 frames"):
        folded({(): 1})


@pytest.mark.parametrize("line", ["main (client)", "main 1.5", "main;;x 1", " 1", "main -1", "main ²"])
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(WorldwiseError) as caught:
        parse_folded(f"a;b 1\n{line}\n")
    assert "line 2" in caught.value.message
