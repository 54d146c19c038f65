# SPDX-License-Identifier: BSD-2-Clause
"""What changed from one explanation to another."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from worldwise.explain.explanation import Explanation, Share

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Change:
    """What a layer or function executes itself in two explanations, in instructions."""

    name: str
    before: int
    after: int

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


def function_changes(before: Explanation, after: Explanation) -> list[Change]:
    """By function, the largest change first.

    A function that each side has in one image, but not in the same, is one function that moved: a library's in Linux
    and in OP-TEE's core, say.
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
                )
            )
            continue
        for image in sorted(old | new):
            key = name, image
            changes.append(Change(f"{name} ({image})", _own(before.functions, key), _own(after.functions, key)))
    return sorted((one for one in changes if one.difference), key=lambda one: (-abs(one.difference), one.name))


def _homes(explanation: Explanation) -> dict[str, set[str]]:
    """The images in which each function of that name is."""
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for name, image in explanation.functions:
        homes[name].add(image)
    return homes


def _own(shares: Mapping[_Key, Share], key: _Key) -> int:
    return shares[key].self if key in shares else 0
