# SPDX-License-Identifier: BSD-2-Clause
"""A second compiler: what the tests compile for the host with its own compiler, clang compiles without a warning too.

The key cache's own sources are in tests/keycache/test_native.py. clang is that of the key cache's root, so that every
machine asks the same one.
"""

from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.families.keycache import build as keycache
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.network import Bind

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

_STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only")
# Words of the compiler, then files or patterns of the repository.
SOURCES = {
    "model": (("-Iplugin/model", "-Iplugin"), ("plugin/model/*.c", "tests/model_*.c")),
    "secrets": (
        ("-Iplugin/model", "-Iplugin"),
        (*(f"plugin/secrets/{part}.c" for part in ("map", "stream", "compare", "partings")), "tests/secrets_driver.c"),
    ),
    "decoders": (
        ("-Iplugin/model", "-Iplugin"),
        ("plugin/flat/decode.c", "plugin/worldwise/decode.c", "plugin/worldwise/kinds.c", "tests/flat_decode.c"),
    ),
    "records": (("-Iguest/bench", "-Wconversion"), ("guest/bench/record.c",)),
    "inputs": (("-Iguest/inputs",), ("guest/inputs/drbg.c",)),
    "counters": (("-D_GNU_SOURCE", "-Iguest/silicon"), ("guest/silicon/counter.c",)),
    "serial": (
        ("-DSERIAL_STATUS=0x40ul", "-DSERIAL_MASK=1", "-DSERIAL_READY=1", "-DSERIAL_DATA=0x44ul"),
        ("guest/serial/serial.c",),
    ),
}


def files_of(patterns: tuple[str, ...]) -> list[str]:
    """The files of some patterns, as the root sees them."""
    found = [sorted(paths.REPOSITORY.glob(pattern)) for pattern in patterns]
    assert all(found), patterns
    return [f"/sources/{path.relative_to(paths.REPOSITORY)}" for one in found for path in one]


def clang(root: Lab, words: tuple[str, ...], files: list[str], made: Path | None = None) -> str:
    """What clang says of files; nothing if it finds nothing."""
    flags = [word.replace("-I", "-I/sources/") if word.startswith("-I") else word for word in words]
    binds: list[Bind] = [(paths.REPOSITORY / name, f"/sources/{name}", "ro") for name in ("guest", "plugin", "tests")]
    binds += [(made, "/made", "rw")] if made else []
    done = root.run(["clang", *_STRICT, *flags, *files], binds=binds, timeout=600, check=False)
    said = done.stdout + (done.stderr or "")
    assert bool(done.returncode) == bool(said.strip()), said
    return said


@pytest.fixture(scope="module")
def root() -> Lab:
    """The root that has clang, built if need be."""
    return keycache.root()


@pytest.mark.parametrize("name", SOURCES)
def test_clang_has_no_warning(root: Lab, name: str) -> None:
    """If this fails, the C holds only for the compiler that everybody has."""
    words, patterns = SOURCES[name]
    assert not clang(root, words, files_of(patterns))


def test_a_warning_is_seen(root: Lab, tmp_path: Path) -> None:
    """If this fails, the test above says nothing."""
    (tmp_path / "one.c").write_text("int f(unsigned a);\nint f(unsigned a) { int b = 1; return a < b; }\n")
    assert "sign-compare" in clang(root, (), ["/made/one.c"], tmp_path)
