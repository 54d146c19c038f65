# SPDX-License-Identifier: BSD-2-Clause
from matrices import compact, expanded
from worldwise.base import paths
from worldwise.plan.suite import load_suite


def test_names_that_differ_in_one_word_are_one_line() -> None:
    names = [
        f"tee/{lib}/{one},size={size}" for lib in ("a", "b") for one in ("sign", "verify") for size in ("1B", "2B")
    ]
    assert compact(names) == ["tee/{a|b}/{sign|verify},size={1B|2B}"]
    fewer = ["tee/a/{sign|verify},size={1B|2B}", "tee/b/sign,size={1B|2B}", "tee/b/verify,size=1B"]
    assert compact(names[:-1]) == fewer
    assert compact(["a", "a b", "c"]) == ["{a|c}", "a b"]


def test_every_suite_comes_back_from_its_matrices() -> None:
    """If this fails, a golden file of a suite stands for other cases than the suite has."""
    for path in paths.SUITES.glob("*.toml"):
        names = [case.id for case in load_suite(path.stem).cases]
        matrices = compact(names)
        assert sorted(name for matrix in matrices for name in expanded(matrix)) == sorted(names), path.stem
        assert len(matrices) < len(names)
