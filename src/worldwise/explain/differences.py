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
    """A layer's or function's own instructions in two explanations."""

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
                )
            )
            continue
        for image in sorted(old | new):
            key = name, image
            changes.append(Change(f"{name} ({image})", _own(before.functions, key), _own(after.functions, key)))
    return sorted((one for one in changes if one.difference), key=lambda one: (-abs(one.difference), one.name))


def _homes(explanation: Explanation) -> dict[str, set[str]]:
    """Function name -> the images that have a function of this name."""
    homes: defaultdict[str, set[str]] = defaultdict(set)
    for name, image in explanation.functions:
        homes[name].add(image)
    return homes


def _own(shares: Mapping[_Key, Share], key: _Key) -> int:
    return shares[key].self if key in shares else 0
