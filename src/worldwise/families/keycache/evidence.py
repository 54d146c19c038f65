# SPDX-License-Identifier: BSD-2-Clause
"""The key cache: the rules for its records.

Under load they also have redis-benchmark's report; for a workload, the number of requests that found their key.
"""

from worldwise.families.keycache.spec import KEYCACHE_MQTT
from worldwise.plan.spec import OPTEE
from worldwise.records.evidence import Evidence, Owed

_OPTEE = (OPTEE,)

EVIDENCE = Evidence(
    (
        Owed(
            _OPTEE,
            "keycache",
            checks=("answers-right", "keys-found-where-they-must-be"),
            counted=("storage", "ta", "invoke"),
        ),
        Owed(
            _OPTEE,
            KEYCACHE_MQTT,
            checks=("each-opens-its-own", "keys-found-where-they-must-be"),
            counted=("storage", "ta", "invoke", "relay"),
        ),
        Owed(_OPTEE, "keycache-load", checks=("requests-counted",), outcomes=True),
        Owed(_OPTEE, "keycache-zipf", checks=("keys-right", "hits-as-simulated"), outcomes=True),
    )
)
