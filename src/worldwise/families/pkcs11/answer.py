# SPDX-License-Identifier: BSD-2-Clause
"""The answer of PKCS#11 on one screen: what each step of an application costs, and where a signature's price is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldwise.base.tables import whole
from worldwise.families.pkcs11.spec import EC, PKCS11
from worldwise.read.models import Reading, Row
from worldwise.read.rows import is_quiet
from worldwise.report.surprises import clock_text, milliseconds
from worldwise.report.table_builder import answer, name, number
from worldwise.report.tables import ScreenAnswer

ACTIONS = {
    "initialize": "C_Initialize",
    "open-session": "C_OpenSession",
    "login": "C_Login",
    "find": "C_FindObjects",
    "generate": "C_GenerateKeyPair",
    "sign": "C_Sign",
    "verify": "C_Verify",
    "encrypt": "C_Encrypt",
    "whole": "a process, one signature",
}
STEPS, SEARCHES = "pkcs11", "pkcs11-find"


@dataclass(frozen=True)
class TokenStep:
    """One step of an application: its row at the client, and that within the TA."""

    client: Row
    ta: Row

    @property
    def given(self) -> Mapping[str, str]:
        """The case's parameters."""
        return self.client.given


def steps_of(reading: Reading) -> list[TokenStep]:
    """The steps of a run on undisturbed machines, in the order of its cases."""
    places: dict[str, dict[str, Row]] = {}
    for row in reading.rows:
        if row.operation == PKCS11 and is_quiet(row):
            places.setdefault(row.case, {})[row.place] = row
    return [TokenStep(found["client"], found["ta"]) for found in places.values() if found.keys() >= {"client", "ta"}]


def searches_of(steps: Sequence[TokenStep]) -> list[TokenStep]:
    """The searches for a key of a token."""
    return [step for step in steps if step.given["action"] == "find" and step.given["object"] == "token"]


def what(step: TokenStep) -> str:
    """The step, and with which key: `C_Sign ecdsa-p256`."""
    words = (ACTIONS[step.given["action"]], step.given.get("mechanism", ""), step.given.get("message", ""))
    among = f", +{others(step)} pair{'s' * (others(step) > 1)}" if others(step) else ""
    return " ".join(filter(None, words)) + among


def others(step: TokenStep) -> int:
    """How many key pairs the token has besides the one that is used."""
    return int(step.given.get("others", "0"))


def pkcs11_answer(reading: Reading) -> list[ScreenAnswer]:
    """Each step as the application sees it, the dearest first; empty if the run has no such rows.

    Of several variants of OP-TEE that with the most steps: what the others change is in the report.
    """
    found = steps_of(reading)
    by_variant = Counter(step.client.variant for step in found)
    variant = max(by_variant, key=by_variant.__getitem__, default="")
    own = (step for step in found if step.client.variant == variant)
    steps = sorted(own, key=lambda step: -step.client.median)
    return answer(
        f"What a step with OP-TEE's PKCS#11 TA costs an application: {variant}",
        steps,
        [
            name("step", what),
            name("key is", lambda step: step.given.get("object", "-")),
            name("storage", lambda step: step.given["storage"]),
            number("first\ninstr", lambda step: whole(step.client.counts.first)),
            number("median\ninstr", lambda step: whole(step.client.median)),
            number("of it\nin the TA, %", lambda step: f"{100 * step.ta.median / step.client.median:.1f}", spare=1),
            number(f"median at\n{clock_text(reading)}, ms", lambda step: milliseconds(step.client.median, reading)),
        ],
        (STEPS, *((SEARCHES,) if len(searches_of(found)) > 1 else ())),
        rows=[step.client for step in steps],
        verdict=_verdict(steps),
        tiers=[_tier(step) for step in steps],
    )


def _tier(step: TokenStep) -> int:
    """Of a screen's lines first those that a handshake is made of, then those of other storage and other keys."""
    plain = step.given["storage"] == "ree" and step.given.get("mechanism", EC[0]) == EC[0]
    used = step.given.get("object", "token") == "token" and step.given["action"] not in ("verify", "generate")
    return 0 if plain and used else 1 if plain else 2


def _verdict(steps: Sequence[TokenStep]) -> str:
    """How much of a process that signs once is the signature; empty without both."""
    found = {step.given["action"]: step.client.median for step in steps if not _tier(step) and not others(step)}
    if not found.keys() >= {"whole", "sign"}:
        return ""
    parts = [f"{ACTIONS[key]} {whole(found[key])}" for key in ("sign", "login") if key in found]
    return (
        f"A process that signs once with P-256 executes {whole(found['whole'])} instructions, once the TA is loaded: "
        f"{', '.join(parts)}."
    )
