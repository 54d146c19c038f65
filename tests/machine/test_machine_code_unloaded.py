# SPDX-License-Identifier: BSD-2-Clause
"""Libraries that a program loads and unloads: their code has its names, also if they are gone when it ends."""

from pathlib import Path

import pytest

import own_codes
from machines import note
from own_explained import explained
from worldwise.base.errors import WorldwiseError
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries import own_code
from worldwise.machine.emulator import Emulator
from worldwise.plan.spec import REGION_MEASURE, REGION_PLACE
from worldwise.run.code.order import Wanted
from worldwise.run.code.prepare import prepare

LIBRARY = """
__attribute__((noinline)) int turn_NAME(int n)
{
	volatile int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}
int call(int n) { return turn_NAME(n) + 1; }
"""
# Each word is loaded, called and unloaded; behind a `+` it stays.
PROGRAM = """
#include <dlfcn.h>
#include <string.h>
__attribute__((noinline)) int use(const char *name)
{
	int stays = *name == '+';
	void *of = dlopen(name + stays, RTLD_NOW);
	int (*call)(int) = of ? (int (*)(int))dlsym(of, "call") : 0;
	int found = call ? call(100) : -1;
	if (of && !stays)
		dlclose(of);
	return found != 4951;
}
int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed += use(argv[i]);
	return failed;
}
"""


@pytest.mark.parametrize(
    ("words", "turns"),
    [
        (("libone.so",), {"one": 1}),
        (("libone.so", "libone.so", "+libone.so"), {"one": 3}),
        # The second time something else is where it was.
        (("libone.so", "+libtwo.so", "libone.so"), {}),
        (("+libtwo.so", "libone.so", "libone.so"), {"one": 2, "two": 1}),
    ],
    ids=["once", "again and again", "another in its place", "beside another"],
)
def test_a_library_that_was_unloaded_has_names(
    words: tuple[str, ...], turns: dict[str, int], lab: Lab, images: ImageStore, tmp_path: Path
) -> None:
    """Its instructions are those of its function, as often as it was called; or an error says why nobody knows."""
    folder = tmp_path / "made"
    program = own_codes.compiled(lab, folder, "loads", PROGRAM)
    libraries = []
    for name in ("one", "two"):
        source = LIBRARY.replace("NAME", name)
        libraries.append(own_codes.compiled(lab, folder, f"lib{name}.so", source, "-shared", "-fPIC"))
    emulator = Emulator(lab, note)
    ready = prepare(Wanted(program, words, lives=2, libraries=tuple(libraries)), images, emulator, note)
    assert not [life for life in ready.counted.lives if life.status]
    own_code.add(ready.code)
    try:
        if not turns:
            with pytest.raises(WorldwiseError, match="the machine executed other instructions") as caught:
                explained(ready, "main", images, emulator, tmp_path)
            assert "was a library unloaded, and another one loaded in its place?" in caught.value.hint
            return
        explainer = explained(ready, "main", images, emulator, tmp_path)
        explainer.check()
        explanation = explainer.explain(explainer.sample(REGION_MEASURE, REGION_PLACE))
    finally:
        own_code.remove(ready.code.name)
    of = {name: explanation.functions[f"turn_{name}", f"lib{name}"].self for name in turns}
    assert len({count // turns[name] for name, count in of.items()}) == 1
    assert all(count > 100 * turns[name] for name, count in of.items())
