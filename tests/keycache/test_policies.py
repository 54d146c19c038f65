# SPDX-License-Identifier: BSD-2-Clause
"""What keycache/README.md says of the policies is what keycache-sim says."""

import re
import subprocess
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.families.keycache import build as keycache
from worldwise.lab.lab import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

# The choice of README.md's text: the policy behind `--policy smart`, and how far from the best the others get.
SMART, OTHERS = "s3-fifo", ("sieve", "w-tinylfu")


@pytest.fixture(scope="module")
def sim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that has keycache-sim, compiled in the root."""
    folder = tmp_path_factory.mktemp("sim")
    folder.chmod(0o755)  # what runs in the root is another user
    keycache.root().run(
        ["make", "--directory=/keycache", "O=/build", "/build/keycache-sim"],
        binds=[(paths.KEYCACHE, "/keycache", "ro"), (folder, "/build", "rw")],
        timeout=300,
    )
    return folder


def run(root: Lab, sim: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return root.run(["/build/keycache-sim", *words], binds=[(sim, "/build", "ro")], timeout=600, check=check)


def test_the_readmes_table_is_the_simulators(sim: Path) -> None:
    printed = [line for line in run(keycache.root(), sim).stdout.splitlines() if line.startswith("|")]
    text = (paths.KEYCACHE / "README.md").read_text(encoding="utf-8")
    stands = re.findall(r"^\| (?:Workload|zipf-|mean|furthest|best).*$", text, re.MULTILINE)
    assert len(stands) == 1 + 7 * 3 * 2 + 3
    assert [line for line in printed if line in stands] == stands
    # And what the text below it makes of it.
    cells = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[4:-1]] for line in printed}
    behind = dict(zip(cells["Workload"], map(float, cells["furthest behind the best"]), strict=True))
    means = dict(zip(cells["Workload"], map(float, cells["mean"]), strict=True))
    assert min(behind, key=lambda name: behind[name]) == SMART
    assert f"never more than {behind[SMART]} points behind" in " ".join(text.split())
    assert all(7 <= behind[name] <= 8 for name in OTHERS)
    three = [means[name] for name in (SMART, *OTHERS)]
    assert round(max(three) - min(three), 1) <= 0.3


def test_one_stream_is_told_to_the_last_hit(sim: Path) -> None:
    root = keycache.root()
    first = run(root, sim, "zipf-0.99-scans", "1000", "10", "100000").stdout
    assert run(root, sim, "zipf-0.99-scans", "1000", "10", "100000").stdout == first
    hits = {name: int(number) for name, number in (line.split() for line in first.splitlines())}
    assert list(hits) == ["lru", "sieve", "s3-fifo", "w-tinylfu"]
    # The table's row is of ten times as many requests: the same but for the first thousand, which fill the cache.
    assert hits["lru"] == pytest.approx(50_900, abs=500)
    assert hits["s3-fifo"] == pytest.approx(59_300, abs=500)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["zipf-0.5", "1000", "10", "100000"], "WORKLOAD is one of zipf-0.8"),
        (["zipf-0.99", "1000", "10"], "usage: keycache-sim"),
        (["zipf-0.99", "0", "10", "100000"], "CLIENTS 0: expected a number from 1"),
        (["zipf-0.99", "1000", "101", "100000"], "KEPT 101: expected a number from 0 to 100"),
        (["1000"], "REQUESTS 1000: expected a number from 100000"),
        (["--help"], "usage: keycache-sim"),
    ],
)
def test_what_it_cannot_play_is_refused(sim: Path, words: list[str], problem: str) -> None:
    result = run(keycache.root(), sim, *words, check=False)
    assert result.returncode == 2
    assert problem in result.stderr
