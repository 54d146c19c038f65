# SPDX-License-Identifier: BSD-2-Clause
"""Tables of the libraries on plain Linux, from figures that nothing measured."""

from typing import Any

from readings import cells, reading, row
from worldwise.base.tables import Section
from worldwise.families.portable.linux import linux_columns, linux_sections
from worldwise.read.family_fields import Footprint
from worldwise.read.models import NotAvailable, Row


def figure(variant: str, operation: str, median: float, curve: str = "secp256r1", **other: Any) -> Row:
    size = ",size=32B" if operation in ("sign", "verify") else ""
    case = f"linux-armv8/{variant}/{operation},curve={curve}{size}"
    usual = {"n": 100, "min": int(median), "includes": f"what {operation} includes"}
    return row(case, operation, "linux", median, **usual | other)


def hashed(variant: str, size: int, median: float, operation: str = "sha256") -> Row:
    case = f"linux-armv8/{variant}/{operation},size={size}B"
    return row(case, "hash", "linux", median, n=100, min=int(median), includes=f"what {operation} includes")


def linux_tables(found: list[Row], full: bool = False, lacking: tuple[NotAvailable, ...] = ()) -> list[Section]:
    parts = linux_sections(reading(found, unavailable=lacking), full)
    assert all(cells(part) for part in parts if part.table)
    return parts


def test_a_run_of_other_targets_has_none_of_the_tables() -> None:
    assert linux_tables([]) == []
    assert linux_tables([figure("bearssl-O2", "sign", 1, target="mps2-an386")]) == []
    assert linux_columns(reading([figure("bearssl-O2", "sign", 1, target="linux")])) == {}


def test_libraries_stand_by_their_signatures_and_against_the_fewest() -> None:
    found = [
        figure("bearssl-O2", "sign", 3000),
        figure("bearssl-O2", "verify", 500),
        figure("openssl-O2", "sign", 1000),
        figure("openssl-O2", "verify", 2000),
        figure("nettle-O2", "verify", 1000),
    ]
    one = linux_tables(found)[0]
    assert one.title == "Linux on Armv8-A (Cortex-A72), secp256r1, message of 32B: medians (n = 100)"
    assert one.table
    assert one.table.headers == ["library", "sign\ninstr", "/ fewest\n", "verify\ninstr", "/ fewest\n"]
    assert one.table.rows == [
        ["openssl-O2", "1,000", "1.00", "2,000", "4.00"],
        ["bearssl-O2", "3,000", "3.00", "500", "1.00"],
        ["nettle-O2", "-", "-", "1,000", "2.00"],
    ]


def test_levels_options_and_loads_are_not_mixed() -> None:
    found = [
        figure("mbedtls28-O2", "sign", 1000),
        figure("mbedtls28-O0", "sign", 5000),
        figure("mbedtls28-O2", "sign", 9000, parameters="curve=secp256r1,size=32B,options=nist-off"),
        figure("mbedtls28-O2", "sign", 9000, parameters="curve=secp256r1,size=32B,load=busy"),
    ]
    table = linux_tables(found)[0].table
    assert table
    assert table.rows == [["mbedtls28-O2", "1,000", "1.00"], ["mbedtls28-O0", "5,000", "5.00"]]


def test_curves_and_machines_have_tables_of_their_own_and_key_agreement_stands_without_a_message() -> None:
    found = [
        figure("monocypher-O2", "ecdh", 100, "x25519"),
        figure("monocypher-O2", "sign", 100, "ed25519", target="linux-armv7"),
        figure("monocypher-O2", "sign", 100, "ed25519", parameters="curve=ed25519,size=32B,core=cortex-a53"),
    ]
    assert [part.title.partition(":")[0] for part in linux_tables(found) if part.table] == [
        "Linux on Armv7-A (Cortex-A9), ed25519, message of 32B",
        "Linux on Armv8-A (Cortex-A53), ed25519, message of 32B",
        "Linux on Armv8-A (Cortex-A72), x25519",
    ]


def test_messages_of_several_sizes_have_a_table_each_and_other_operations_stand_once() -> None:
    found = [
        figure("bearssl-O2", "keygen", 10),
        figure("bearssl-O2", "sign", 20),
        figure("bearssl-O2", "sign", 30, size=1024, parameters="curve=secp256r1,size=1KiB"),
    ]
    first, second = (part.table for part in linux_tables(found) if part.table)
    assert first and second
    assert first.rows == [["bearssl-O2", "10", "1.00", "20", "1.00"]]
    assert second.rows == [["bearssl-O2", "30", "1.00"]]


def test_hashes_are_told_by_the_byte_the_cheapest_of_the_longest_message_first() -> None:
    found = [
        hashed("bearssl-O2", 64, 1280),
        hashed("bearssl-O2", 1024, 10240),
        hashed("openssl-O2", 64, 3200),
        hashed("openssl-O2", 1024, 5120),
        hashed("bearssl-O2", 64, 6400, "aes128"),
    ]
    table = linux_tables(found)[0].table
    assert table
    assert table.rows == [
        ["SHA-256", "openssl-O2", "50.00", "5.00", "5,120"],
        ["SHA-256", "bearssl-O2", "20.00", "10.00", "10,240"],
        ["AES-128-CTR", "bearssl-O2", "100.00", "-", "6,400"],
    ]


def on_cores(variant: str, *medians: float) -> list[Row]:
    cores = ("", ",core=cortex-a53", ",core=cortex-a76")
    return [
        figure(variant, "sign", median, parameters=f"curve=secp256r1,size=32B{core}")
        for core, median in zip(cores, medians, strict=True)
    ]


def test_cores_are_compared_and_only_other_code_is_told() -> None:
    found = [*on_cores("bearssl-O2", 1_000_000, 1_000_001, 1_000_000), *on_cores("openssl-O2", 500, 700, 500)]
    (one,) = (part for part in linux_tables(found) if part.title == "What the core changes")
    assert one.table
    assert one.table.headers[4:] == [
        "cortex-a53\ninstr",
        "cortex-a72\ninstr",
        "cortex-a76\ninstr",
        "most above\nfewest, %",
    ]
    assert one.table.rows == [
        ["linux-armv8", "sign", "curve=secp256r1,size=32B", "openssl-O2", "700", "500", "500", "40.00"]
    ]
    assert one.notes[0].startswith("1 of 2 cases are the same on every core to within 0.0001 %")


def test_code_is_told_where_it_is_known() -> None:
    found = [
        figure("bearssl-O2", "sign", 10, parts=(Footprint(flash=5000),)),
        figure("bearssl-O2", "keygen", 10, parts=(Footprint(flash=4000),)),
    ]
    table = linux_tables(found)[0].table
    assert table
    assert table.rows[0][-1] == "5,000"
    assert linux_columns(reading(found)).keys() == {
        "core",
        "curve",
        "options",
        "program_bytes",
    }


def test_what_cannot_be_had_is_told_with_its_reason() -> None:
    lacking = tuple(
        NotAvailable(
            target=target,
            implementation="libsodium",
            curve="secp256r1",
            operation=operation,
            reason="libsodium has no secp256r1",
        )
        for target in ("linux-armv8", "optee")
        for operation in ("sign", "verify")
    )
    (usual,) = linux_tables([], lacking=lacking)
    assert usual.notes == ["libsodium has no secp256r1 (secp256r1)."]
    (full,) = linux_tables([], True, lacking)
    assert full.notes == ["libsodium on linux-armv8: libsodium has no secp256r1 (secp256r1 sign, secp256r1 verify)."]
