# SPDX-License-Identifier: BSD-2-Clause
"""Tables of OpenSSL with a key in the token: each step of a server, and the calls of PKCS#11 that it takes."""

from collections.abc import Sequence
from dataclasses import dataclass

from worldwise.base.tables import Section, count, spread, whole
from worldwise.families.pkcs11.readings import TokenCalls, TokenCallsMade
from worldwise.families.pkcs11.spec import OPENSSL, OPENSSL_ACTIONS, PROCESS, TOKEN
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.surprises import clock_text, milliseconds
from worldwise.report.table_builder import answer, name, number, section
from worldwise.report.tables import ScreenAnswer

STEPS, CALLS, LEGEND = "pkcs11-openssl", "pkcs11-openssl-calls", "pkcs11-openssl-legend"
_WORDS = {
    "load": "load the key",
    "sign": "sign",
    "handshake": "answer a TLS 1.3 client",
    "whole": "a process, one signature",
}


@dataclass(frozen=True)
class OpensslStep:
    """One step of a server: its rows at the client and within the TA, and its calls."""

    client: Row
    ta: Row
    made: TokenCalls

    @property
    def holder(self) -> str:
        """What has the key: the token or the process."""
        return self.client.given.get("holder", TOKEN)

    @property
    def others(self) -> int:
        """How many key pairs the token has besides the one that is used."""
        return int(self.client.given.get("others", "0"))

    @property
    def action(self) -> str:
        """The step's name in a suite."""
        return self.client.given["action"]


def openssl_steps(reading: Reading) -> list[OpensslStep]:
    """The steps of a run on undisturbed machines, in the order of a server's life."""
    places: dict[str, dict[str, Row]] = {}
    for row in reading.rows:
        if row.operation == OPENSSL and is_quiet(row):
            places.setdefault(row.case, {})[row.place] = row
    made = {one.case: one for one in reading.part(TokenCallsMade).token_calls}
    found = [
        OpensslStep(rows["client"], rows["ta"], made[case])
        for case, rows in places.items()
        if rows.keys() >= {"client", "ta"} and case in made
    ]
    return sorted(found, key=lambda step: (OPENSSL_ACTIONS.index(step.action), step.holder != TOKEN))


def _machine(step: OpensslStep) -> tuple[str, str]:
    return step.client.variant, step.client.given["storage"]


def _what(step: OpensslStep) -> str:
    among = f", +{step.others} pair{'s' * (step.others > 1)}" if step.others else ""
    return _WORDS[step.action] + among + (" (process)" if step.holder == PROCESS else "")


def openssl_sections(reading: Reading, _full: bool = False) -> list[Section]:
    """The sections on OpenSSL with a key in the token; empty if the run has no such rows."""
    steps = openssl_steps(reading)
    found = (_steps_section(steps), _calls_section(steps), _legend(steps))
    return [part for part in found if part]


def _steps_section(steps: Sequence[OpensslStep]) -> Section | None:
    return section(
        "OpenSSL with a key in OP-TEE's PKCS#11 TA, each step of a server by itself, in instructions",
        STEPS,
        steps,
        [
            name("step", _what),
            name("storage", lambda step: step.client.given["storage"]),
            name("variant", lambda step: step.client.variant),
            number("calls of\nPKCS#11", lambda step: whole(step.made.calls)),
            number("commands\nof the TA", lambda step: whole(step.made.commands)),
            number("client\nfirst", lambda step: count(step.client.counts.first)),
            number("client\nmedian", lambda step: count(step.client.median)),
            number("client\nstdev", lambda step: spread(step.client.counts.stdev)),
            number("TA\nfirst", lambda step: count(step.ta.counts.first)),
            number("TA\nmedian", lambda step: count(step.ta.median)),
            number("n", lambda step: f"{step.client.counts.n:,}"),
        ],
    )


def _calls_section(steps: Sequence[OpensslStep]) -> Section | None:
    of_token = [step for step in steps if step.made.first_calls]
    used = dict.fromkeys(function for step in of_token for function in step.made.functions)
    same = all(step.made.same for step in of_token)

    def times(function: str) -> str:
        found = dict.fromkeys(
            f"{step.made.functions[function]} ({_WORDS[step.action]})"
            for step in of_token
            if function in step.made.functions
        )
        return ", ".join(found)

    return section(
        "OpenSSL's calls of PKCS#11 for one step",
        CALLS,
        list(used),
        [name("function", lambda function: function), name("calls", times)],
        [
            "Of a step after the warm-up; every sample of a case makes the same."
            if same
            else "Of each case's last step; samples of a case differ.",
        ],
    )


def _legend(steps: Sequence[OpensslStep]) -> Section | None:
    if not steps:
        return None
    return Section(
        "How to read the tables of OpenSSL with a key in the token",
        None,
        [
            "OpenSSL is Debian's, with its provider pkcs11 as it is configured by nothing but module and PIN. The "
            "TA and libckteec are those of the operation pkcs11. load the key: a library context with its "
            "configuration, both providers, and OSSL_STORE's search for a private key by token and number. sign: "
            "EVP_DigestSign of 130 bytes, as much as a server signs in TLS 1.3. answer a TLS 1.3 client: the "
            "server's SSL_do_handshake from a ClientHello (X25519) to its Finished, the signature included. a "
            "process, one signature: load, sign, and free all of it.",
            "first: the first step after the TA was started anew, as after a boot. +4 pairs: pairs of P-256 in the "
            "token besides the one that is used. (process): a key that OpenSSL made itself, with no token.",
            "Calls are counted when all steps are made once more, by a module before libckteec; the TA's commands "
            "must be as many as in the measured step.",
            "Each step ends with a signature that OpenSSL's own code and the host verify with the token's public "
            "key; in a handshake the client verifies the server's as TLS has it.",
            *(f"{row.place}: {row.counts.includes}." for row in (steps[0].client, steps[0].ta)),
        ],
        name=LEGEND,
    )


def openssl_answer(reading: Reading) -> list[ScreenAnswer]:
    """Each step of a server with its calls, on one screen; empty if the run has no such rows."""
    steps = openssl_steps(reading)
    return answer(
        "What OpenSSL pays for a P-256 key in OP-TEE's PKCS#11 TA",
        steps,
        [
            name("step", _what),
            name("storage", lambda step: step.client.given["storage"]),
            name("variant", lambda step: step.client.variant),
            number("calls of\nPKCS#11", lambda step: whole(step.made.calls)),
            number("commands\nof the TA", lambda step: whole(step.made.commands), 2),
            number("first\ninstr", lambda step: whole(step.client.counts.first)),
            number("median\ninstr", lambda step: whole(step.client.median)),
            number(f"median at\n{clock_text(reading)}, ms", lambda step: milliseconds(step.client.median, reading), 1),
        ],
        (STEPS, *((CALLS,) if any(step.made.first_calls for step in steps) else ())),
        rows=[step.client for step in steps],
        verdict=_verdict(steps),
    )


def _verdict(steps: Sequence[OpensslStep]) -> str:
    """What the token adds to a handshake; empty without both."""
    found = {
        (step.action, step.holder): step.client.median
        for step in steps
        if not step.others and _machine(step) == _machine(steps[0])
    }
    token, process = found.get(("handshake", "token")), found.get(("handshake", "process"))
    if token is None or process is None:
        return ""
    words = f"A server's answer takes {whole(token)} instructions with its key in the token, {whole(process)} without"
    load = found.get(("load", "token"))
    return words + (f"; a process pays {whole(load)} before, to load the key." if load else ".")
