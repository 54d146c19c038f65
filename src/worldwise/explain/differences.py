# SPDX-License-Identifier: BSD-2-Clause
"""What changed from one explanation to another."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from worldwise.explain.explanation import Explanation, Share
from worldwise.explain.instruction_mix import Facts, together

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Change:
    """A layer's or function's own instructions in two explanations, or another figure.

    Attributes:
        name: of what.
        before, after: the figure in each.
        facts: of a function, how its facts change, by their names; empty where nobody has looked in both.
    """

    name: str
    before: int
    after: int
    facts: Mapping[str, int] = field(default_factory=dict)

    @property
    def difference(self) -> int:
        """After less before."""
        return self.after - self.before


def layer_changes(before: Explanation, after: Explanation, order: Sequence[str]) -> list[Change]:
    """By layer, in the order of the tables."""
    return [
        Change(name, _own(before.layers, name), _own(after.layers, name))
        for name in order
        if name in before.layers or name in after.layers
    ]


def fact_changes(before: Explanation, after: Explanation) -> list[Change]:
    """Of all functions together: accesses, products, branches and bytes of code; none if nobody has looked in both."""
    if not (before.facts and after.facts):
        return []
    old, new = together(before.facts.values()), together(after.facts.values())
    return [Change(name, old[name], new[name]) for name in old]


def function_changes(before: Explanation, after: Explanation) -> list[Change]:
    """By function, the largest change first.

    A function that each side has in exactly one image, but in different images, counts as one function that moved: for
    example a library's function in Linux and in OP-TEE's core.
    """
    homes_before, homes_after = _homes(before), _homes(after)
    changes = []
    for name in sorted(homes_before.keys() | homes_after.keys()):
        old, new = homes_before.get(name, set()), homes_after.get(name, set())
        if len(old) == len(new) == 1 and old != new:
            (source,), (target,) = old, new
            changes.append(
                Change(
                    f"{name} ({source} -> {target})",
                    _own(before.functions, (name, source)),
                    _own(after.functions, (name, target)),
                    _facts(before, after, (name, source), (name, target)),
                )
            )
            continue
        for image in sorted(old | new):
            key = name, image
            own = _own(before.functions, key), _own(after.functions, key)
            changes.append(Change(f"{name} ({image})", *own, _facts(before, after, key, key)))
    return sorted((one for one in changes if one.difference), key=lambda one: (-abs(one.difference), one.name))


def _homes(explanation: Explanation) -> dict[str, set[str]]:
    """Function name -> the images that have a function of this name."""
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for name, image in explanation.functions:
        homes[name].add(image)
    return homes


def _own(shares: Mapping[_Key, Share], key: _Key) -> int:
    return shares[key].self if key in shares else 0


def _facts(before: Explanation, after: Explanation, old: tuple[str, str], new: tuple[str, str]) -> dict[str, int]:
    """How the facts of a function change, which has one key before and another after."""
    if not (before.facts and after.facts):
        return {}
    was = before.facts.get(old, Facts()).values
    return {name: value - was[name] for name, value in after.facts.get(new, Facts()).values.items()}
