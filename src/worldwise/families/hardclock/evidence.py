# SPDX-License-Identifier: BSD-2-Clause
"""The clock of a library in plain Linux: the rules for its records.

A call signs, and other clocks are read around it: their values must agree with the counter.
"""

from typing import Literal

from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.portable import HARDCLOCK
from worldwise.records.evidence import CallRecord, Evidence, Owed
from worldwise.records.models import Count, Sample, Text
from worldwise.records.on_curve import SIGNATURE_CHECKS, CurveSignatureEvidence

# How many ns a clock may differ from the counter: both the clock and the values it reports step by a microsecond.
_CLOCK_STEP = 2000


class Clocks(CallRecord):
    """The clocks' values around one call, read in turn before it and in the opposite order after it.

    `begin` and `end` are the counter around all of them, outside the region; the others are differences: what
    mbedtls_timing_hardclock() returned, microseconds of gettimeofday(), nanoseconds of CLOCK_MONOTONIC. `calls` is how
    often mbedtls_timing_hardclock() called gettimeofday() for it.
    """

    type: Literal["clocks"]
    measure: Text
    index: Count
    begin: Count
    end: Count
    hardclock: Count
    gettimeofday: Count
    monotonic: Count
    calls: Count

    def problem(self, sample: Sample) -> str:
        """What is wrong if a clock disagrees with the counter: virtual time advances by 1 ns per instruction."""
        if not self.begin <= sample.begin <= sample.end <= self.end:
            return f"clocks of {self.measure} {self.index} that were not read around its region."
        least, most = sample.raw - _CLOCK_STEP, self.end - self.begin + _CLOCK_STEP
        for name, nanoseconds in (
            ("mbedtls_timing_hardclock", 1000 * self.hardclock),
            ("gettimeofday", 1000 * self.gettimeofday),
            ("CLOCK_MONOTONIC", self.monotonic),
        ):
            if not least <= nanoseconds <= most:
                return (
                    f"{self.measure} {self.index}: {name} says {nanoseconds} ns if it says microseconds, the "
                    f"counter {least} to {most}."
                )
        return ""


EVIDENCE = Evidence(
    (
        Owed(
            tuple(PLAIN_TARGETS),
            HARDCLOCK,
            measure="sign",
            evidence=CurveSignatureEvidence,
            checks=(*SIGNATURE_CHECKS, "hardclock-is-gettimeofday"),
            beside=Clocks,
        ),
    )
)
