# SPDX-License-Identifier: BSD-2-Clause
import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from synthetic import DIGEST_FIXED, PER_BYTE, PER_PAGE, REST, SHA256SUM, SWITCH, WRAPPER, RecordList, find, write_run
from worldwise.base.errors import WorldwiseError
from worldwise.families.sha256.cost import HashCost, HashReading, SizeFit, throughput
from worldwise.families.sha256.readings import Hashing
from worldwise.plan.case import Case, parse_case
from worldwise.read.models import Reading
from worldwise.read.run_counts import read_run
from worldwise.report.report import render, sections, to_csv, to_json, to_markdown

SIZES = ("0B", "4KiB", "64KiB", "1MiB")
CASES = [
    *(
        parse_case(f"optee/{variant}/sha256,size={size}", 3, 1)
        for variant in ("mbedtls-O2", "mbedtls-ce-O2")
        for size in SIZES
    ),
    *(parse_case(f"optee/mbedtls-O2/sha256,size={size},chunk=16KiB", 3, 1) for size in ("64KiB", "256KiB", "1MiB")),
    *(
        parse_case(f"linux/{variant}/sha256,size={size}", 3, 1)
        for variant in ("mbedtls-O2", "mbedtls-ce-O2")
        for size in SIZES
    ),
    *(parse_case(f"linux/mbedtls-O2/sha256sum,size={size}", 3, 1) for size in SIZES),
    parse_case("optee/mbedtls-O2/sha256,size=1MiB,load=busy", 3, 1),
    parse_case("optee/mbedtls-O2/keygen", 3, 1),
    parse_case("optee/mbedtls-O2/keygen,load=busy", 3, 1),
    parse_case("optee/mbedtls-O2/storage-create", 3, 1),
]


def read(directory: Path, cases: Sequence[Case]) -> Reading:
    run = write_run(directory, cases)
    manifest = run.manifest.model_copy(update={"published": "optee-sha256-rpi3"})
    return read_run(type(run)(run.path, manifest, run.finished))


@pytest.fixture(scope="module")
def hashes(tmp_path_factory: pytest.TempPathFactory) -> Reading:
    return read(tmp_path_factory.mktemp("runs"), CASES)


def cost_of(reading: Reading, case: str) -> HashCost:
    (cost,) = (cost for cost in hashing(reading).costs if cost.case == case)
    return cost


def hashing(reading: Reading) -> HashReading:
    return reading.part(Hashing).hashing


def fit_of(reading: Reading, variant: str, what: str, chunk: int | None = None) -> SizeFit:
    (fit,) = (fit for fit in hashing(reading).fits if (fit.variant, fit.what, fit.chunk) == (variant, what, chunk))
    return fit


def test_a_call_is_taken_apart(hashes: Reading) -> None:
    """If this fails, instructions are owned by the wrong part, or twice."""
    cost = cost_of(hashes, "optee/mbedtls-O2/sha256,size=1MiB")
    # The samples are calls 2 to 4: 2, 0 and 1 instructions more than the base.
    assert cost.algorithm == DIGEST_FIXED + PER_BYTE["mbedtls"] * 2**20 + 1
    assert (cost.wrapper, cost.switch, cost.memory) == (WRAPPER, SWITCH, PER_PAGE + 256 * PER_PAGE)
    assert cost.rest == REST
    assert cost.inside == cost.algorithm + WRAPPER
    assert (cost.size, cost.chunk, cost.calls) == (2**20, None, 1)
    for each in hashing(hashes).costs:
        assert each.total == each.algorithm + each.memory + each.switch + each.wrapper + each.rest


def test_pieces_are_counted_as_calls(hashes: Reading) -> None:
    cost = cost_of(hashes, "optee/mbedtls-O2/sha256,size=256KiB,chunk=16KiB")
    assert (cost.calls, cost.chunk, cost.switch, cost.wrapper) == (16, 16384, 16 * SWITCH, 16 * WRAPPER)


