#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Says which implementation a library uses for itself: what the figures' file says it chose on that machine.

It takes the place of the library's own script, which looks at the machine's name for the compiler too. Arguments:
operation and primitive. Standard input: what compiled, as operation/primitive/implementation/compiler.
"""

import re
import sys
from pathlib import Path

operation, primitive = sys.argv[1:3]
there = [line.strip().split("/")[2:] for line in sys.stdin if line.split("/")[:2] == [operation, primitive]]
pattern = rf"^{operation}_{primitive} selected implementation (\S+) compiler (\S+)"
found = re.search(pattern, Path("figures").read_text(encoding="utf-8"), re.MULTILINE)
if not found:
    sys.exit(f"the figures do not say which implementation of {operation} {primitive} was chosen")
kinds = {path.name: path.read_text(encoding="utf-8").split()[0] for path in Path("compilerversion").iterdir()}
chosen = [(name, compiler) for name, compiler in there if name == found[1] and kinds[compiler] == found[2]]
if not chosen:
    sys.exit(f"{found[1]} of {operation} {primitive} by {found[2]} did not compile")
lines = [f"operation {operation}", f"primitive {primitive}", f"selected default {chosen[0][0]} {chosen[0][1]}"]
lines += [f"impl {name} {compiler}" for name, compiler in there]
sys.stdout.write("\n".join(lines) + "\n")
