# SPDX-License-Identifier: BSD-2-Clause
"""Who made what a run cites, in which year, and where it is: references.toml, beside this file."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel, model_validator

from worldwise.base.toml.toml_model import Model, parse, read_text

FILE = Path(__file__).parent / "references.toml"

# BibTeX and LaTeX set these letters as they stand, so an address needs no package for its sake.
_Url = Annotated[str, Field(pattern=r"^https://[A-Za-z0-9./-]+$", max_length=60)]
_Year = Annotated[int, Field(ge=1970, le=2100)]


class _Known(Model):
    """One table of the file; the file says what its keys mean."""

    same_as: str | None = None
    authors: str | None = None
    url: _Url | None = None
    years: dict[str, _Year] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _whole(self) -> "_Known":
        if (self.same_as is None) == (self.authors is None):
            raise ValueError("must have either 'authors' or 'same_as'")
        return self


class _File(RootModel[dict[str, _Known]]):
    """The whole file: name in a bibliography -> what is known of it."""

    @model_validator(mode="after")
    def _there(self) -> "_File":
        for name, known in self.root.items():
            if known.same_as and (known.same_as not in self.root or self.root[known.same_as].same_as):
                raise ValueError(f"'{name}': 'same_as' names no table with 'authors'")
        return self


@dataclass(frozen=True)
class Reference:
    """What an entry says besides title, version and licence.

    Attributes:
        authors: as BibTeX wants them, in LaTeX.
        url: of the project's page; empty if it has none.
        year: in which the series of the cited version began; None if that version is not known here.
    """

    authors: str
    url: str
    year: int | None


@functools.cache
def known_references() -> Mapping[str, _Known]:
    """What is known of each library and tool, by key."""
    return parse(_File, read_text(FILE, "references"), FILE).root


def reference(key: str, version: str) -> Reference | None:
    """What is known of a library or tool; None of one that is not worldwise's, such as a library of the user's own.

    Args:
        key: its name in a bibliography, as `Component.key`.
        version: as it is locked; Debian's epoch before a colon does not count.
    """
    one = known_references().get(key)
    if one is None:
        return None
    about = known_references()[one.same_as] if one.same_as else one
    years = one.years or about.years
    plain = version.rpartition(":")[2]
    fitting = [
        begin
        for begin in years
        if not begin or plain == begin or plain.startswith(tuple(begin + sign for sign in ".-+~"))
    ]
    year = years[max(fitting, key=len)] if fitting else None
    return Reference(about.authors or "", about.url or "", year)
