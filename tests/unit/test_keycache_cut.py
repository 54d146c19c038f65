# SPDX-License-Identifier: BSD-2-Clause
"""What a key cache must have after a power cut: that what is lost, or is there without having been set, is found."""

import pytest

from worldwise.base.errors import WorldwiseError
from worldwise.families.keycache.power_cut import READINGS, Asked, judge
from worldwise.records.models import Outcome

# Client 0 has key 3 after key 1, client 1 none after key 2, client 2 never had one.
NOTES = "set 0 1\ndone 0 1\nset 1 2\ndone 1 2\nset 0 3\ndone 0 3\ndel 1 4\ndone 1 4\n"
COUNTS = "stale 1 forged 0 damaged 0 lost 0 slow 2"


def readings(*keys: str, result: str = "read", counts: str = COUNTS) -> list[Outcome]:
    """What a machine read with the log, and without; the second like the first if it is not given."""
    texts = [keys[0], keys[-1]]
    return [
        Outcome(type="outcome", what=what, result=result, detail=f"{text}; {counts}")
        for what, text in zip(READINGS, texts, strict=True)
    ]


def result(notes: str, *keys: str) -> str:
    return judge(notes, readings(*keys)).result


def test_what_was_confirmed_must_be_there() -> None:
    """If this fails, a lost SET or a removed key that is back passes for durable."""
    assert result(NOTES, "0=3 1=0 2=0") == "between"
    assert result(NOTES, "0=1 1=0 2=0") == "lost"
    assert result(NOTES, "0=0 1=0 2=0") == "lost"
    assert result(NOTES, "0=3 1=2 2=0") == "lost"
    assert result(NOTES, "0=3 1=0 2=0", "0=1 1=0 2=0") == "lost"
    found = judge(NOTES, readings("0=1 1=0 2=0"))
    assert found.detail == (
        "4 confirmed; 1 older records refused; kept: client 0 has 1 and not 3; lost: client 0 has 1 and not 3"
    )


def test_what_is_open_may_be_either() -> None:
    """If this fails, a SET in flight counts as lost, or anything at all as right."""
    assert result(NOTES + "set 2 5\n", "0=3 1=0 2=0") == "old"
    assert result(NOTES + "set 2 5\n", "0=3 1=0 2=5") == "new"
    assert result(NOTES + "del 0 5\n", "0=0 1=0 2=0") == "new"
    assert result(NOTES + "set 0 5\n", "0=1 1=0 2=0") == "lost"
    assert result(NOTES + "set 2 5\n", "0=3 1=5 2=0") == "wrong"


# Client 0 has key 3 after key 1, which is kept; client 1 had key 4 after key 2, which is forgotten.
KEPT = "set 0 1\ndone 0 1\nset 1 2\ndone 1 2\nkeep 0 3\ndone 0 3\nkeep 1 4\ndone 1 4\nforget 1 5\ndone 1 5\n"


def test_a_previous_key_stays_until_it_is_forgotten() -> None:
    """If this fails, messages that a KEEP promised to open are lost, or a forgotten key opens again."""
    assert result(KEPT, "0=3+1 1=4") == "between"
    assert result(KEPT, "0=3 1=4") == "lost"
    assert result(KEPT, "0=3+1 1=4+2") == "lost"
    assert result(KEPT, "0=3+1+2 1=4") == "wrong"
    assert result(KEPT, "0=1 1=4") == "lost"
    assert result(KEPT, "0=1+3 1=4") == "lost"
    # A SET without KEEP leaves it; a client that is removed has none.
    assert result(KEPT + "set 0 6\ndone 0 6\n", "0=6+1 1=4") == "between"
    assert result(KEPT + "set 0 6\ndone 0 6\n", "0=6+3 1=4") == "lost"
    assert result(KEPT + "del 0 6\ndone 0 6\nkeep 0 7\ndone 0 7\n", "0=7 1=4") == "between"


def test_a_request_of_two_writes_may_be_between_them() -> None:
    """If this fails, a successor that was stored before the key to be kept passes, or what is right does not."""
    assert result(KEPT + "keep 0 6\n", "0=3+1 1=4") == "old"
    assert result(KEPT + "keep 0 6\n", "0=3 1=4") == "begun"
    assert result(KEPT + "keep 0 6\n", "0=6+3 1=4") == "new"
    assert result(KEPT + "keep 0 6\n", "0=6+1 1=4") == "lost"
    assert result(KEPT + "keep 0 6\n", "0=6 1=4") == "lost"
    assert result(KEPT + "set 0 6\n", "0=6 1=4") == "lost"
    assert result(KEPT + "forget 0 6\n", "0=3 1=4") == "new"
    assert result(KEPT + "del 0 6\n", "0=3 1=4") == "begun"
    assert result(KEPT + "del 0 6\n", "0=0 1=4") == "new"
    assert result(KEPT + "del 0 6\n", "0=0+1 1=4") == "lost"


@pytest.mark.parametrize("keys", ["0=3 1=0 2=9", "0=? 1=0 2=0", "0=<NOKEY no such key> 1=0 2=0"])
def test_a_key_that_nobody_set_is_wrong(keys: str) -> None:
    """If this fails, a mixture, or an error for a client with a key, is not seen."""
    assert result(NOTES, keys) == "wrong"


def test_the_log_must_not_decide() -> None:
    """If this fails, a key that only the server's log knows of is taken for stored."""
    found = judge(NOTES + "set 2 5\n", readings("0=3 1=0 2=5", "0=3 1=0 2=0"))
    assert (found.result, found.detail.split("; ")[-1]) == ("wrong", "what is there depends on the server's log")


def test_a_cache_that_does_not_go_on_is_wrong() -> None:
    """If this fails, a storage that takes no new key after a cut passes."""
    found = judge(NOTES, readings("0=3 1=0 2=0", result="OOM secure storage is full"))
    assert found.result == "wrong"
    assert "OOM" in found.detail
    forged = readings("0=3 1=0 2=0", counts="stale 0 forged 1 damaged 0 lost 0 slow 0")
    assert judge(NOTES, forged).result == "wrong"


@pytest.mark.parametrize("notes", ["set 0\n", "done 0 1\n", "set 0 1\nset 0 2\n", "get 0 1\n"])
def test_notes_that_are_none_are_refused(notes: str) -> None:
    """If this fails, a client that notes nonsense lets every cut pass."""
    with pytest.raises(WorldwiseError, match="no note of a key cache's client"):
        Asked.read(notes)


def test_a_machine_that_reads_nothing_is_refused() -> None:
    """If this fails, a recovery that was never tried counts as one."""
    with pytest.raises(WorldwiseError, match="a machine reported no reading"):
        judge(NOTES, [])
    with pytest.raises(WorldwiseError, match="a machine read no keys"):
        judge(NOTES, readings(""))
