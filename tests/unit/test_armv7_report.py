# SPDX-License-Identifier: BSD-2-Clause
"""The published benchmark on Armv7-A beside ours, and what its clock is, from figures that nothing measured."""

from collections.abc import Mapping
from statistics import mean, stdev

import pytest

from readings import cells, reading, row
from worldwise.base.tables import Section
from worldwise.families.hardclock.readings import ClockReading, ClocksSaid
from worldwise.families.hardclock.tables import SOURCE, HostFit, armv7_sections, verdict
from worldwise.read.models import Row
from worldwise.read.published import Published

CURVES = ("secp256r1", "secp384r1", "secp256k1")
CELLS = tuple((curve, operation) for curve in CURVES for operation in ("sign", "verify"))
# Thousands of instructions, in the order of CELLS.
LEVELS = {
    "O0": (20821, 69521, 48112, 157733, 20059, 65677),
    "O2": (4614, 15236, 8666, 28008, 5164, 16828),
}
THEIRS = (22694.1, 77037.7, 49213.2, 164329.9, 21187.9, 67489.7)


def figure(curve: str, operation: str, level: str, thousands: float, library: str = "mbedtls28") -> Row:
    samples = tuple(int(1000 * thousands) + number for number in range(12))
    case = f"linux-armv7/{library}-{level}/{operation},curve={curve},size=32B"
    others = {"samples": samples, "mean": mean(samples), "stdev": stdev(samples), "includes": "the operation"}
    return row(case, operation, "linux", 1000 * thousands, n=12, **others)


def rows(levels: Mapping[str, tuple[float, ...]] = LEVELS) -> list[Row]:
    return [
        figure(curve, operation, level, thousands)
        for level, counts in levels.items()
        for (curve, operation), thousands in zip(CELLS, counts, strict=True)
    ]


def of_rows(
    found: list[Row], title: str = "", full: bool = False, clocks: tuple[ClockReading, ...] = ()
) -> list[Section]:
    beside = reading(found, published=SOURCE, parts=(ClocksSaid(clocks=clocks),))
    return [each for each in armv7_sections(beside, full) if each.title.startswith(title)]


def lines(found: list[Row], title: str) -> list[list[str]]:
    (one,) = of_rows(found, title)
    return cells(one)


def test_the_published_table_has_six_cells_of_twelve_runs_and_no_unknown_units() -> None:
    table = Published(SOURCE).table
    assert [(figure.algorithm.removeprefix("ECDSA "), figure.operation) for figure in table] == list(CELLS)
    assert [figure.value for figure in table] == list(THEIRS)
    assert all(figure.unit == "us" and figure.runs and len(figure.runs) == 12 for figure in table)


def test_a_run_without_it_has_none_of_the_tables() -> None:
    assert of_rows([]) == []
    assert of_rows([figure("ed25519", "sign", "O2", 100)]) == []
    assert of_rows([figure("secp256r1", "sign", "O2", 100, "openssl")]) == []


def test_their_layout_has_ours_beside_each_run_and_both_means() -> None:
    nearest, usual = of_rows(rows(), "ECDSA of mbed TLS 2.28.3")
    assert not nearest.notes
    assert usual.title.endswith("ours at -O2")
    assert usual.table
    found = usual.table.rows
    assert [line[0] for line in found] == [*(str(run) for run in range(1, 13)), "mean", "stdev"]
    assert found[0][:5] == ["1", "23,555", "4,614,000", "85,121", "15,236,000"]
    assert found[11][1:3] == ["23,995", "4,614,011"]
    assert found[12][:3] == ["mean", "22,694.1", "4,614,005.5"]
    assert found[13][1:3] == [f"{stdev(Published(SOURCE).table[0].runs or []):,.1f}", "3.6"]
    assert any("LPC55S69" in note and "unverified" in note for note in usual.notes)


def test_only_the_level_it_looks_like_and_the_usual_one_stand_beside_it_unless_all_are_asked_for() -> None:
    many = rows(LEVELS | {"Os": tuple(2 * value for value in LEVELS["O2"])})
    titles = [each.title.rpartition(" ")[2] for each in of_rows(many, "ECDSA")]
    assert titles == ["-O0", "-O2"]
    assert [each.title.rpartition(" ")[2] for each in of_rows(many, "ECDSA", True)] == ["-O0", "-Os", "-O2"]


def test_a_cell_that_was_not_measured_is_a_dash_and_its_level_takes_no_part() -> None:
    some = [one for one in rows() if (one.curve, one.operation, one.optimisation) != ("secp256k1", "sign", "O0")]
    assert lines(some, "ECDSA")[0][9:11] == ["22,697", "5,164,000"]
    rates = lines(some, "Which optimisation level: our")
    assert rates[4][3:5] == ["-", "-"]
    assert [line[0] for line in lines(some, "Which optimisation level: how")] == ["-O2"]


