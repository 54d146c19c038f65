# SPDX-License-Identifier: BSD-2-Clause
"""A second compiler: what the tests compile for the host with its own compiler, clang compiles without a warning too.

And clang-tidy finds no fault in it, nor in the key cache, by the checks of .clang-tidy. Whether clang compiles the key
cache is asked in tests/keycache/test_native.py. clang is that of the key cache's root, clang-tidy that of the root
`checks`, so that every machine asks the same one.
"""

from pathlib import Path

import pytest

from worldwise.base import paths
from worldwise.families.keycache import build as keycache
from worldwise.lab.lab import Lab, open_lab
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


def in_root(words: tuple[str, ...]) -> list[str]:
    """Words of the compiler, as the root sees the repository's folders."""
    return [word.replace("-I", "-I/sources/") if word.startswith("-I") else word for word in words]


def bound(made: Path | None) -> list[Bind]:
    """What of the repository a root sees, and a folder of the test."""
    seen = ("guest", "keycache", "plugin", "tests", ".clang-tidy")
    binds: list[Bind] = [(paths.REPOSITORY / name, f"/sources/{name}", "ro") for name in seen]
    return binds + ([(made, "/made", "rw")] if made else [])


def clang(root: Lab, words: tuple[str, ...], files: list[str], made: Path | None = None) -> str:
    """What clang says of files; nothing if it finds nothing."""
    flags = in_root(words)
    done = root.run(["clang", *_STRICT, *flags, *files], binds=bound(made), timeout=600, check=False)
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


# As above; libteec's header is in neither root.
TIDY = {
    **SOURCES,
    "ta": (
        (
            *("-D_GNU_SOURCE", "-DKEYCACHE_MEASURING", "-Ikeycache/tests/ta/shim", "-Ikeycache/tests/ta"),
            *("-Ikeycache/ta", "-Ikeycache/include"),
        ),
        ("keycache/ta/*.c", "keycache/tests/ta/*.c", "keycache/tests/ta/shim/*.c"),
    ),
    "server": (
        ("-D_GNU_SOURCE", "-Ikeycache/server", "-Ikeycache/include"),
        (
            "keycache/server/[!t]*.c",
            "keycache/server/tls.c",
            "keycache/server/transaction.c",
            "keycache/tests/policies/*.c",
        ),
    ),
}


@pytest.fixture(scope="module")
def checks() -> Lab:
    """The root that has clang-tidy, made if need be."""
    lab = open_lab(name="checks")
    lab.ensure()
    return lab


def tidy(root: Lab, words: tuple[str, ...], files: list[str], made: Path | None = None) -> str:
    """The faults that clang-tidy finds in files, a line each."""
    asked = ["clang-tidy", "--quiet", "--config-file=/sources/.clang-tidy", *files, "--", "-std=c11", *in_root(words)]
    done = root.run(asked, binds=bound(made), timeout=1500, check=False)
    said = [line for line in done.stdout.splitlines() if ": error: " in line or ": warning: " in line]
    assert bool(done.returncode) == bool(said), done.stdout + (done.stderr or "")
    return "\n".join(said)


@pytest.mark.parametrize("name", TIDY)
def test_clang_tidy_finds_no_fault(checks: Lab, name: str) -> None:
    """If this fails, the C has a fault of a kind that a machine can see: a null pointer, a leak, a copy too long."""
    words, patterns = TIDY[name]
    assert not tidy(checks, words, files_of(patterns))


def test_a_fault_is_seen(checks: Lab, tmp_path: Path) -> None:
    """If this fails, the test above says nothing."""
    (tmp_path / "one.c").write_text("int f(int a);\nint f(int a) { int *p = a ? &a : 0; return *p; }\n")
    assert "core.NullDereference" in tidy(checks, (), ["/made/one.c"], tmp_path)