def test_like_is_compared_with_like(hashes: Reading) -> None:
    """The same library at the same size, the command whatever the variant, and nothing with another load."""
    cost = cost_of(hashes, "optee/mbedtls-ce-O2/sha256,size=64KiB")
    assert cost.linux == (DIGEST_FIXED + PER_BYTE["mbedtls-ce"] * 65536) // 2 + 1
    assert cost.sha256sum == SHA256SUM + 3 * 65536 + 1
    assert cost_of(hashes, "optee/mbedtls-O2/sha256,size=64KiB,chunk=16KiB").linux is not None
    assert cost_of(hashes, "optee/mbedtls-O2/sha256,size=256KiB,chunk=16KiB").linux is None
    busy = cost_of(hashes, "optee/mbedtls-O2/sha256,size=1MiB,load=busy")
    assert (busy.parameters, busy.linux, busy.sha256sum) == ("load=busy", None, None)


def test_a_line_is_fitted_to_the_sizes(hashes: Reading) -> None:
    algorithm = fit_of(hashes, "mbedtls-O2", "api")
    assert algorithm.per_byte == pytest.approx(PER_BYTE["mbedtls"])
    assert algorithm.fixed == pytest.approx(DIGEST_FIXED + 1, abs=1e-3)
    assert list(algorithm.residuals) == [0, 4096, 65536, 2**20]
    assert all(abs(residual) < 1e-3 for residual in algorithm.residuals.values())
    client = fit_of(hashes, "mbedtls-O2", "client")
    assert client.per_byte == pytest.approx(PER_BYTE["mbedtls"] + PER_PAGE / 4096)
    assert fit_of(hashes, "mbedtls-O2", "client", 16384).per_byte > client.per_byte
    assert fit_of(hashes, "mbedtls-O2", "sha256sum").per_byte == pytest.approx(3)
    assert sum(fit_of(hashes, "mbedtls-ce-O2", "client").residuals.values()) == pytest.approx(0, abs=1e-3)


def test_a_line_needs_three_sizes(tmp_path: Path) -> None:
    assert not hashing(read(tmp_path, CASES[:2])).fits


def test_what_the_extension_gives(hashes: Reading) -> None:
    found = {
        (factor.parameters, factor.place): factor.value
        for factor in hashes.factors
        if factor.kind == "crypto-extension" and factor.measure == "hash"
    }
    assert found["size=1MiB", "api"] == pytest.approx(5, rel=0.01)
    assert found["size=1MiB", "linux"] == pytest.approx(5, rel=0.01)
    assert found["size=0B", "api"] == 1
    assert not any("load" in parameters for parameters, _ in found)


def test_ratios_need_the_same_parameters(hashes: Reading) -> None:
    ratios = {
        row.case: row.against.ratio_to_linux for row in hashes.rows if (row.measure, row.place) == ("hash", "api")
    }
    assert ratios["optee/mbedtls-O2/sha256,size=1MiB"] == pytest.approx(2, rel=1e-5)
    assert ratios["optee/mbedtls-O2/sha256,size=1MiB,load=busy"] is None
    assert ratios["optee/mbedtls-O2/sha256,size=1MiB,chunk=16KiB"] is None


def test_published_figures_stand_beside_ours_in_their_unit(hashes: Reading) -> None:
    figures = {(figure.quantity, figure.variant, figure.of): figure for figure in hashing(hashes).published}
    case = "optee/mbedtls-O2/sha256,size=1MiB,chunk=16KiB"
    fast = figures["throughput", "mbedtls-O2", f"{case}, inside the TA"]
    assert fast.ours == pytest.approx(throughput(2**20, cost_of(hashes, case).inside))
    assert (fast.value, fast.unit, fast.ratio) == (11, "MB/s", fast.ours / 11)
    switch = figures["switch", "mbedtls-O2", "an empty invoke"]
    assert (switch.ours, switch.value, switch.unit) == (SWITCH / 1200, 131, "us")
    empty = figures["empty message", "mbedtls-O2", "optee/mbedtls-O2/sha256,size=0B: api"]
    assert empty.ours == pytest.approx((DIGEST_FIXED + 1) / 1200)
    assert empty.value == 66.8
    slow = figures["slow-down", "mbedtls-O2", f"{case}, against sha256sum"]
    assert slow.ours == pytest.approx(cost_of(hashes, case).total / (SHA256SUM + 3 * 2**20 + 1))
    assert ("slow-down", "mbedtls-O2", f"{case}, against the same library in Linux") in figures
    # Nothing streamed, so nothing to compare a stream with.
    assert not [key for key in figures if key[:2] == ("throughput", "mbedtls-ce-O2")]
    assert "BCM2837" in hashing(hashes).published_reason
    assert not [row for row in hashes.rows if row.against.published]