def test_rates_and_ratios_are_those_of_the_means() -> None:
    rates = lines(rows(), "Which optimisation level: our")
    assert rates[0] == ["secp256r1", "sign", "22,694.1", "20,821,006", "917.5", "4,614,006", "203.3"]
    shape = {line[0]: line[1:] for line in lines(rows(), "Which optimisation level: ratios")}
    assert shape["secp256r1: verify / sign"] == ["3.395", "3.339", "3.302"]
    assert shape["sign: secp384r1 / secp256r1"] == ["2.169", "2.311", "1.878"]
    assert len(shape) == 7


def test_the_level_whose_rate_is_constant_is_found_whatever_the_speed_of_their_host() -> None:
    (one,) = of_rows(
        rows({"O0": tuple(7 * value for value in THEIRS), "O2": LEVELS["O2"]}), "Which optimisation level: how"
    )
    assert one.table
    assert one.table.rows[0][1:6] == ["7,000", "7,000", "1.00", "0.0", "0.0"]
    assert one.notes[0].startswith("Shown that they look like -O0")
    (other,) = of_rows(rows({"O0": LEVELS["O2"], "O2": THEIRS}), "Which optimisation level: how")
    assert other.notes[0].startswith("Refuted that they look like -O0")


def test_builds_with_options_are_told_apart_by_their_rates_alone() -> None:
    other = [
        one.model_copy(update={"parameters": f"{one.parameters},options=asm-off", "mean": 2 * one.counts.mean})
        for one in rows({"O2": LEVELS["O2"]})
    ]
    found = [*rows(), *other]
    assert [line[0] for line in lines(found, "Which optimisation level: how")] == ["-O0", "-O2", "-O2, asm-off"]
    assert len(lines(found, "Which optimisation level: ratios")[0]) == 4
    assert [each.title.rpartition("ours at ")[2] for each in of_rows(found, "ECDSA", True)] == ["-O0", "-O2"]
    # A sweep on one curve says nothing of ratios between curves.
    assert [line[0] for line in lines([*rows(), *other[:2]], "Which optimisation level: how")] == ["-O0", "-O2"]


def fit(level: str, *rates: float) -> HostFit:
    return HostFit(level, dict(zip(CELLS, rates, strict=True)))


def test_a_fit_has_a_speed_and_what_no_speed_explains() -> None:
    one = fit("O0", 100, 100, 100, 200, 200, 200)
    assert one.spread == 2
    assert one.speed == pytest.approx(100 * 2**0.5)
    assert one.residual == pytest.approx(0.3466, abs=1e-4)
    assert one.variation == pytest.approx(stdev(one.rates.values()) / 150)


@pytest.mark.parametrize(
    ("means", "medians", "begins"),
    [
        (["O0 flat"], ["O0 flat"], "Undecided: there is only one level"),
        (["O0 flat", "O2 steep"], ["O0 flat", "O2 steep"], "Shown that they look like -O0"),
        (["O0 flat", "O2 steep"], ["O0 steep", "O2 flat"], "Undecided: "),
        (["O0 bent", "O2 steep"], ["O0 bent", "O2 steep"], "Likely, but not shown"),
        (["O0 steep", "O2 flat"], ["O0 steep", "O2 flat"], "Refuted that"),
        (["O0 steep", "O2 bent"], ["O0 steep", "O2 bent"], "Not borne out that"),
    ],
)
def test_the_verdict_is_what_the_figures_say(means: list[str], medians: list[str], begins: str) -> None:
    shapes = {
        "flat": (100, 101, 100, 99, 100, 100),
        "bent": (100, 160, 100, 60, 70, 130),
        "steep": (50, 60, 90, 100, 150, 160),
    }

    def fits(names: list[str]) -> list[HostFit]:
        return [fit(level, *shapes[shape]) for level, shape in (name.split() for name in names)]

    assert verdict(fits(means), fits(medians), 0.03).startswith(begins)


def clock(measure: str, instructions: float, hardclock: float) -> ClockReading:
    return ClockReading(
        case="linux-armv7/mbedtls28-O2/hardclock,curve=secp256r1,size=32B",
        target="linux-armv7",
        core="cortex-a9",
        variant="mbedtls28-O2",
        measure=measure,
        n=12,
        instructions=instructions,
        hardclock=hardclock,
        gettimeofday=hardclock + 2,
        monotonic=1000 * hardclock + 2500,
        calls=2,
    )


def test_the_clock_is_shown_beside_the_count_with_its_ratio() -> None:
    clocks = (clock("sign", 4_614_000, 4615), clock("loop", 2_000_000, 2001))
    (one,) = of_rows([], clocks=clocks)
    assert one.table
    assert one.table.rows[0] == [
        "Linux on Armv7-A (Cortex-A9)",
        "mbedtls28-O2",
        "sign",
        "12",
        "4,614,000",
        "4,615",
        "4,617",
        "4,617.5",
        "999.8",
    ]
    assert "one for 999.5 to 999.8 instructions" in one.notes[0]
    assert "All 24 samples" in one.notes[2]
