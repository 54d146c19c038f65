# SPDX-License-Identifier: BSD-2-Clause
"""AES on the machine itself: the TA and a library of Linux do the same, and the host agrees with both."""

from collections.abc import Callable

import pytest

from machines import IMPLEMENTATION, OPTIMISATION, RunCase
from worldwise.families.aes.evidence import CipherEvidence
from worldwise.plan.case import parse_case
from worldwise.records.check import CheckedRecords, check_records
from worldwise.records.parse import parse_line

VARIANT = f"{IMPLEMENTATION}-{OPTIMISATION}"


Sealed = Callable[[str], tuple[CheckedRecords, list[CipherEvidence]]]


@pytest.fixture
def sealed(records_of: RunCase) -> Sealed:
    """Runs a case of three samples, checks its records as the tool does, and gives them and the evidence."""

    def run(text: str) -> tuple[CheckedRecords, list[CipherEvidence]]:
        wanted = parse_case(text, 3, 1)
        lines = records_of(wanted).splitlines()
        records = [parse_line(line, "records", number) for number, line in enumerate(lines, 1)]
        return check_records(records, wanted), [record for record in records if isinstance(record, CipherEvidence)]

    return run


@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
@pytest.mark.parametrize(("key", "mode"), [("128", "cbc"), ("256", "ctr"), ("256", "gcm")])
def test_the_ta_encrypts_and_its_places_are_nested(sealed: Sealed, key: str, mode: str, direction: str) -> None:
    """If this fails, a region has in it what it must not have, or the TA's answer is wrong."""
    checked, evidence = sealed(f"optee/{VARIANT}/aes,size=4KiB,key={key},mode={mode},direction={direction}")
    assert len(evidence) == 5
    for measure in ("prepare", "set-key", "set-iv", "cipher"):
        ta, invoke, client = (
            [one.count for one in checked.samples[measure, place]] for place in ("ta", "invoke", "client")
        )
        # The API does the same for every message; the client's function around the call is short.
        assert len(set(ta)) == 1
        for inside, call, around in zip(ta, invoke, client, strict=True):
            assert inside + 20_000 < call < around < call + 100
    assert min(one.count for one in checked.samples["cipher", "ta"]) > 10 * 4096


@pytest.mark.parametrize("mode", ["cbc", "gcm"])
def test_a_library_of_linux_does_the_same_and_the_extension_pays(sealed: Sealed, mode: str) -> None:
    """If this fails, OpenSSL has the extension where it must not, or has it not where it must."""
    parameters = f"size=4KiB,key=128,mode={mode},direction=encrypt"
    plain, evidence = sealed(f"linux/openssl-{OPTIMISATION}/aes,{parameters}")
    extended, same = sealed(f"linux/openssl-ce-{OPTIMISATION}/aes,{parameters}")
    assert [one.output_crc32 for one in evidence] == [one.output_crc32 for one in same]
    cost, less = (one.samples["cipher", "linux"][1].count for one in (plain, extended))
    assert cost > 4 * less
    assert less > 1.5 * 4096 and cost > 16 * 4096
