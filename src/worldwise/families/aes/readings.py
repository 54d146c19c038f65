# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of AES include, and what a message costs in all; published figures beside them."""

from collections.abc import Iterable, Mapping

from worldwise.plan.case import Case
from worldwise.read.published import PublishedSource
from worldwise.read.readings import CLIENT_CALL, IN_LINUX, IN_TA, Readings, Series
from worldwise.records.models import Sample

# The measure that is a sum of others.
AES_WHOLE = "whole"
_AES_CALLS = {
    "prepare": "an operation and an object for its key, allocated",
    "set-key": "the key, set",
    "set-iv": "the vector or first counter, set; of GCM the nonce, and 13 bytes that are authenticated alone",
    "cipher": "the whole message in one call; of GCM with its tag, made or checked",
}


def _sums(_case: Case, samples: Mapping[tuple[str, str], tuple[Sample, ...]]) -> Iterable[Series]:
    """The whole cost of a message with AES: the sum of each sample's four calls, at each place."""
    for place in dict.fromkeys(place for _, place in samples):
        calls = zip(*(series for (_, at), series in samples.items() if at == place), strict=True)
        yield (
            (AES_WHOLE, place),
            tuple(
                four[0].model_copy(update={"measure": AES_WHOLE, "count": sum(one.count for one in four)})
                for four in calls
            ),
        )


_PUBLISHED = PublishedSource(
    name="optee-mqttz-apps",
    reason=(
        "Why they differ: the published figures are milliseconds of a host's clock while QEMU emulated the machine "
        "without icount: they contain the host's speed, its other work and QEMU's translation of code that runs "
        "for the first time, and say nothing about a core. The source states neither OP-TEE's version, nor the "
        "host, nor the optimisation level. Their standard deviations are headed ms^2; they are milliseconds, as "
        "are the values."
    ),
    has_tables=True,
)

READINGS = Readings(
    includes={
        **{(call, "ta"): f"{text}, through the GlobalPlatform API {IN_TA}" for call, text in _AES_CALLS.items()},
        **{(call, "linux"): f"{text}, {IN_LINUX}" for call, text in _AES_CALLS.items()},
        **dict.fromkeys(((call, "invoke") for call in _AES_CALLS), "TEEC_InvokeCommand alone, from call to return"),
        **dict.fromkeys(
            ((call, "client") for call in _AES_CALLS), f"the function around {CLIENT_CALL}; with the call's preparation"
        ),
        **dict.fromkeys(
            ((AES_WHOLE, place) for place in ("ta", "invoke", "client", "linux")),
            f"the sum of {', '.join(_AES_CALLS)} of each sample",
        ),
    },
    sums=_sums,
    published=_PUBLISHED,
)
