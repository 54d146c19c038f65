# SPDX-License-Identifier: BSD-2-Clause
from dataclasses import replace
from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.plan.catalogue import IMPLEMENTATIONS, PUBLISHED, TARGETS
from worldwise.plan.spec import PLACES
from worldwise.read.published import Published, Subject, load_figures, sources

SOURCE = "optee-p256-a72"


def test_every_file_of_the_repository_loads() -> None:
    for path in paths.PUBLISHED.glob("*.toml"):
        assert load_figures(path.stem)
    for source in sources():
        assert Published(source).reason


def test_a_suite_may_name_what_is_shown() -> None:
    """If this fails, a suite asks for a source that no report shows, or a source is shown that no suite may ask for."""
    assert tuple(sources()) == PUBLISHED


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
    (beside,) = Published(SOURCE).beside(Subject(operation, measure, "ta", implementation))
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
        for beside in published.beside(Subject(operation, measure, place, implementation))
    ]
    # Each is found once per target that has the operation.
    assert len(found) == 12
    assert all(beside.figure.is_measurement for beside in found)
    assert 5_000_000 not in {beside.instructions for beside in found}
    assert not [figure for figure in load_figures(SOURCE) if figure.value == 5000 and figure.is_measurement]


def test_the_reason_says_what_is_known() -> None:
    reason = Published(SOURCE).reason
    for fact in ("OP-TEE 4.0", "QEMU 8.0", "3.4.0", "not stated", "OP-TEE 4.10", "3.6.5", "-Os", "-O2"):
        assert fact in reason


def test_no_source_has_no_figures() -> None:
    published = Published("")
    assert not published.reason
    assert published.beside(Subject("keygen", "keygen", "ta", "mbedtls-nist")) == ()
    with pytest.raises(WorldwiseError, match=f"Allowed: {SOURCE}"):
        Published("mbedtls-armv7")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("value = 2564", 'value = "2564"', r":11: figure\[1\]\.value"),
        ("value = 2564", "value = -1", r":11: figure\[1\]\.value"),
        ("value = 2564", "valu = 2564", r"figure\[1\]\.valu"),
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


# --- boards ---

BOARDS_SOURCE = "riot-ecc-mcu"


@pytest.mark.parametrize(
    ("board", "operation", "size", "cycles"),
    [
        ("nucleo-f446re", "sign", 16, 298718 * 180),
        ("nucleo-f446re", "verify", 1024, 693110 * 180),
        ("nucleo-f103rb", "sign", 128, 1284905 * 72),
        ("nucleo-f103rb", "verify", 32, 2935649 * 72),
    ],
)
def test_microseconds_of_boards_become_cycles(board: str, operation: str, size: int, cycles: float) -> None:
    row = Subject(operation, operation, "mcu", "wolfssl-small", board, "ed25519", size)
    published = Published(BOARDS_SOURCE)
    (beside,) = published.beside(row)
    assert beside.instructions == cycles
    assert published.beside(replace(row, implementation="c25519")) == (beside,)
    assert published.gap(row) == ""
    for other in (
        {"board": "microbit"},
        {"implementation": "wolfssl"},
        {"curve": "x25519"},
        {"size": 64},
        {"operation": "keygen"},
        {"place": "linux"},
    ):
        assert published.beside(replace(row, **other)) == ()


def test_each_figure_of_boards_has_one_row() -> None:
    figures = load_figures(BOARDS_SOURCE)
    rows = [
        Subject(operation, operation, "mcu", "wolfssl-small", board, "ed25519", size)
        for board in ("nucleo-f446re", "nucleo-f103rb")
        for operation in ("sign", "verify")
        for size in (16, 32, 128, 1024)
    ]
    found = [beside.figure for row in rows for beside in Published(BOARDS_SOURCE).beside(row)]
    assert sorted(map(repr, found)) == sorted(map(repr, figures))


def test_what_was_never_measured() -> None:
    published = Published(BOARDS_SOURCE)
    row = Subject("sign", "sign", "mcu", "micro-ecc", "nucleo-f446re", "secp160r1", 128)
    assert published.gap(row) == "?? (listed, never measured)"
    assert published.gap(replace(row, board="nucleo-f103rb")) == "none (never measured)"
    for other in ({"board": "microbit"}, {"curve": "secp256r1"}, {"size": 64}, {"operation": "ecdh"}):
        assert published.gap(replace(row, **other)) == ""
    assert Published(SOURCE).gap(row) == Published("").gap(row) == ""


def test_the_reason_of_boards_says_what_is_known() -> None:
    reason = Published(BOARDS_SOURCE).reason
    for fact in (
        "derived from c25519",
        "flags are not stated",
        "wait states",
        "RIOT",
        "instructions per cycle",
        "'??'",
    ):
        assert fact in reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["sign", 16, 298718]', '["sign", 17, 298718]'),
        ("clock_mhz = 180\n", ""),
        ('unit = "us"', 'unit = "ms"'),
        ('library = "c25519 (RIOT package)"', 'library = "c25519"'),
        ("Nucleo F446RE, RIOT, hardware", "Nucleo F446RE"),
    ],
)
def test_a_changed_figure_of_boards_is_noticed(old: str, new: str, tmp_path: Path) -> None:
    text = (paths.PUBLISHED / f"{BOARDS_SOURCE}.toml").read_text()
    assert old in text
    (tmp_path / f"{BOARDS_SOURCE}.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(WorldwiseError, match=r"expected one figure 'sign' of 16 bytes in us"):
        Published(BOARDS_SOURCE, tmp_path)
