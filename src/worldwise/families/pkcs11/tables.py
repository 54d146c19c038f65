# SPDX-License-Identifier: BSD-2-Clause
"""Tables of PKCS#11: each step of an application, and what a search costs by the number of keys."""

from collections.abc import Mapping, Sequence

from worldwise.base.tables import Section, count, ratio, spread
from worldwise.families.pkcs11.answer import (
    ACTIONS,
    SEARCHES,
    STEPS,
    TokenStep,
    others,
    pkcs11_answer,
    searches_of,
    steps_of,
    what,
)
from worldwise.families.pkcs11.openssl_tables import openssl_answer, openssl_sections
from worldwise.families.pkcs11.spec import OPENSSL, PKCS11
from worldwise.read.models import Reading
from worldwise.report.table_builder import name, number, section
from worldwise.report.tables import Group, ScreenAnswer, Tables


def pkcs11_sections(reading: Reading, _full: bool = False) -> list[Section]:
    """The sections on PKCS#11; empty if the run has no such rows."""
    steps = steps_of(reading)
    if not steps:
        return []
    found = (_steps_section(steps), _search_section(steps), _legend(steps))
    return [part for part in found if part]


def _steps_section(steps: Sequence[TokenStep]) -> Section | None:
    return section(
        "PKCS#11 in OP-TEE, each step of an application by itself, in instructions",
        STEPS,
        sorted(steps, key=lambda step: list(ACTIONS).index(step.given["action"])),
        [
            name("step", what),
            name("key is", lambda step: step.given.get("object", "-")),
            name("storage", lambda step: step.given["storage"]),
            name("variant", lambda step: step.client.variant),
            number("client\nfirst", lambda step: count(step.client.counts.first)),
            number("client\nmedian", lambda step: count(step.client.median)),
            number("client\nstdev", lambda step: spread(step.client.counts.stdev)),
            number("TA\nfirst", lambda step: count(step.ta.counts.first)),
            number("TA\nmedian", lambda step: count(step.ta.median)),
            number("n", lambda step: f"{step.client.counts.n:,}"),
        ],
    )


def _search_section(steps: Sequence[TokenStep]) -> Section | None:
    searches = searches_of(steps)
    alone: Mapping[str, TokenStep] = {_machine(step): step for step in searches if not others(step)}

    def more(step: TokenStep, each: float) -> str:
        base = alone.get(_machine(step))
        return ratio((step.client.median - base.client.median) / each) if base and others(step) else "-"

    return section(
        "PKCS#11 in OP-TEE, a search for one key of a token, from the client, in instructions",
        SEARCHES,
        sorted(searches, key=others) if len(searches) > 1 else [],
        [
            name("storage", lambda step: step.given["storage"]),
            name("variant", lambda step: step.client.variant),
            number("more\npairs", lambda step: str(others(step))),
            number("first", lambda step: count(step.client.counts.first)),
            number("median", lambda step: count(step.client.median)),
            number("more for\neach pair", lambda step: more(step, others(step))),
        ],
        [
            "A search by class and number. The TA reads each object of the token from storage whose attributes it has "
            "not in memory, and forgets those of objects that do not match: the next search reads them again.",
        ],
    )


def _machine(step: TokenStep) -> str:
    return f"{step.client.variant} {step.given['storage']}"


def _legend(steps: Sequence[TokenStep]) -> Section:
    return Section(
        "How to read the tables of PKCS#11",
        None,
        [
            "The TA is that of OP-TEE's own source (ta/pkcs11), compiled as it is; the linker puts a region around "
            "its commands. The library is Debian's libckteec. A step is one call of PKCS#11, or those that belong "
            "together: C_FindObjectsInit, C_FindObjects and C_FindObjectsFinal; C_SignInit and C_Sign; and so on.",
            "first: the first call of the step after the TA was started anew, as after a boot; that of C_Initialize "
            "loads the TA. token: an object in secure storage. session: one in the TA's memory, gone with the session. "
            "+4 pairs: pairs of P-256 in the token besides the one that is used.",
            "a process, one signature: C_Initialize, C_OpenSession, C_Login, C_FindObjects, C_Sign with P-256, "
            "C_Logout, C_CloseSession, C_Finalize.",
            "ree: objects are files that tee-supplicant keeps. ree-rpmb: their directory has its hash in RPMB besides. "
            "rpmb: OP-TEE is built without files (CFG_REE_FS=n), so that the objects themselves are in RPMB.",
            "After each step the key signs, or what it made is checked, by the token and by the host with another "
            "library.",
            *(f"{row.place}: {row.counts.includes}." for row in (steps[0].client, steps[0].ta)),
        ],
        name="pkcs11-legend",
    )


def _answers(reading: Reading) -> list[ScreenAnswer]:
    return [*pkcs11_answer(reading), *openssl_answer(reading)]


TABLES = Tables(
    groups=(Group(465, pkcs11_sections), Group(466, openssl_sections)),
    answers=_answers,
    operations={
        PKCS11: "a step with OP-TEE's PKCS#11 TA",
        OPENSSL: "a step of OpenSSL with a key in OP-TEE's PKCS#11 TA",
    },
    own=(PKCS11, OPENSSL),
)
