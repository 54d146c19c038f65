# SPDX-License-Identifier: BSD-2-Clause
"""What goes to a worker and comes back: a task is pickled, its answer is JSON, and `run` unpickles nothing of it.

A worker runs code of whoever has the scheduler's key: it is there for that. The other way round nothing may run: not in
the machine of `run`, and not in the scheduler. Dask unpickles in many places what others send: results, errors, their
tracebacks, types, warnings, plugins. So the whole process refuses to: see refuse_pickles.
"""

import contextlib
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from worldwise.base.errors import WorldwiseError
from worldwise.base.toml.toml_model import first_problem

_T = TypeVar("_T")

# An answer begins with one of these.
_RETURNED, _RAISED = b"+", b"-"
_MOST_BYTES = 1024 * 1024
_WORDS = TypeAdapter(str)
# More of an error that dask reports is not shown.
_MOST_SHOWN = 500

# All that a client of a scheduler may find in a pickle: dask says so that an answer is plain bytes.
PLAIN = frozenset({("builtins", "bytes")})
# A scheduler unpickles each task that it is given, though it never runs one. A task of ours has these and no others.
TASKS = PLAIN | {
    ("dask._expr", "Expr._reconstruct"),
    ("dask._expr", "LLGExpr"),
    ("dask._task_spec", "Task"),
    (__name__, "carried"),
}


class RefusedError(pickle.UnpicklingError, TypeError):
    """A pickle names something that nobody needs. It is a TypeError too, since dask takes that for a broken message."""


class NoAnswerError(WorldwiseError):
    """What a worker sent is no answer."""


class RaisedError(WorldwiseError):
    """A worker could not do a task at all."""


def packed(function: Callable[..., object], arguments: tuple[object, ...]) -> bytes:
    """A call of a function, for `carried`."""
    return pickle.dumps((function, arguments))


def carried(task: bytes) -> bytes:
    """On a worker: do what `packed` made, and answer by JSON, whatever comes of it."""
    try:
        function, arguments = pickle.loads(task)
        return _RETURNED + to_json(function(*arguments))
    # Not even an error of its own may reach dask, which would pickle it.
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        return _RAISED + to_json(words.encode(errors="replace").decode())


def read(answer: object, reads: TypeAdapter[_T]) -> _T:
    """What a worker returned. Raises RaisedError if its task raised an error, NoAnswerError for what is no answer."""
    if not isinstance(answer, bytes) or len(answer) > _MOST_BYTES:
        raise NoAnswerError("its answer is not one of this tool's workers")
    kind, text = answer[:1], answer[1:]
    try:
        if kind == _RAISED:
            raise RaisedError(_WORDS.validate_json(text, strict=True)[:_MOST_SHOWN])
        if kind == _RETURNED:
            return reads.validate_json(text, strict=True)
    except ValidationError as error:
        where, problem = first_problem(error)
        raise NoAnswerError(f"its answer is not one of this tool's workers: {where}: {problem}") from None
    raise NoAnswerError("its answer is not one of this tool's workers")


# --- a process that does not unpickle ---

_closed: list[frozenset[tuple[str, str]]] = []
_lock = threading.Lock()
_hooked = False


@contextlib.contextmanager
def refuse_pickles(allowed: frozenset[tuple[str, str]]) -> Iterator[None]:
    """While this is open nothing in this process finds a class or a function in a pickle, but for those `allowed`.

    Without one a pickle is plain values. Python asks before it imports what a pickle names, whoever unpickles, in
    Python or in C, in any thread.
    """
    global _hooked
    with _lock:
        if not _hooked:
            # There is no way to take one away again.
            sys.addaudithook(_look)
            _hooked = True
        _closed.append(allowed)
    try:
        yield
    finally:
        with _lock:
            _closed.remove(allowed)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "pickle.find_class" and _closed and not all(arguments in allowed for allowed in _closed):
        raise RefusedError(f"a stranger's pickle names {arguments[0]}.{arguments[1]}")


# --- errors that dask itself reports ---


class _Inert:
    """Stands for an object of a pickle that nobody makes: it keeps what the object would have been made of."""

    def __init__(self, *arguments: object, **_named: object) -> None:
        self.arguments = arguments
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state

    def __setitem__(self, _key: object, _value: object) -> None:
        """An entry of a mapping; nobody looks at it."""

    def append(self, _value: object) -> None:
        """An entry of a list; nobody looks at it."""


class _InertUnpickler(pickle.Unpickler):
    def find_class(self, _module: str, name: str) -> Any:
        return type(name.rpartition(".")[2], (_Inert,), {})


def _inert(data: bytes) -> object:
    try:
        return _InertUnpickler(BytesIO(data)).load()
    except Exception:
        return None


def deaths(error: BaseException) -> tuple[int, str] | None:
    """Of an error that dask reports for a task: how many workers died of it, and the last one's address; else None."""
    data = error.args[0] if error.args else None
    found = _inert(data) if isinstance(data, bytes) else None
    if not isinstance(found, _Inert) or type(found).__name__ != "KilledWorker" or len(found.arguments) != 3:
        return None
    _, last, allowed = found.arguments
    slots = last.state[1] if isinstance(last, _Inert) and isinstance(last.state, tuple) and last.state[1:] else None
    address = slots.get("address") if isinstance(slots, dict) else None
    return (allowed + 1 if isinstance(allowed, int) else 1), address if isinstance(address, str) else "unknown"


def words(error: BaseException) -> str:
    """An error that dask reports, in words, without making what a pickle in it has."""
    data = error.args[0] if error.args else None
    if not isinstance(data, bytes):
        return f"{type(error).__name__}: {error}"[:_MOST_SHOWN]
    found = _inert(data)
    if not isinstance(found, _Inert):
        return "an error that cannot be read"
    parts = list(_flat(found.arguments))
    # Dask names a function that makes the error, and then its class.
    kinds = [each.__name__ for each in parts if isinstance(each, type)]
    said = ", ".join(each for each in parts if isinstance(each, str))
    return f"{(kinds or [type(found).__name__])[0]}: {said}"[:_MOST_SHOWN]


def _flat(values: object) -> Iterator[object]:
    if isinstance(values, tuple):
        for each in values:
            yield from _flat(each)
    else:
        yield values
