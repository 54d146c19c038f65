# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of PKCS#11 include."""

from worldwise.families.pkcs11.spec import MEASURE, OPENSSL_MEASURE
from worldwise.read.readings import Readings

READINGS = Readings(
    includes={
        (MEASURE, "ta"): "the commands of the TA that the step takes, each from its entry to its exit, with OP-TEE's "
        "core and tee-supplicant where a command asks them; of a session, of the TA's loading and of the way there "
        "nothing",
        (OPENSSL_MEASURE, "ta"): "the commands of the TA that the step takes, as in a step without OpenSSL",
        (OPENSSL_MEASURE, "client"): "the step as a server has it: OpenSSL, its provider, libckteec, libteec, Linux, "
        "the monitor, OP-TEE's core and the TA",
        (MEASURE, "client"): "the step as an application has it: calls of PKCS#11, libckteec, libteec, Linux, the "
        "monitor, OP-TEE's core and the TA",
    }
)
