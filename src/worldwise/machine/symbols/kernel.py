# SPDX-License-Identifier: BSD-2-Clause
"""Linux's own functions, by what the kernel itself says of its addresses."""

import bisect
import functools
from collections import defaultdict
from collections.abc import Mapping

from worldwise.base.errors import WorldwiseError
from worldwise.machine.symbols.names import Candidate, Function, best_name
from worldwise.machine.symbols.table import SymbolTable


# The cases of a run have one kernel, or two: Linux with OP-TEE, and plain.
@functools.lru_cache(maxsize=2)
def kernel_tables(kallsyms: str, sections: str) -> Mapping[str, SymbolTable]:
    """Tables of the kernel (`linux`) and of each module (`linux:NAME`), at the addresses the kernel itself gives.

    Args:
        kallsyms: /proc/kallsyms.
        sections: "MODULE SECTION ADDRESS" lines, which bound the modules' last functions.

    A function ends where the next symbol of any kind, or the next section, begins. Raises WorldwiseError if the
    kernel hides its addresses.
    """
    names: dict[str, dict[int, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
    limits: dict[str, set[int]] = defaultdict(set)
    for line in kallsyms.splitlines():
        address, kind, name, *module = line.split()
        owner = f"linux:{module[0].strip('[]')}" if module else "linux"
        at = int(address, 16)
        limits[owner].add(at)
        if kind in "tTwW":
            names[owner][at].append(Candidate(name, kind != "t"))
    if not any(max(found) for found in limits.values()):
        raise WorldwiseError("/proc/kallsyms gives no addresses", "the kernel's setting kptr_restrict hides them")
    tables = {}
    for line in sections.splitlines():
        module_name, section, address = line.split()
        if section.startswith(".init"):
            continue  # given back when the module was ready, and another's by now
        owner = f"linux:{module_name}"
        at = int(address, 16)
        limits[owner].add(at)
        # Jumps that the kernel makes for a module; there is no other name for them.
        if section.endswith(("plt", "ftrace_trampoline")):
            names[owner][at].append(Candidate(section, False))
    for owner, found in names.items():
        ends = sorted(limits[owner])
        functions = []
        for start, candidates in found.items():
            place = bisect.bisect_right(ends, start)
            if place < len(ends):
                functions.append(Function(best_name(candidates), start, ends[place] - start))
        tables[owner] = SymbolTable(owner, functions)
    return tables
