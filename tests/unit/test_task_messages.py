# SPDX-License-Identifier: BSD-2-Clause
"""What a worker sends is plain bytes, and a process that has workers unpickles nothing of it."""

import os
import pickle
from collections.abc import Callable

import cloudpickle  # type: ignore[import-untyped]
import distributed.protocol.pickle
import pytest
from distributed.protocol.serialize import deserialize, serialize
from pydantic import TypeAdapter

from worldwise.base.errors import WorldwiseError
from worldwise.run.workers import task_messages


class EvilError(Exception):
    """Makes a folder when somebody unpickles it."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, ("/no/such/folder",)


def test_a_process_that_refuses_pickles_finds_nothing_in_one() -> None:
    """Whoever unpickles, and however. If this fails, one way that dask has is left open."""
    evil = EvilError()
    header, frames = serialize(evil, serializers=["pickle"])
    with task_messages.refuse_pickles(task_messages.PLAIN):
        for loads in (pickle.loads, pickle._loads, cloudpickle.loads, distributed.protocol.pickle.loads):  # type: ignore[attr-defined]
            with pytest.raises(task_messages.RefusedError, match=r"names (posix|os)\.mkdir"):
                loads(pickle.dumps(evil))
        with pytest.raises(task_messages.RefusedError):
            deserialize(header, frames)
        assert pickle.loads(pickle.dumps({"a": [1, "b", b"c", None]})) == {"a": [1, "b", b"c", None]}
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickle.dumps(evil))


def boom(text: str) -> None:
    raise ValueError(text)


@pytest.mark.parametrize(
    ("said", "says_so"),
    [
        (b"", "not one of this tool's workers"),
        (b"+", "not one of this tool's workers"),
        (b'+{"worker": 1}', "not one of this tool's workers"),
        (b"\x80\x05.", "not one of this tool's workers"),
        (b"+" + b" " * 2**20 + b"1", "not one of this tool's workers"),
        ({"worker": "a"}, "not one of this tool's workers"),
        (task_messages.carried(task_messages.packed(boom, ("no\udc80",))), r"ValueError: no\?"),
        (task_messages.carried(b"no pickle"), "UnpicklingError"),
        (task_messages.carried(task_messages.packed(object, ())), "PydanticSerializationError"),
    ],
)
def test_what_is_no_answer_is_told(said: object, says_so: str) -> None:
    """If this fails, a worker that lies ends the run in a traceback."""
    with pytest.raises(WorldwiseError, match=says_so):
        task_messages.read(said, TypeAdapter(int))


def test_an_error_of_dask_is_read_without_making_it() -> None:
    evil = EvilError()
    assert task_messages.words(Exception(pickle.dumps(evil))) == "mkdir: /no/such/folder"
    assert (
        task_messages.words(Exception(pickle.dumps(ImportError("no worldwise there"))))
        == "ImportError: no worldwise there"
    )
    assert task_messages.words(Exception(b"\x80no pickle")) == "an error that cannot be read"
    assert task_messages.words(TypeError("x")) == "TypeError: x"
    assert task_messages.deaths(Exception(pickle.dumps(evil))) is None
    assert task_messages.deaths(Exception()) is None
