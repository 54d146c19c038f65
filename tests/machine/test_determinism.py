# SPDX-License-Identifier: BSD-2-Clause
"""Exactness is the product: the same machine gives the same digits, whatever is done around it."""

import dataclasses
from collections.abc import Callable

import pytest

from machines import IMPLEMENTATION, OPTIMISATION, RunCase, Tool, assert_boots_differ, case, fresh_cache, note
from worldwise.families.attestation.images import programs
from worldwise.families.attestation.spec import ATTESTATION
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.machine.machine import DETERMINISTIC_MACHINE, Machine
from worldwise.targets import optee_images
from worldwise.targets.guest import kernel


def _drop(arguments: tuple[str, ...], switch: str) -> tuple[str, ...]:
    at = arguments.index(switch)
    return arguments[:at] + arguments[at + 2 :]


def _with_random_seeds(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.replace(f",{DETERMINISTIC_MACHINE}", "") for word in arguments)


# What QEMU is told without each of the switches that machine.py explains.
WITHOUT: dict[str, Callable[[tuple[str, ...]], tuple[str, ...]]] = {
    "icount": lambda arguments: _drop(arguments, "-icount"),
    "rtc": lambda arguments: _drop(arguments, "-rtc"),
    "dtb-randomness": _with_random_seeds,
}


@pytest.mark.parametrize("world", ["optee", "linux"])
def test_a_cold_boot_and_a_restored_machine_agree(records_of: RunCase, world: str) -> None:
    """Two restores and a boot, where the saved state is of another boot: the same bytes."""
    wanted = case(target=world)
    restored = records_of(wanted)
    assert restored == records_of(wanted)
    assert restored == records_of(wanted, start="boot")


@pytest.mark.parametrize("switch", WITHOUT)
def test_every_switch_is_needed(records_of: RunCase, machine: Machine, switch: str) -> None:
    """Without any one of them two boots differ, so the test above would fail."""
    loose = dataclasses.replace(machine, arguments=WITHOUT[switch](machine.arguments))
    assert loose.arguments != machine.arguments
    wanted = case("empty-invoke", samples=20)
    # The real-time clock has a resolution of one second: three boots are sure not to share one, and two seldom do.
    assert_boots_differ(lambda: records_of(wanted, start="boot", on=loose))


def test_the_order_of_cases_does_not_matter(lone_tool: Tool) -> None:
    """Forwards and backwards, one machine at a time and two."""
    forwards = lone_tool.run("run", "quick", "--fresh", "--jobs", "1", "--samples", "3")
    assert forwards.returncode == 0, forwards.stderr
    backwards = lone_tool.run("run", "quick", "--fresh", "--reverse", "--jobs", "2", "--samples", "3")
    assert backwards.returncode == 0, backwards.stderr
    assert lone_tool.records(0) == lone_tool.records(1)
    assert len(lone_tool.records(0)) == 3


# Apart, so that they are built beside each other.
_REPRODUCED = {
    "firmware": optee_images.firmware(),
    "kernel": kernel(),
    "optee": optee_images.optee(IMPLEMENTATION, OPTIMISATION),
    "initramfs": optee_images.initramfs(ATTESTATION, programs(IMPLEMENTATION, OPTIMISATION, lambda _: None)),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", _REPRODUCED)
def test_images_are_reproducible(lab: Lab, images: ImageStore, name: str) -> None:
    """Built again from nothing, in another cache: the same files to the byte.

    That cache stays in the user's, so that only what has other inputs than last time is built a second time.
    """
    again = ImageStore(dataclasses.replace(lab, cache=fresh_cache(lab.cache / "again")), note)
    recipe = _REPRODUCED[name]
    assert images.get(recipe).files == again.get(recipe).files
