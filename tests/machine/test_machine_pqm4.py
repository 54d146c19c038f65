# SPDX-License-Identifier: BSD-2-Clause
"""Schemes in pqm4's layout, built and counted: what agrees has figures, what does not has none."""

from pathlib import Path

import pytest

import pqm4_tree
from machines import note
from worldwise.cli.user_code.pqm4 import as_csv
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.user_code.pqm4 import find
from worldwise.machine.emulator import Emulator
from worldwise.run.code.pqm4 import measure_schemes


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return pqm4_tree.pqclean(tmp_path / "tree")


def test_implementations_that_agree_are_measured(tree: Path, lab: Lab, images: ImageStore) -> None:
    """If this fails, names, prefixes, macros or sizes of a real tree come out wrong."""
    pqm4_tree.kem(tree, "clean", "PQCLEAN_TOY1_CLEAN_")
    pqm4_tree.kem(tree, "m4f", pad=256)
    pqm4_tree.put(tree, "crypto_sign/pen/ref/api.h", pqm4_tree.SIGN_API)
    pqm4_tree.put(tree, "crypto_sign/pen/ref/sign.c", pqm4_tree.SIGN)
    bad = pqm4_tree.kem(tree, "bad")
    (bad / "more.c").write_text("int more = ;\n")
    found, refused = measure_schemes(find(tree), "mps2-an386", 3, images, Emulator(lab, note), note)
    assert [one.scheme.title for one in found] == ["toy-1-clean", "toy-1-m4f", "pen-ref"]
    ((why),) = [one.why for one in refused]
    assert "scheme/more.c: does not compile" in why
    assert "more.c:1:12: error: expected expression" in why
    clean, fast, pen = found
    assert clean.vectors == fast.vectors != ()
    # Keys differ, and the work does not depend on them.
    assert len(set(clean.instructions("crypto_kem_keypair"))) == 1
    assert len(clean.instructions("crypto_kem_keypair")) == 3
    assert (fast.stack("crypto_kem_dec") or 0) >= 256 > (clean.stack("crypto_kem_dec") or 256)
    assert clean.case("crypto_kem_enc") == "own/toy-1-clean/crypto_kem_enc"
    # A macro of the scheme's header calls it by another name.
    assert pen.case("crypto_sign") == "own/pen-ref/crypto_sign"
    lines = as_csv(found).splitlines()
    assert lines[0].startswith("Speed Evaluation,")
    assert lines[2].startswith("Scheme,Implementation,Key Generation [instructions] (mean),")
    assert lines[3].startswith(f"toy-1 (3 executions),clean,{clean.instructions('crypto_kem_keypair')[0]},")
    assert {line.count(",") for line in lines} == {10}


@pytest.mark.parametrize("machine", ["mps2-an505", "mps3-an547", "microbit-4m"])
def test_other_cores_give_the_same_and_say_what_is_no_code_of_theirs(
    machine: str, tree: Path, lab: Lab, images: ImageStore
) -> None:
    """If this fails, a Cortex-M33, M55 or M0+ computes something else than an M4, or has no memory where it is said."""
    kem = pqm4_tree.kem(tree, "clean")
    # malloc of a kibibyte, in each call.
    text = (kem / "kem.c").read_text().replace("(void)randombytes(sk, 32);", "(void)randombytes(sk, 32); free(took());")
    took = "void *took(void) { return malloc(1024); }\n"
    (kem / "kem.c").write_text(f"#include <stdlib.h>\n__attribute__((noinline)) {took}{text}")
    (pqm4_tree.kem(tree, "m4f") / "more.S").write_text(".syntax unified\n.thumb\nsmlal r0, r1, r2, r3\n")
    emulator = Emulator(lab, note)
    (known,), _ = measure_schemes(find(tree, ["*-clean"]), "mps2-an386", 2, images, emulator, note)
    found, refused = measure_schemes(find(tree), machine, 2, images, emulator, note)
    assert found[0].vectors == known.vectors != ()
    assert all(1024 <= one.heap < 1100 for one in (known, found[0]))
    if machine == "microbit-4m":
        assert "more.S: does not compile, as this core has the 16-bit instructions of Thumb alone" in refused[0].why
        assert "Error: " in refused[0].why
    else:
        assert [one.heap for one in found] == [known.heap, 0]


def test_implementations_that_differ_have_no_figures(tree: Path, lab: Lab, images: ImageStore) -> None:
    """If this fails, a wrong answer is timed."""
    pqm4_tree.kem(tree, "ref")
    pqm4_tree.kem(tree, "m4f", mask=0x5B)
    broken = pqm4_tree.put(tree, "crypto_kem/toy-2/ref/kem.c", pqm4_tree.KEM.format(prefix="", mask=1, pad=32))
    broken.write_text(broken.read_text().replace("ss[i] = (uint8_t)(ct[i]", "ss[i] = (uint8_t)(1 + ct[i]"))
    pqm4_tree.put(tree, "crypto_kem/toy-2/ref/api.h", pqm4_tree.API.format(prefix=""))
    (pqm4_tree.kem(tree, "large") / "api.h").write_text("/* */\n" * 300_000)
    found, refused = measure_schemes(find(tree), "mps2-an386", 2, images, Emulator(lab, note), note)
    assert not found
    why = {one.scheme.title: one.why for one in refused}
    assert (
        why["toy-1-ref"]
        == why["toy-1-m4f"]
        == ("its test vectors differ: m4f and ref do not give the same keys and outputs")
    )
    assert "both sides have the same secret" in why["toy-2-ref"]
    assert "cannot be read" in why["toy-1-large"]


def test_a_machine_that_is_too_small_is_told(tree: Path, lab: Lab, images: ImageStore) -> None:
    pqm4_tree.kem(tree, "ref", pad=32)
    pqm4_tree.put(
        tree, "crypto_kem/toy-1/ref/large.c", "char large[20000] = { 1 };\nchar *used(void) { return large; }\n"
    )
    kem = tree / "crypto_kem" / "toy-1" / "ref" / "kem.c"
    kem.write_text(
        "char *used(void);\n"
        + kem.read_text().replace("(void)randombytes(sk, 32);", "(void)randombytes(sk, 32); *used() = 1;")
    )
    found, refused = measure_schemes(find(tree), "microbit", 2, images, Emulator(lab, note), note)
    assert not found
    assert "it does not link" in refused[0].why
    assert "overflowed" in refused[0].why or "will not fit" in refused[0].why
