# SPDX-License-Identifier: BSD-2-Clause
"""Options that several commands share, their checks, and records of what was typed. Loads no slow module."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError

if TYPE_CHECKING:
    from worldwise.plan.budget import Budget

# The formats of a result. All but the first two are names in worldwise.report.report.EXPORTERS, which takes too long to
# load for a list of choices; a page needs more than a reading.
FORMATS = ("table", "html", "json", "csv", "markdown", "latex", "github-action-benchmark", "bencher")

# Where runs are, unless somebody says another folder.
DEFAULT_RUNS = Path("runs")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def runs_option(command: _Command) -> _Command:
    """`--runs DIRECTORY`."""
    return click.option(
        "--runs",
        type=click.Path(file_okay=False, path_type=Path),
        default=DEFAULT_RUNS,
        show_default=True,
        metavar="DIR",
        help="The folder of the runs.",
    )(command)


def format_option(formats: Sequence[str], what: str = "result") -> Callable[[_Command], _Command]:
    """`--format`: how to print `what`. The first of the formats is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        metavar="FORMAT",
        help=f"How to print the {what}: {', '.join(formats)}.  [default: {formats[0]}]",
    )


def output_option(command: _Command) -> _Command:
    """`--output FILE`."""
    return click.option(
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write it there, not to the terminal.",
    )(command)


def number_option(flag: str, numbers: click.IntRange, default: int, words: str) -> Callable[[_Command], _Command]:
    """An option that takes a whole number, and always has one."""
    return click.option(flag, type=numbers, default=default, show_default=True, metavar="N", help=words)


def reading_options(command: _Command) -> _Command:
    """`--format`, `--output` and `--budget`: how to show a run."""
    for option in (
        format_option(FORMATS),
        output_option,
        click.option(
            "--budget",
            metavar="TIME@CLOCK",
            help="Judge signing, from the client, by its worst call at one instruction per cycle: 5ms@2GHz.",
        ),
    ):
        command = option(command)
    return command


def share(place: str) -> None:
    """Share a folder, or what a URL names, as WORLDWISE_SHARED does, until the command ends. Raises WorldwiseError."""
    setting(paths.SHARED_VARIABLE, place, click.get_current_context())
    found = paths.shared_place() or place
    os.environ[paths.SHARED_VARIABLE] = found
    if paths.is_url(found):
        # Few need it.
        from worldwise.lab.shared_store.object_store import objects_at

        objects_at(found).check()
        return
    try:
        Path(found).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"--cache {place}: {error.strerror or error}."
        raise WorldwiseError(problem, "name a folder that you may write") from error


def _set_locked(context: click.Context, _parameter: click.Parameter, value: bool | None) -> None:
    if value is not None:
        # What this command starts goes by it too.
        setting("WORLDWISE_LOCKED", "1" if value else "0", context)


def setting(name: str, value: str, context: click.Context) -> None:
    """Set a variable of the environment until a command ends."""
    before = os.environ.get(name)
    os.environ[name] = value

    def restore() -> None:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before

    context.call_on_close(restore)


def locked_option(command: _Command) -> _Command:
    """`--locked/--unlocked`: whether the lab may differ from its lock (worldwise.lab.drift)."""
    return click.option(
        "--locked/--unlocked",
        default=None,
        expose_value=False,
        callback=_set_locked,
        help="Refuse a lab that differs from the lock, or allow it where files of the lock are gone "
        "(docs/how/repeat.md).  [default: refuse with CI=true]",
    )(command)


def wanted_budget(text: str | None) -> "Budget | None":
    """The budget of `--budget`. Raises WorldwiseError."""
    from worldwise.plan.budget import parse_budget

    return parse_budget(text) if text else None


def check_output(output: Path) -> None:
    """Raise WorldwiseError, before anything is measured, if the output file's folder does not exist."""
    if not output.parent.is_dir():
        raise WorldwiseError(f"{output}: the directory {output.parent} does not exist", "make it, or choose another")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """For code that writes a file: raises WorldwiseError naming the file if that fails."""
    try:
        yield
    except OSError as error:
        raise WorldwiseError(f"{path}: could not be written: {error.strerror or error}.") from error


class TypedRecord:
    """A dataclass of options: a field for each parameter of the command, by its name there, or for a further record."""

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> Self:
        """Takes these out of all that was typed."""
        return cls(**{field.name: _value(field, typed) for field in fields(cls)})  # type: ignore[arg-type]


class TypedCall(TypedRecord):
    """All that was typed of a command."""

    @classmethod
    def taken(cls, typed: dict[str, Any]) -> Self:
        """Sorts the command's parameters; each has its place in one of the records."""
        made = super().taken(typed)
        assert not typed, f"no record has {', '.join(typed)}"
        return made


def _value(field: Field[Any], typed: dict[str, Any]) -> Any:
    kind = field.type
    return kind.taken(typed) if isinstance(kind, type) and issubclass(kind, TypedRecord) else typed.pop(field.name)
