# SPDX-License-Identifier: BSD-2-Clause
"""CBMC proves of parts of the key cache's TA that no input of a stranger leads out of memory.

They are names with what follows them, lists of receivers, and slots that come out of storage.
"""

import shutil
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.sandbox.limits import WITHOUT_ADDRESS_LIMIT
from worldwise.lab.sandbox.network import Bind

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

# The file of tests/proofs, and by one more than how often a loop goes round at most: CBMC proves that too.
PROOFS = {
    "prove_take_named": ("names.c", 84),
    "prove_take_either": ("names.c", 67),
    "prove_seal_for_next": ("receivers.c", 66),
    "prove_enter": ("slots.c", 66),
}
# A check of the TA that is taken away, and the proof that must fail then.
BROKEN = {
    "prove_take_either": ("ta/keycache_ta.c", "|| !bytes || bytes > sizeof(copy)", "|| !bytes"),
    "prove_seal_for_next": ("ta/keycache_ta.c", "if (rest->bytes < bytes)", "if (rest->bytes + 1 < bytes)"),
}


@pytest.fixture(scope="module")
def root() -> Lab:
    """The root that has CBMC, made if need be."""
    lab = open_lab(name="checks")
    lab.ensure()
    return lab


def cbmc(root: Lab, product: Bind, name: str) -> str:
    """What CBMC says of a proof of the key cache that stands in a folder."""
    file, rounds = PROOFS[name]
    folders = [f"-I/keycache/{folder}" for folder in ("ta", "include", "tests/proofs", "tests/ta/shim")]
    done = root.run(
        ["cbmc", "--function", name, "--unwind", str(rounds), *folders, f"/keycache/tests/proofs/{file}"],
        binds=[product],
        limits=WITHOUT_ADDRESS_LIMIT,
        timeout=1200,
        check=False,
    )
    said = done.stdout + (done.stderr or "")
    assert done.returncode in (0, 10), said
    return said


@pytest.mark.parametrize("name", PROOFS)
def test_no_input_leads_out_of_memory(root: Lab, name: str) -> None:
    """If this fails, some bytes of the normal world make the TA read or write beside what it has."""
    said = cbmc(root, (paths.KEYCACHE, "/keycache", "ro"), name)
    assert not [line for line in said.splitlines() if line.endswith(": FAILURE")]
    assert "VERIFICATION SUCCESSFUL" in said, said


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_that_is_missing_is_found(root: Lab, name: str, tmp_path: Path) -> None:
    """If this fails, the proofs above prove nothing."""
    for folder in ("ta", "include", "tests/proofs", "tests/ta/shim"):
        shutil.copytree(paths.KEYCACHE / folder, tmp_path / folder)
    file, check, without = BROKEN[name]
    text = (tmp_path / file).read_text(encoding="utf-8")
    assert text.count(check) == 1
    (tmp_path / file).write_text(text.replace(check, without), encoding="utf-8")
    assert "VERIFICATION FAILED" in cbmc(root, (tmp_path, "/keycache", "rw"), name)
