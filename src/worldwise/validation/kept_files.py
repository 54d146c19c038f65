# SPDX-License-Identifier: BSD-2-Clause
"""The files that a run of the validation makes, and those of them that the repository keeps."""

import re
from pathlib import Path

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.validation.record import MEASURED, Run, dump_run
from worldwise.validation.report import blind_markdown, markdown
from worldwise.validation.scatter import scatter
from worldwise.validation.statistics import error_lines

# The pages with the tables, between these lines.
PAGE = paths.REPOSITORY / "docs" / "how" / "validation.md"
BLIND_PAGE = paths.REPOSITORY / "docs" / "how" / "blind-test.md"
BEGIN = (
    "<!-- What stands from here on comes from measured/validation/run.json: `worldwise validation measure --keep`. -->"
)
BEGIN_BLIND = "<!-- The tables of the blind test come from published/hardware/blind.toml, by the same command. -->"
END = "<!-- Up to here. -->"


def run_files(run: Run) -> dict[str, bytes]:
    """The files of a run's folder, by name."""
    return {
        "run.json": dump_run(run).encode(),
        "errors.json": error_lines(run).encode(),
        "scatter.svg": scatter(run),
    }


def page_with(text: str, run: Run) -> str:
    """The page's text with the tables of a run. Raises WorldwiseError if the page has no place for them."""
    return _placed(text, PAGE, BEGIN, markdown(run))


def blind_page_with(text: str, run: Run) -> str:
    """The same of the page of the blind test."""
    return _placed(text, BLIND_PAGE, BEGIN_BLIND, blind_markdown(run))


def _placed(text: str, page: Path, begin: str, tables: str) -> str:
    place = re.compile(f"{re.escape(begin)}\n.*?{re.escape(END)}", re.DOTALL)
    found = place.search(text)
    if not found:
        raise WorldwiseError(f"{page}: has no place for the tables", "take the page from git again")
    return f"{text[: found.start()]}{begin}\n\n{tables}\n{END}{text[found.end() :]}"


def write_run(run: Run, folder: Path) -> None:
    """Write a run's files into a folder, which is made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in run_files(run).items():
        (folder / name).write_bytes(content)


def keep(run: Run) -> None:
    """Make a run the repository's: its files, and the tables of the pages."""
    write_run(run, MEASURED)
    for page, made in ((PAGE, page_with), (BLIND_PAGE, blind_page_with)):
        page.write_text(made(page.read_text(encoding="utf-8"), run), encoding="utf-8")
