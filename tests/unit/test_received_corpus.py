# SPDX-License-Identifier: BSD-2-Clause
"""The fuzzer's corpus: every reader takes each of its inputs, or refuses it in words. tests/fuzz finds more of them."""

import sys
import time
from pathlib import Path

import pytest

from received import little_disk, little_memory
from worldwise.base.errors import WorldwiseError

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
import mutated
import readers

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("name", readers.READERS)
def test_the_corpus_has_no_findings(name: str) -> None:
    """If this fails, an input that broke a reader before breaks it again."""
    taken = refused = 0
    with little_memory():
        for input_name, data in readers.corpus(name).items():
            try:
                error = readers.try_reader(name, data)
            except Exception as found:
                raise AssertionError(f"{input_name}: {type(found).__name__}") from found
            taken += error is None
            refused += error is not None
    # A reader that takes all, or nothing, has not been tried.
    assert taken
    assert refused > 5


def test_a_finding_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the fuzzer finds nothing, whatever a reader does."""

    def broken(data: bytes) -> None:
        if data == b"message":
            raise WorldwiseError("\x1b[2J")
        raise ValueError(data)

    monkeypatch.setattr(readers, "READERS", {"broken": broken})
    for data, kind in ((b"message", AssertionError), (b"other", ValueError)):
        with pytest.raises(kind):
            readers.try_reader("broken", data)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", mutated.KINDS)
def test_mutated_inputs_have_no_findings(name: str) -> None:
    """A hundred of each kind that is no text; tests/campaigns tries ten thousand."""
    with little_memory(), little_disk():
        taken, refused, findings, _ = mutated.try_mutated(name, 100, seed=7)
    assert [what for _, what in findings] == []
    assert taken > 5
    assert refused > 5


def test_an_input_that_hangs_a_reader_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, ten thousand inputs show nothing."""
    monkeypatch.setattr(readers, "READERS", {"elf": lambda _: time.sleep(30)})
    monkeypatch.setattr(mutated, "SECONDS", 1)
    assert [what for _, what in mutated.try_mutated("elf", 1, seed=1)[2]] == ["Hangs: "]
