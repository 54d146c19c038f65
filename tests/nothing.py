# SPDX-License-Identifier: BSD-2-Clause
"""Changes of a measured program that execute nothing, and one that executes an instruction, planted into a copy."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machines import Tool, note
from worldwise.base import paths
from worldwise.libraries.crates import Crates, crate_folder
from worldwise.libraries.portable import load_adapter

EXAMPLE = paths.REPOSITORY / "docs" / "examples" / "micro-ecc"
# What a checkout needs to measure.
_FOLDERS = (
    *("src", "guest", "plugin", "keycache", "suites", "boards", "cores", "published", "measured", "lab", "patches"),
    *("requirements", "docs/examples"),
)
_SUITE = """
format = 1
name = "nothing"
title = "nothing"
samples = 3
warmup = 1
"""
_NEVER = "__attribute__((used, noinline)) static int {0}(int number)\n{{\n\treturn number * 3 + 1;\n}}\n"
_DATA = "__attribute__((used)) static const char planted[4096] = { 1 };\n"
_UNUSED = "\t(void)public_key;\n"
_NOP = '__asm__ volatile("nop");'
_SORTED = "find . | LC_ALL=C sort |"
_OTHERWISE = "{ find . -type d | LC_ALL=C sort; find . ! -type d | LC_ALL=C sort -r; } |"


@dataclass(frozen=True)
class Subject:
    """A case of one kind of machine, and where its program is changed.

    Attributes:
        cases: blocks of the suite that has it.
        renamed: source of guest/, or `own` for the adapter of an own library -> a symbol of it with another name.
        larger: the one of these that is larger by 4 KiB too.
        added: a source and a line of it before which an instruction is added.
        counted: measure and place of the rows that have this instruction in every call.
        own: whether the library is the user's own.
        images: recipes of the initramfs, whose order is another.
    """

    cases: str
    renamed: Mapping[str, str]
    larger: str
    added: tuple[str, str]
    counted: frozenset[tuple[str, str]]
    own: bool = False
    images: tuple[str, ...] = ()


def _block(targets: str, operation: str, implementation: str, more: str = "") -> str:
    return (
        f"[[cases]]\ntargets = [{targets}]\noperations = [{operation}]\nimplementations = [{implementation}]\n"
        f'optimisations = ["O2"]\n{more}\n'
    )


_P256 = 'curves = ["secp256r1"]\nsizes = ["32B"]'
_OF_TEE = ("linux/initramfs.sh",)
SUBJECTS: Mapping[str, Subject] = {
    "attestation": Subject(
        _block('"optee", "linux"', '"attestdiv"', '"mbedtls-nist"')
        + _block('"optee"', '"empty-invoke", "session-open", "ta-load"', '"mbedtls-nist"'),
        {
            "apps/attestation/client.c": "empty_invoke",
            "apps/attestation/scenario.c": "fill_message",
            "apps/attestation/ta/attestation_ta.c": "panic",
        },
        "apps/attestation/client.c",
        ("apps/attestation/client.c", "\t\tres = TEEC_InvokeCommand(&app_session, ATTEST_EMPTY, &op, NULL);\n"),
        frozenset({("invoke", "client")}),
        images=_OF_TEE,
    ),
    "calls": Subject(
        _block('"optee"', '"call"', '"mbedtls-nist"', 'sizes = ["0B"]'),
        {"apps/calls/call.c": "fill", "apps/calls/ta/calls_ta.c": "give_last"},
        "apps/calls/call.c",
        ("apps/calls/call.c", "\tres = TEEC_InvokeCommand(session, command, op, NULL);\n"),
        frozenset({("oldest", "client"), ("newest", "client")}),
        images=_OF_TEE,
    ),
    "keycache": Subject(
        _block(
            '"optee"',
            '"keycache"',
            '"mbedtls-ce"',
            'storages = ["rpmb"]\npolicies = ["smart"]\nactions = ["seal-hit"]\nsizes = ["16B"]',
        ),
        {"apps/keycache/cost.c": "client_name"},
        "apps/keycache/cost.c",
        (
            "apps/keycache/measured/ta.c",
            "\tres = __real_TA_InvokeCommandEntryPoint(context, command, types, params);\n",
        ),
        frozenset({("request", "ta"), ("request", "invoke")}),
        images=_OF_TEE,
    ),
    "linux-armv8": Subject(
        _block('"linux-armv8"', '"sign", "verify"', '"micro-ecc"', _P256),
        {"operations/operations.c": "signature_evidence", "operations/linux.c": "must_not_be_lost"},
        "operations/linux.c",
        ("operations/operations.c", "\treturn ops_sign(io.private_key,"),
        frozenset({("sign", "linux")}),
        images=("linux/plain-initramfs.sh",),
    ),
    "mcu": Subject(
        _block('"nucleo-f446re"', '"sign", "verify"', '"micro-ecc"', _P256),
        {"operations/operations.c": "signature_evidence", "mcu/main.c": "read_plan"},
        "mcu/main.c",
        ("operations/operations.c", "\treturn ops_sign(io.private_key,"),
        frozenset({("sign", "mcu")}),
    ),
    "own": Subject(
        _block('"nucleo-f446re"', '"sign", "verify"', '"micro-ecc"', _P256),
        {"own": "random_bytes"},
        "own",
        ("own", _UNUSED),
        frozenset({("sign", "mcu")}),
        own=True,
    ),
}


class Copy(Tool):
    """The command line of a copy of the checkout, which works in a directory of its own; that of the checkout itself,
    if nothing is to be changed.
    """

    def __init__(self, directory: Path, subject: Subject, changed: bool) -> None:
        directory.mkdir()
        super().__init__(directory)
        self.subject = subject
        self.root = directory / "checkout" if changed else paths.REPOSITORY
        for name in _FOLDERS if changed else ():
            # What Python has compiled goes along: a copy has the same times.
            shutil.copytree(paths.REPOSITORY / name, self.root / name)
        if subject.own:
            _own_library(directory / "own")

    def environment(self, **extra: str) -> dict[str, str]:
        """The copy's modules are to be found."""
        return super().environment(**extra) | {"PYTHONPATH": str(self.root / "src")}

    def source(self, name: str) -> Path:
        """A source that is changed."""
        return self.directory / "own/adapter.c" if name == "own" else self.root / "guest" / name

    def plant_nothing(self) -> None:
        """A symbol's name, debug lines, functions that are never called, 4 KiB more, another order of files."""
        for name, symbol in self.subject.renamed.items():
            path = self.source(name)
            text, times = re.subn(rf'(?<![\w"]){symbol}(?![\w"])', f"{symbol}_renamed", path.read_text())
            assert times, (name, symbol)
            head, _, rest = text.rpartition("\n#include ")
            line, _, rest = rest.partition("\n")
            data = _DATA if name == self.subject.larger else ""
            planted = data + _NEVER.format("never_before")
            text = f"{head}\n#include {line}\n{planted}{rest}\n{_NEVER.format('never_after')}"
            path.write_text("/* Every line below has another number now. */\n" * 7 + text)
        for name in self.subject.images:
            path = self.root / "src/worldwise/recipes" / name
            text = path.read_text()
            assert text.count(_SORTED) == 1
            path.write_text(text.replace(_SORTED, _OTHERWISE))

    def plant_instruction(self) -> None:
        """One instruction in the measured path."""
        name, line = self.subject.added
        path = self.source(name)
        text = path.read_text()
        assert text.count(line) == 1, (name, line)
        indent = re.match(r"\t*", line)
        assert indent
        path.write_text(text.replace(line, f"{indent[0]}{_NOP}\n{line}"))

    def measured(self, *options: str) -> Path:
        """The directory of a run of the subject's cases."""
        suite = self.directory / "suite.toml"
        suite.write_text(_SUITE + self.subject.cases)
        own = (
            ["--implementation", str(self.directory / "own"), "--variant", "my-micro-ecc-O2"]
            if self.subject.own
            else []
        )
        result = self.run("run", str(suite), *own, *options, timeout=550)
        assert result.returncode == 0, result.stderr
        return sorted((self.directory / "runs").iterdir())[-1]


def example_library(folder: Path) -> None:
    """The second example of docs/use/own.md with its library's sources, complete."""
    adapter = load_adapter(paths.PORTABLE / "micro-ecc.c")
    crate = crate_folder(adapter, Crates(note))
    assert crate is not None
    (sources,) = (path.parent for path in crate.rglob("uECC.c"))
    shutil.copytree(EXAMPLE, folder)
    shutil.copytree(sources, folder / "micro-ecc")


def _own_library(folder: Path) -> None:
    example_library(folder)
    # Around the first of them the compiler may find another order for the rest, and save the very instruction.
    adapter_file = folder / "adapter.c"
    text = adapter_file.read_text()
    assert text.count(_UNUSED) == 1
    adapter_file.write_text(text.replace(_UNUSED, f"\t{_NOP}\n{_UNUSED}"))


def compared(tool: Tool, before: Path, after: Path, *options: str) -> list[dict[str, Any]]:
    """The rows of a comparison of two runs, in which everything but the images must agree."""
    words = ("compare", str(before), str(after), "--allow", "images", "--allow", "worldwise", "--format", "json")
    result = tool.run(*words, *options)
    assert result.returncode == 0, result.stderr
    rows: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return rows
