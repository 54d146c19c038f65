# SPDX-License-Identifier: BSD-2-Clause
"""Schemes in pqm4's layout: which are found, which files are built of them, and what is refused."""

from pathlib import Path

import pytest

import pqm4_tree
from command_line import Call
from worldwise.base.errors import WorldwiseError
from worldwise.libraries.user_code.pqm4 import common_code, common_files, find, published, scheme_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return pqm4_tree.pqclean(tmp_path / "tree")


@pytest.mark.parametrize("within", ["", "crypto_kem", "crypto_kem/toy-1"])
def test_a_tree_a_kind_and_a_scheme_are_folders_with_implementations(tree: Path, within: str) -> None:
    """If this fails, one has to be in the tree's own folder; or code for another processor is compiled."""
    for name in ("ref", "clean", "avx2", "aarch64"):
        pqm4_tree.kem(tree, name)
    pqm4_tree.put(tree, "crypto_kem/toy-1/notes/README", "no implementation")
    found = find(tree / within)
    assert [one.title for one in found] == ["toy-1-clean", "toy-1-ref"]
    assert [one.tree for one in found] == [tree, tree]
    assert [one.title for one in find(tree / within, ["*-ref"])] == ["toy-1-ref"]


def test_an_implementation_alone_is_a_folder_too(tree: Path) -> None:
    pqm4_tree.kem(tree, "clean")
    folder = pqm4_tree.kem(tree, "ref")
    assert [one.title for one in find(folder)] == ["toy-1-ref"]


def test_the_outermost_tree_has_the_common_code(tmp_path: Path) -> None:
    """If this fails, PQClean within pqm4 is compiled with a Keccak in C, and compared with pqm4's figures."""
    outer = tmp_path / "pqm4"
    inner = pqm4_tree.pqclean(outer / "mupq" / "pqclean")
    pqm4_tree.kem(inner, "clean", "PQCLEAN_TOY_CLEAN_")
    (outer / "crypto_kem").mkdir()
    names = ("keccakf1600.S", "aes.c", "aes-encrypt.S", "aes-keyschedule.S", "aes-publicinputs.c", "aes-publicinputs.S")
    hashes = ("crypto_hashblocks_sha512.c", "crypto_hashblocks_sha512_inner32.s")
    for name in (*names, *hashes):
        pqm4_tree.put(outer, f"common/{name}", "")
    for name in ("fips202.c", "sp800-185.c", "nistseedexpander.c", "sha2.c", "keccakf1600.c", "aes.c"):
        pqm4_tree.put(outer, f"mupq/common/{name}", "")
    (scheme,) = find(inner / "crypto_kem" / "toy-1")
    assert scheme.tree == outer
    assert scheme.prefix == "PQCLEAN_TOY_CLEAN_"
    assert "common/keccakf1600.S" in common_code(scheme, thumb2=True)
    assert "mupq/common/keccakf1600.c" in common_code(scheme, thumb2=False)
    (outer / "common" / "keccakf1600.S").unlink()
    with pytest.raises(WorldwiseError, match=r"has no common/keccakf1600\.S") as caught:
        common_code(scheme, thumb2=True)
    assert "git submodule update --init --recursive" in caught.value.hint


def test_a_tree_without_its_submodules_is_told(tree: Path) -> None:
    pqm4_tree.kem(tree, "ref")
    (tree / "common" / "fips202.c").unlink()
    (scheme,) = find(tree)
    with pytest.raises(WorldwiseError, match="the common code is missing") as caught:
        common_code(scheme, thumb2=True)
    assert "git submodule" in caught.value.hint


def test_links_are_followed_within_the_tree_alone(tree: Path, tmp_path: Path) -> None:
    """If this fails, a scheme of pqm4 lacks half of its files; or a stranger's folder brings a file of the user's."""
    folder = pqm4_tree.kem(tree, "ref")
    other = pqm4_tree.put(tree, "crypto_kem/toy-2/ref/ntt.c", "int ntt;\n")
    (folder / "ntt.c").symlink_to("../../toy-2/ref/ntt.c")
    (scheme,) = find(folder)
    assert scheme_files(scheme)["ntt.c"] == other
    secret = tmp_path / "secret.h"
    secret.write_text("mine\n")
    (folder / "secret.h").symlink_to(secret)
    with pytest.raises(WorldwiseError, match="is a link out of"):
        scheme_files(scheme)
    (folder / "secret.h").unlink()
    (folder / "gone.c").symlink_to("nowhere.c")
    with pytest.raises(WorldwiseError, match="a file that is missing"):
        scheme_files(scheme)


def test_common_headers_come_with_what_is_compiled(tree: Path) -> None:
    pqm4_tree.kem(tree, "ref")
    (scheme,) = find(tree)
    names = common_files(scheme, common_code(scheme, thumb2=True))
    assert {"common/fips202.c", "common/fips202.h", "common/randombytes.h"} <= names.keys()


def test_names_that_another_header_declares_have_no_prefix(tree: Path) -> None:
    """If this fails, schemes of pqm4 whose api.h only includes others are refused."""
    folder = pqm4_tree.kem(tree, "ref")
    (folder / "api.h").write_text('#include "sign.h"\n')
    assert find(tree)[0].prefix == ""


FIGURES = """\
Speed Evaluation,,,,,,,,,,
Key Encapsulation Schemes,,,,,,,,,,
Scheme,Implementation,Key Generation [cycles] (mean),a,b,c,d,e,f,g,h
toy-1 (10 executions),ref,100,1,2,200,3,4,300,5,6
Memory Evaluation,,,,,,,,,,
toy-1,ref,7,8,9,,,,,,
"""


def test_the_means_of_the_trees_own_figures_are_read(tree: Path) -> None:
    """If this fails, a prediction is compared with the least or the greatest, or with bytes of stack."""
    assert published(tree) == {}
    pqm4_tree.put(tree, "benchmarks.csv", FIGURES)
    assert published(tree) == {("toy-1", "ref"): (100, 200, 300)}
    (tree / "benchmarks.csv").unlink()
    (tree / "benchmarks.csv").symlink_to("/etc/passwd")
    with pytest.raises(WorldwiseError, match=r"benchmarks\.csv: cannot be read: it is a link"):
        published(tree)
    (tree / "benchmarks.csv").unlink()
    for wrong in ("many", "0", "-5", "9" * 200_000):
        pqm4_tree.put(tree, "benchmarks.csv", FIGURES.replace("200", wrong))
        with pytest.raises(WorldwiseError, match=r"benchmarks\.csv:4: has no whole numbers"):
            published(tree)


@pytest.mark.parametrize(
    ("made", "arguments", "told"),
    [
        ("", ("nowhere",), "is no folder"),
        ("empty/x", ("empty",), "is in no tree of pqm4 or PQClean"),
        ("tree/crypto_kem/toy-1/x", ("tree",), "has no scheme"),
        ("tree/crypto_kem/toy-1/ref/api.h", ("tree", "--variant", "other-*"), "no scheme is like other-*"),
        ("tree/x", ("tree", "--region", "main"), "a tree of pqm4 does not accept --region"),
        ("tree/x", ("tree", "--program", "p"), "--program and --pqm4 measure different things"),
    ],
)
def test_wrong_folders_and_options_are_told(
    made: str,
    arguments: tuple[str, ...],
    told: str,
    tree: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
) -> None:
    if made:
        pqm4_tree.put(tmp_path, made, "int crypto_kem_keypair(void);\n")
    (tree / "crypto_kem").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert told in call("run", "--pqm4", *arguments).told
