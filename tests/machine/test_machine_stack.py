# SPDX-License-Identifier: BSD-2-Clause
"""A suite on the user's own stack: the same OP-TEE as a variant of the catalogue with the same setting, to the byte."""

import json
from pathlib import Path

import pytest

from machines import Tool
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.stacks import copies, stack
from worldwise.targets import optee_images

# Few of OP-TEE's files read it, so little is compiled.
SETTING = "CFG_CORE_WORKAROUND_SPECTRE_BP_SEC"
SAME = "mbedtls-nist-nospectre"
PATCH = """\
--- a/core/kernel/assert.c
+++ b/core/kernel/no_such_file.c
@@ -1 +1 @@
-a
+b
"""


@pytest.mark.timeout(1200)
def test_a_suite_runs_on_a_stack(lab: Lab, tmp_path: Path) -> None:
    """If this fails, a stack measures something else than what it says, or a run cannot be explained on its stack."""
    file = tmp_path / "my-stack.toml"
    file.write_text(f'[optee.settings]\n{SETTING} = "n"\n')
    tool = Tool(tmp_path)

    def said(*arguments: str) -> str:
        done = tool.run(*arguments, timeout=900)
        assert done.returncode == 0, done.stderr
        return done.stdout

    words = ("attestation", "--variant", "mbedtls-nist-O2", "--operation", "empty-invoke", "--samples", "3")
    plain = said("run", *words)
    stacked = said("run", *words, "--stack", str(file))
    assert f"The stack is not the lab's: OP-TEE {SETTING}=n." in stacked
    assert "The stack is not" not in plain

    images = ImageStore(lab)
    with stack.used(copies.bring(file, lab.cache / "own")):
        ours = images.get(optee_images.optee("mbedtls-nist", "O2"))
    theirs = images.get(optee_images.optee(SAME, "O2"))
    assert {name: ours.files[name] for name in ("bl32.bin", "bl32_extra1.bin")} == {
        name: theirs.files[name] for name in ("bl32.bin", "bl32_extra1.bin")
    }

    runs = [path.name for path in sorted((tmp_path / "runs").iterdir()) if (path / "run.json").exists()]
    refused = tool.run("compare", *runs)
    assert refused.returncode
    assert "--allow stack" in refused.stderr
    compared = said("compare", *runs, "--allow", "stack", "--format", "json")
    (row,) = json.loads(compared)["rows"]
    assert row["difference"] < 0
    assert json.loads(compared)["settings"] == [
        {"image": "optee-mbedtls-nist-O2", "setting": SETTING, "a": "y", "b": "n"}
    ]
    # The sum of all layers is the count, or the command stops.
    explained = json.loads(said("explain", runs[-1], "--format", "json"))
    assert explained["instructions"] - explained["measuring"] == row["b"]["median"]
    assert explained["unknown"] == 0


@pytest.mark.timeout(300)
def test_a_patch_that_does_not_apply_is_named(lab: Lab, tmp_path: Path) -> None:
    del lab
    (tmp_path / "odd.patch").write_text(PATCH)
    file = tmp_path / "my-stack.toml"
    file.write_text('[optee]\npatches = ["odd.patch"]\n')
    refused = Tool(tmp_path).run("stack", "check", str(file))
    assert refused.returncode
    assert "my-stack.toml: the patch odd.patch does not apply" in refused.stderr
