# SPDX-License-Identifier: BSD-2-Clause
from pathlib import Path

import pytest

from worldwise import paths
from worldwise.errors import WorldwiseError
from worldwise.published import SOURCES, Published, load_figures
from worldwise.suite import IMPLEMENTATIONS, PLACES, TARGETS

SOURCE = "optee-p256-a72"


def test_every_file_of_the_repository_loads() -> None:
    for path in paths.PUBLISHED.glob("*.toml"):
        assert load_figures(path.stem)
    for source in SOURCES:
        assert Published(source).reason


@pytest.mark.parametrize(
    ("operation", "measure", "implementation", "instructions"),
    [
        ("keygen", "keygen", "mbedtls-nist", 2_564_000),
        ("attestdiv", "sign", "mbedtls-nist", 2_900_000),
        ("attestquorum", "sign", "mbedtls-nist", 2_910_000),
        ("attestdiv", "sign", "mbedtls", 29_000_000),
        ("attestquorum", "sign", "mbedtls", 29_000_000),
    ],
)
def test_figures_stand_beside_the_right_rows(
    operation: str, measure: str, implementation: str, instructions: float
) -> None:
    (beside,) = Published(SOURCE).beside(operation, measure, "ta", implementation)
    assert beside.instructions == instructions
    assert beside.figure.unit == "us"


def test_nothing_else_has_a_figure_and_a_budget_is_none() -> None:
    published = Published(SOURCE)
    found = [
        beside
        for operations in TARGETS.values()
        for operation, measures in operations.items()
        for measure in measures
        for place in PLACES
        for implementation in IMPLEMENTATIONS
        for beside in published.beside(operation, measure, place, implementation)
    ]
    # Each is found once per target that has the operation.
    assert len(found) == 10
    assert all(beside.figure.is_measurement for beside in found)
    assert 5_000_000 not in {beside.instructions for beside in found}
    assert not [figure for figure in load_figures(SOURCE) if figure.value == 5000 and figure.is_measurement]


def test_the_reason_says_what_is_known() -> None:
    reason = Published(SOURCE).reason
    for fact in ("OP-TEE 4.0", "QEMU 8.0", "2.28", "not stated", "OP-TEE 4.10", "3.6.5", "-Os", "-O2"):
        assert fact in reason


def test_no_source_has_no_figures() -> None:
    published = Published("")
    assert not published.reason
    assert published.beside("keygen", "keygen", "ta", "mbedtls-nist") == ()
    with pytest.raises(WorldwiseError, match=f"Allowed: {SOURCE}"):
        Published("riot-ecc-mcu")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("value = 2564", 'value = "2564"', r":11: figure\.0\.value"),
        ("value = 2564", "value = -1", r":11: figure\.0\.value"),
        ("value = 2564", "valu = 2564", r"figure\.0\.valu"),
        ("value = 2564", "value = ", ":11: not valid TOML"),
        ('source = "optee-p256-a72"', 'source = "other"', ":6: source 'other'"),
        ('operation = "keygen"', 'operation = "key"', "expected one figure 'keygen'"),
        ('unit = "us"', 'unit = "ms"', "expected one figure 'keygen' in us"),
        ('unit = "us"', 'unit = "unknown"', "found 0"),
    ],
)
def test_a_changed_file_is_noticed(old: str, new: str, says: str, tmp_path: Path) -> None:
    text = (paths.PUBLISHED / f"{SOURCE}.toml").read_text()
    assert old in text
    (tmp_path / f"{SOURCE}.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(WorldwiseError, match=says):
        Published(SOURCE, tmp_path)


def test_a_missing_file_names_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "other.toml").touch()
    with pytest.raises(WorldwiseError, match="cannot be read") as caught:
        Published(SOURCE, tmp_path)
    assert "other" in caught.value.hint


def test_figures_of_hashing_are_told_apart() -> None:
    hashing = Published("optee-sha256-rpi3").hashing
    assert {name: (figure.value, figure.unit) for name, figure in hashing.items()} == {
        "throughput": (11, "MB/s"),
        "switch": (131, "us"),
        "empty message": (66.8, "us"),
        "wrapper": (1.6, "us"),
        "slow-down": (1.4, "ratio"),
    }
    assert not Published(SOURCE).hashing
    reason = Published("optee-sha256-rpi3").reason
    for fact in ("Cortex-A53", "not stated", "BCM2837", "no cryptographic extension", "one per cycle"):
        assert fact in " ".join(reason.split())


@pytest.mark.parametrize(("old", "new"), [('"MB/s"', '"KB/s"'), ('"TA wrapper overhead"', '"wrapper"')])
def test_a_changed_figure_of_hashing_is_noticed(old: str, new: str, tmp_path: Path) -> None:
    text = (paths.PUBLISHED / "optee-sha256-rpi3.toml").read_text()
    assert old in text
    (tmp_path / "optee-sha256-rpi3.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(WorldwiseError, match=r"expected one figure .*, found 0"):
        Published("optee-sha256-rpi3", tmp_path)
