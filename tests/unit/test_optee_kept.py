# SPDX-License-Identifier: BSD-2-Clause
"""Which objects of another OP-TEE are kept: those whose source and headers name no setting that differs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worldwise.base import paths

SCRIPT = paths.RECIPES / "optee/optee-kept.py"
OLD = "#define CFG_A 1\n/* CFG_B is not set */\n#define CFG_C y\n"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A build folder of three objects: one names CFG_A, one CFG_B by its header, and one CFG_C."""
    out = tmp_path / "out"
    (out / "include/generated").mkdir(parents=True)
    (tmp_path / "old.h").write_text(OLD)
    sources = {
        "a.c": "#ifdef CFG_A\nint a;\n#endif\n",
        "b.c": "int b;\n",
        "b.h": "#if !defined(CFG_B)\n#define B\n#endif\n",
        "c.c": 'int CFG_CC = CFG_C; /* CFG_A, CFG_B */ char *d = "/* CFG_D"; // /* isn\'t\nint e = CFG_E; /* */\n',
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    for name in "abc":
        (out / f"{name}.o").write_text("object")
        os.utime(out / f"{name}.o", (1, 1))
        header = " b.h \\\n" if name == "b" else ""
        (out / f".{name}.o.d").write_text(
            f"{out}/{name}.o: {name}.c \\\n{header} {out}/include/generated/conf.h\n\nb.h:\n"
        )
    return out


def keep(out: Path, new: str) -> tuple[set[str], str]:
    """The objects that are kept, and what is said."""
    conf = out / "include/generated/conf.h"
    conf.write_text(new)
    done = subprocess.run(
        [sys.executable, "-P", SCRIPT, out, out.parent / "old.h"],
        cwd=out.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    kept = set(out.glob("*.o"))
    # Younger than the configuration, or make compiles them all the same.
    assert all(path.stat().st_mtime >= conf.stat().st_mtime for path in kept)
    return {path.stem for path in kept}, done.stdout


@pytest.mark.parametrize(
    ("new", "kept"),
    [
        (OLD.replace("CFG_A 1", "CFG_A 2"), {"b", "c"}),
        (OLD.replace("/* CFG_B is not set */", "#define CFG_B 1"), {"a", "c"}),
        (OLD.replace("#define CFG_C y\n", ""), {"a", "b"}),
        (OLD + "#define CFG_CC 1\n", {"a", "b"}),
        (OLD + "#define CFG_D 1\n", {"a", "b"}),
        (OLD + "#define CFG_E 1\n", {"a", "b"}),
        (OLD + "#define CFG_NEW 1\n", {"a", "b", "c"}),
    ],
)
def test_an_object_that_names_no_other_setting_is_kept(out: Path, new: str, kept: set[str]) -> None:
    """If this fails, a core has objects of another configuration, or is compiled whole for one setting."""
    found, said = keep(out, new)
    assert found == kept
    assert said == f"== 1 settings differ: {len(kept)} objects are kept, {3 - len(kept)} are compiled anew\n"


def test_an_object_whose_header_is_gone_is_compiled(out: Path) -> None:
    (out.parent / "b.h").unlink()
    assert keep(out, OLD + "#define CFG_NEW 1\n")[0] == {"a", "c"}
