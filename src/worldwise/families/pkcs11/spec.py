# SPDX-License-Identifier: BSD-2-Clause
"""PKCS#11 in OP-TEE: the steps of an application that has its keys in the TA of OP-TEE's own source."""

from collections.abc import Mapping

from worldwise.plan.parameters import LOAD, STORAGE, TICKS, action, out_of_range
from worldwise.plan.spec import IN_TEE, OPTEE, App, Operation, Parameter, Spec

PKCS11 = "pkcs11"
MEASURE = "step"
# The same TA with OpenSSL before it, and what is measured of that.
OPENSSL = "pkcs11-openssl"
OPENSSL_MEASURE = "openssl"
OPENSSL_ACTIONS = ("load", "sign", "handshake", "whole")
TOKEN, PROCESS = "token", "process"
# Steps that are of no key of the case's: what the key does afterwards only shows that they went well.
SESSION_ACTIONS = ("initialize", "open-session", "login", "whole")
KEY_ACTIONS = ("find", "generate", "sign", "verify", "encrypt")
EC = ("ecdsa-p256", "ecdsa-p384")
PAIRS = (*EC, "rsa2048-pss")
HMAC, GCM = "hmac-sha256", "aes256-gcm"
SECRETS = (HMAC, GCM)
MECHANISMS = (*PAIRS, *SECRETS)
# Of which action; of those that are not here, EC.
_MECHANISMS_OF = {"generate": PAIRS, "sign": (*PAIRS, HMAC), "verify": (*PAIRS, HMAC), "encrypt": (GCM,)}
# Bytes of what a secret key authenticates or encrypts.
LEAST, MOST = 16, 1024 * 1024
# Other key pairs of the token: see guest/apps/pkcs11/client.c.
MOST_OTHERS = 64

_MECHANISM = Parameter("mechanism", "mechanisms", MECHANISMS)
_OBJECT = Parameter("object", "objects", ("session", "token"))
# What a key pair signs has a size of its own, so that a message's is not always there.
_MESSAGE = Parameter("message", "messages")
_OTHERS = Parameter("others", "others", most=MOST_OTHERS)
# What has the key that OpenSSL signs with.
_HOLDER = Parameter("holder", "holders", (TOKEN, PROCESS), TOKEN)


def _problem(_target: str, given: Mapping[str, str]) -> str:
    name = given["action"]
    if name in SESSION_ACTIONS:
        extra = next((key for key in ("mechanism", "object", "message") if key in given), "")
        return f"'{name}' has no {extra}: it is the same for every key." if extra else ""
    if "mechanism" not in given or "object" not in given:
        return (
            f"'{name}' needs a mechanism, such as mechanism=ecdsa-p256, and the kind of its key: object=session or "
            "object=token."
        )
    mechanism = given["mechanism"]
    allowed = _MECHANISMS_OF.get(name, EC)
    if mechanism not in allowed:
        return f"'{name}' has no mechanism={mechanism}. Allowed: {', '.join(allowed)}."
    if mechanism not in SECRETS:
        return "a key pair signs a message of a fixed size: leave out message." if "message" in given else ""
    if "message" not in given:
        return f"mechanism={mechanism} needs a message's size, such as message=1KiB."
    return out_of_range(given["message"], LEAST, MOST)


def _openssl_problem(_target: str, given: Mapping[str, str]) -> str:
    if given.get("holder", TOKEN) == TOKEN:
        return ""
    if "others" in given:
        return "a key in the process is no matter of other pairs in the token: leave out others."
    if given["action"] not in ("sign", "handshake"):
        return f"'{given['action']}' is of a key in the token: a key in the process is made, not loaded."
    return ""


_UUID = "fd02c9da-306c-48c7-a49c-bbd827ae86ee"
_TRIED_BY = "OP-TEE's own regression tests (xtest)"

SPEC = Spec(
    operations=(
        Operation(
            PKCS11,
            {OPTEE: {MEASURE: IN_TEE}},
            {
                OPTEE: (
                    LOAD,
                    TICKS,
                    STORAGE,
                    action(*SESSION_ACTIONS, *KEY_ACTIONS),
                    _MECHANISM,
                    _OBJECT,
                    _MESSAGE,
                    _OTHERS,
                )
            },
            _problem,
            app=PKCS11,
        ),
        Operation(
            OPENSSL,
            {OPTEE: {OPENSSL_MEASURE: IN_TEE}},
            {OPTEE: (LOAD, TICKS, STORAGE, action(*OPENSSL_ACTIONS), _HOLDER, _OTHERS)},
            _openssl_problem,
            app=OPENSSL,
        ),
    ),
    apps={PKCS11: App(_UUID, elsewhere=_TRIED_BY), OPENSSL: App(_UUID, elsewhere=_TRIED_BY, ta_of=PKCS11)},
)
