# SPDX-License-Identifier: BSD-2-Clause
"""Tables of messages through the broker, from figures that nothing measured; and what a suite may ask of it."""

from itertools import chain
from typing import Any

import pytest

from readings import cells, reading, row
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.tables import Section
from worldwise.families.keycache.report.mqtt_tables import keycache_mqtt_answer, keycache_mqtt_sections
from worldwise.families.keycache.spec import RELAYS
from worldwise.plan.case import Case, parse_case
from worldwise.read.models import Reading, Row
from worldwise.read.published import Figure

VARIANT = "optee/mbedtls-ce-O2"
EMPTY, OPEN, SEAL = 30_000, 40_000, 50_000
# Places of a message: what each relay adds to what is inside it.
CLIENTS, REQUEST, SWITCH = 50_000, 100_000, 40_000


def figure(case: Case, measure: str, place: str, middle: float) -> Row:
    return row(case.id, measure, place, middle, n=9, min=int(middle) - 1, max=int(middle) + 1)


def message(relay: str, subscribers: int, of_ta: int, more: str = "") -> list[Row]:
    """A case's rows, whose TA takes so much for each receiver."""
    case = parse_case(f"{VARIANT}/keycache-mqtt,size=256B,relay={relay},subscribers={subscribers}{more}", samples=9)
    ta = subscribers * of_ta if relay in ("hit", "miss", "naive") else 0
    invoke = ta + SWITCH if ta else 0
    asked = 0 if relay == "off" else invoke + REQUEST
    client = asked + subscribers * CLIENTS
    places = {"storage": 0, "ta": ta, "invoke": invoke, "relay": asked, "client": client}
    return [
        *(figure(case, "message", place, count) for place, count in places.items()),
        figure(case, "burst", "client", 8e6),
    ]


def floor() -> list[Row]:
    """An empty invoke, and the AES of a message."""
    call = parse_case(f"{VARIANT}/call,size=0B", samples=9)
    rows = [figure(call, "oldest", "client", EMPTY)]
    for direction, whole in (("encrypt", SEAL), ("decrypt", OPEN)):
        aes = parse_case(f"{VARIANT}/aes,size=256B,key=256,mode=gcm,direction={direction}", samples=9)
        parts = {"set-key": whole - 2, "set-iv": 1, "cipher": 1}
        rows += [figure(aes, measure, "ta", count) for measure, count in parts.items()]
    return rows


def published(*rows: list[Row]) -> Reading:
    """The rows beside the paper's two figures of a message."""
    common: dict[str, Any] = {"source": "mqttz-keys", "operation": "message to 8 subscribers", "unit": "s"}
    figures = tuple(
        Figure.model_construct(algorithm=f"re-encryption in the {world}", value=value, **common)
        for world, value in (("REE", 0.5), ("TEE", 1.0))
    )
    return reading(chain(*rows), published_table=figures, published_reason="Why they differ.")


def by_name(*rows: list[Row]) -> dict[str, Section]:
    found = keycache_mqtt_sections(published(*rows))
    return {section.name.removesuffix("-mbedtls-ce-o2"): section for section in found}


def test_a_run_without_a_broker_has_none_of_the_tables() -> None:
    assert keycache_mqtt_sections(published(floor())) == []
    assert keycache_mqtt_answer(published(floor())) == []


def test_a_message_stands_beside_the_same_broker_without_re_encryption() -> None:
    found = by_name(*(message(relay, 8, 60_000) for relay in RELAYS))
    (line,) = cells(found["keycache-mqtt"])
    assert line[:5] == ["8", "256B", "0", "400,000", "500,000"]
    assert line[5:] == ["1,020,000", "1,020,000", "1,020,000", "127,500", "2.55", "2.04", "1.00"]
    places = {line[3]: line[7:] for line in cells(found["keycache-mqtt-places"])}
    assert places["none"] == ["400,000", "-", "-", "-", "-", "50,000"]
    assert places["REE"] == ["400,000", "100,000", "-", "-", "-", "62,500"]
    assert places["TEE, hit"] == ["400,000", "100,000", "40,000", "480,000", "-", "127,500"]


@pytest.mark.parametrize(("of_ta", "holds"), [(60_000, "yes"), (80_000, "NO")])
def test_a_receivers_share_is_judged_by_its_aes_and_its_share_of_an_invoke(of_ta: int, holds: str) -> None:
    (line,) = cells(by_name(floor(), message("hit", 8, of_ta))["keycache-mqtt-limit"])
    # 1.3 x (40,000 / 8 + 50,000) + 30,000 / 8
    assert line[6:9] == ["55,000", "3,750", "75,250"]
    assert line[-1] == holds
    (answer,) = keycache_mqtt_answer(published(floor(), message("hit", 8, of_ta)))
    assert ("no more than" in answer.verdict) == (holds == "yes")


def test_without_the_aes_nothing_is_judged() -> None:
    assert "keycache-mqtt-limit" not in by_name(message("hit", 8, 60_000))
    (answer,) = keycache_mqtt_answer(published(message("hit", 8, 60_000)))
    assert not answer.verdict


def test_throughput_is_that_of_a_burst() -> None:
    (line,) = cells(by_name(message("off", 8, 0), message("hit", 8, 60_000))["keycache-mqtt-throughput"])
    assert (line[3], line[5]) == ("1,000,000", "1,000,000")
    assert line[8:] == ["1,000", "1,000", "1.00", "-", "1.02"]


def test_published_times_become_instructions_by_a_stated_clock() -> None:
    found = by_name(message("ree", 8, 0), message("hit", 8, 60_000), message("hit", 4, 60_000))
    (line,) = cells(found["keycache-mqtt-published"])
    # 1 s at 1.2 GHz for 8 receivers, and 127,500 for one of ours.
    assert line == ["8", "500", "1,000", "2.00", "150,000,000", "0.42", "0.85", "2.04", "127,500", "1,176"]
    assert any("ASSUMED: 1.2 GHz" in note for note in found["keycache-mqtt-published"].notes)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("size=65KiB,relay=hit,subscribers=8", "size 65KiB is out of range. Allowed: 1B to 64KiB."),
        ("size=256B,relay=hit,subscribers=65", "subscribers"),
        ("size=256B,subscribers=8", "who re-encrypts, such as relay=hit"),
        ("size=256B,relay=hit,subscribers=8,qos=3", "qos"),
    ],
)
def test_a_suite_cannot_ask_for_what_makes_no_sense(parameters: str, problem: str) -> None:
    with pytest.raises(WorldwiseError) as caught:
        parse_case(f"{VARIANT}/keycache-mqtt,{parameters}")
    assert problem in str(caught.value)


def test_the_limits_are_those_of_the_measured_program() -> None:
    source = (paths.GUEST / "apps/keycache/mqtt/mqtt.c").read_text(encoding="ascii")
    assert "#define MOST_SUBSCRIBERS 64\n" in source
    assert "#define BURST_MESSAGES 8\n" in source
    assert all(f'"{relay}"' in source for relay in RELAYS)
