# SPDX-License-Identifier: BSD-2-Clause
"""Suite files in a few words."""

import json


def suite_text(name: str, *cases: str, samples: int = 1, warmup: int = 0, title: str = "", more: str = "") -> str:
    """A suite's text; without a title its name is that.

    Each case is `TARGETS / OPERATIONS / IMPLEMENTATIONS / OPTIMISATIONS`, and as many ` / KEY VALUES` as it has further
    lists, with spaces between words. `more` are lines behind all else.
    """
    text = f'format = 1\nname = "{name}"\ntitle = "{title or name}"\nsamples = {samples}\nwarmup = {warmup}\n'
    for case in cases:
        parts = case.split(" / ")
        named = zip(("targets", "operations", "implementations", "optimisations"), parts[:4], strict=True)
        others = (part.split(" ", 1) for part in parts[4:])
        text += "[[cases]]\n" + "".join(f"{key} = {json.dumps(words.split())}\n" for key, words in (*named, *others))
    return text + more