def test_throughput() -> None:
    assert throughput(1_000_000, 1_200_000) == pytest.approx(1000)
    assert throughput(2**20, 2**20, 1.0) == pytest.approx(1000)


def shown(reading: Reading, full: bool = False) -> str:
    stream = io.StringIO()
    render(reading, Console(file=stream, width=120, color_system=None, legacy_windows=False), full)
    return stream.getvalue()


def test_the_report_shows_it(hashes: Reading) -> None:
    text = shown(hashes)
    for part in (
        "SHA-256 in the TA, in one call",
        "SHA-256 in the TA, in pieces",
        "against the same library in Linux, and against sha256sum",
        "SHA-256 in one call against in pieces",
        "What the Armv8 Cryptographic Extension gives SHA-256",
        "a line through the medians by least squares",
        "Published figures of SHA-256 beside ours",
        "mbedtls-O2 load=busy",
        "key generation, load=busy",
        "create: a new object of 4 KiB in secure storage",
    ):
        assert part in text, part
    cost = cost_of(hashes, "optee/mbedtls-O2/sha256,size=1MiB")
    line = next(line for line in text.splitlines() if line.startswith("mbedtls-O2") and " 1MiB " in line)
    for value in (cost.total, cost.algorithm, cost.memory, cost.switch, cost.wrapper, cost.rest):
        assert f"{value:,.0f}" in line.split()
    # Each of many sizes in five rows is for those who ask for all.
    assert "hash: SHA-256" not in text
    assert "hash: SHA-256, size=1MiB" in shown(hashes, full=True)
    fit = next(section for section in sections(hashes, full=True) if "least squares" in section.title)
    assert fit.table is not None
    assert len(fit.table.rows) == sum(len(each.residuals) for each in hashing(hashes).fits)


def test_exports_have_every_number(hashes: Reading) -> None:
    data = json.loads(to_json(hashes))
    assert Reading.model_validate(data) == hashes
    assert len(data["hashing"]["costs"]) == len(hashing(hashes).costs) == 12
    rows = list(csv.DictReader(io.StringIO(to_csv(hashes))))
    case = "optee/mbedtls-O2/sha256,size=1MiB,chunk=16KiB"
    cost, fit = cost_of(hashes, case), fit_of(hashes, "mbedtls-O2", "client", 16384)
    (row,) = (r for r in rows if (r["case"], r["measure"], r["place"]) == (case, "hash", "client"))
    assert (row["size_bytes"], row["chunk_bytes"], row["calls"]) == ("1048576", "16384", "64")
    for name in ("algorithm", "memory", "switch", "wrapper", "rest"):
        assert float(row[f"{name}_instructions"]) == getattr(cost, name)
    assert float(row["fit_instructions_per_byte"]) == fit.per_byte
    assert float(row["fit_residual_instructions"]) == fit.residuals[2**20]
    (other,) = (r for r in rows if r["case"] == "optee/mbedtls-O2/keygen" and r["place"] == "ta")
    assert (other["size_bytes"], other["algorithm_instructions"], other["fit_fixed_instructions"]) == ("", "", "")
    assert "in pieces" in to_markdown(hashes)


def test_a_wrong_digest_is_never_reported(tmp_path: Path) -> None:
    def change(_: Case, records: RecordList) -> None:
        evidence = find(records, type="evidence", index=2)
        evidence["digest"] = find(records, type="evidence", index=3)["digest"]

    run = write_run(tmp_path, [CASES[1]], change)
    with pytest.raises(WorldwiseError, match="hash 2: the digest is wrong"):
        read_run(run)


def test_a_run_without_hashing_has_none_of_it(tmp_path: Path) -> None:
    reading = read(tmp_path, [parse_case("linux/mbedtls-O2/keygen", 2, 0)])
    assert (
        hashing(reading).costs,
        hashing(reading).fits,
        hashing(reading).published,
    ) == ((), (), ())
    assert "SHA-256 in" not in shown(reading).replace("SHA-256 in OP-TEE", "")
