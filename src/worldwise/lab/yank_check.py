# SPDX-License-Identifier: BSD-2-Clause
"""Asking registries whether a pinned version was yanked: they keep it, and warn not to use it.

cargo and pip ask, as this host tells them where; no address of a registry stands here.
"""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from worldwise.base.errors import WorldwiseError
from worldwise.base.json_model import parse_json
from worldwise.lab.image import Crate
from worldwise.lab.lab import Lab

# Seconds for one registry's answers.
_PATIENCE = 300
# `cargo info` leaves what the registry says of every version in its folder: lines of JSON between zero bytes.
_ASK_CARGO = """
set -eu
export CARGO_HOME=/tmp/cargo
mkdir -p "$CARGO_HOME"
printf '%s' "$CARGO_CONFIG" >"$CARGO_HOME/config.toml"
for crate; do
	cargo info --quiet "$crate" >/dev/null
	find "$CARGO_HOME/registry/index" -path '*/.cache/*' -name "${crate%@*}" -exec cat {} ';'
done | tr '\\0' '\\n' | grep -a '^{'
"""


def yanked_crates(lab: Lab, crates: Sequence[Crate]) -> list[str]:
    """Those of the crates that were yanked, as `name 1.0.0`; cargo asks, in the root that has it.

    Raises WorldwiseError if it cannot ask, or says nothing of one.
    """
    named = [f"{one.name}@{one.version}" for one in crates]
    answer = lab.run(["bash", "-c", _ASK_CARGO, "cargo", *named], network=True, timeout=_PATIENCE)
    said = said_by_index(answer.stdout.splitlines())
    found = []
    for one in crates:
        if (one.name, one.version) not in said:
            raise WorldwiseError(
                f"the registry does not know the crate {one.name} {one.version}", "check the network, and try again"
            )
        if said[one.name, one.version]:
            found.append(f"{one.name} {one.version}")
    return found


def said_by_index(lines: Iterable[str]) -> dict[tuple[str, str], bool]:
    """Whether each version of a crate was yanked, by the lines of a registry's index."""
    found: dict[tuple[str, str], bool] = {}
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = parse_json(line.encode())
            found[str(entry["name"]), str(entry["vers"])] = bool(entry["yanked"])
    return found


def yanked_python(requirements: Iterable[Path]) -> list[str]:
    """The packages of requirement files that were yanked, as `name 1.0.0`; pip asks, and installs nothing.

    Raises WorldwiseError if it cannot ask.
    """
    found: dict[str, None] = {}
    for path in requirements:
        command = [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(path)]
        try:
            answer = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                cwd="/",
                timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired:
            raise WorldwiseError(f"pip did not answer within {_PATIENCE} s", "check the network") from None
        if answer.returncode != 0:
            raise WorldwiseError(f"pip could not ask for {path.name}", "check the network", answer.stderr[-2000:])
        found |= dict.fromkeys(said_by_pip(answer.stderr))
    return list(found)


def said_by_pip(warnings: str) -> list[str]:
    """What was yanked, by pip's warnings of what it would install."""
    return [
        f"{name} {version}" for name, version in re.findall(r"yanked version: '([^']+)' .*?version (\S+)", warnings)
    ]
