# SPDX-License-Identifier: BSD-2-Clause
"""Cases that are suggested to somebody who names an operation alone."""

from pathlib import Path

from suite_texts import suite_text
from worldwise.plan.suite import cases_of, named_operation


def test_an_operation_is_known_with_a_slip() -> None:
    """If this fails, a name typed wrongly suggests nothing, or anything suggests something."""
    assert named_operation("empty-invoke") == "empty-invoke"
    assert named_operation("empti-invoke") == "empty-invoke"
    assert named_operation("nothing-of-that-kind") == named_operation("") == ""


def test_the_commonest_cases_come_first(tmp_path: Path) -> None:
    """If this fails, nobody is told of a case that the suites have, or of the least usual one."""
    for name, levels, operation in (
        ("a", "O2 Os", "attestdiv"),
        ("b", "Os", "attestdiv"),
        ("c", "O2", "keygen"),
    ):
        text = suite_text(name, f"optee linux / {operation} / mbedtls-nist / {levels}")
        (tmp_path / f"{name}.toml").write_text(text, encoding="ascii")
    found = cases_of("attestdiv", tmp_path)
    assert set(found[:2]) == {"optee/mbedtls-nist-Os/attestdiv", "linux/mbedtls-nist-Os/attestdiv"}
    assert set(found[2:]) == {"optee/mbedtls-nist-O2/attestdiv", "linux/mbedtls-nist-O2/attestdiv"}
    assert cases_of("empty-invoke", tmp_path) == []
