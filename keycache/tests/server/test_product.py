# SPDX-License-Identifier: BSD-2-Clause
"""What a product has not: the design without cache and records, which the cache is compared with."""

import subprocess
from pathlib import Path

from keycached import BUILD

MEASURING, PRODUCT = BUILD / "keycached-native", BUILD / "keycached-product"


def asked(server: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a server says that only looks at its options."""
    return subprocess.run([server, *words], check=False, capture_output=True, text=True, timeout=60)


def names(server: Path) -> set[str]:
    """The functions of a program that several of its files share."""
    lines = subprocess.run(["nm", server], check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[-1] for line in lines if line.split()[-2] == "T"}


def test_a_product_has_no_naive_server() -> None:
    """If this fails, who starts the server of a device can turn its cache and its records off."""
    assert "--naive" in asked(MEASURING, "--help").stdout
    assert "--naive" not in asked(PRODUCT, "--help").stdout
    refused = asked(PRODUCT, "--naive")
    assert refused.returncode
    assert "naive" in refused.stderr


def test_a_product_has_no_code_of_it() -> None:
    """If this fails, the TA of a device has a second way to keep keys."""
    assert {"naive_get", "naive_set"} <= names(MEASURING)
    assert not {name for name in names(PRODUCT) if name.startswith("naive_")}
