# SPDX-License-Identifier: BSD-2-Clause
"""The programs of the validation: recipes of libraries that have published hardware figures, as they were measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from worldwise.base import paths
from worldwise.lab.image import ImageStore, Recipe
from worldwise.lab.roots import MAIN
from worldwise.libraries.boards import boards, load_core
from worldwise.libraries.crates import Crates

NEW = "validation"
OLD = "validation-old"
# The crate that has s2n-bignum in it, the SHA-256 of its .crate file, and the folder in it.
CRATE = ("aws-lc-sys", "0.47.0", "8bfbe32ac36b3c428696ce315464181bc4029d689fd58e3f2a4e58c252242f52")
S2N = "aws-lc/third_party/s2n-bignum/s2n-bignum-imported"
# The same of what microcontrollers run, with the folder.
P256 = (
    ("p256-cortex-m4-sys", "0.1.0", "54a73da4b90c4bb139ff5cca5526f796451cfeea58f5915bc739df36803977de"),
    "P256-Cortex-M4",
)
C25519 = (
    ("monocypher-sys", "4.0.2", "dc11b58afcc9e7b8dc05ae2a2050b5a7a368ba1155bc0f9b1ad81ccedf5f1c96"),
    "Monocypher/tests/externals/c25519",
)
# wolfSSL 5.6.6, of which the figures of the Cortex-M7 are. No registry has 5.6.0, of which those of the M33 are.
WOLFSSL = (
    ("wolfssl-sys", "1.0.0", "add7d51a8bdec974e75c59acca2aee16c1ad9002df83835c7534bd05bf329a0b"),
    "wolfssl-src",
)
HARNESS = paths.GUEST / "validation"
# QEMU's processor only decodes; the models decide the cycles.
_A64 = ("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a76", "-m", "256M")


class Origins:
    """Folders of sources that a program's recipe takes as they are.

    Args:
        store: the images of the root of a name.
        notify: called with a line of text when a crate is fetched.
    """

    def __init__(self, store: Callable[[str], ImageStore], notify: Callable[[str], None]) -> None:
        self._store = store
        self.crates = Crates(notify)

    def old(self, source: str, *parts: str) -> Path:
        """The folder of a source package of the root OLD, with some of its folders. Raises WorldwiseError."""
        recipe = Recipe(
            name=f"validation-source-{source}",
            script="validation-source.sh",
            outputs=(),
            sources=(source,),
            settings={"SOURCE": source, "PARTS": " ".join(parts)},
        )
        return self._store(OLD).get(recipe).file("source")


@dataclass(frozen=True)
class CodeFlash:
    """The flash that a microcontroller's code is in: the board whose [memory] describes it, and its wait states."""

    board: str
    waits: int


class Built(Protocol):
    """A program of cells: its name, the root with its compilers, where it runs, its flash, if it waits for one, how
    often it makes a call, and whether it says nothing of it."""

    @property
    def name(self) -> str: ...
    @property
    def root(self) -> str: ...
    @property
    def emulator(self) -> tuple[str, ...]: ...
    @property
    def plugin(self) -> tuple[str, ...]: ...
    @property
    def flash(self) -> CodeFlash | None: ...
    @property
    def calls(self) -> int: ...
    @property
    def silent(self) -> bool: ...
    def file(self, operation: str) -> str: ...
    def recipe(self, origins: Origins) -> Recipe: ...


class _OneFile:
    """What has all operations in one file."""

    def file(self, operation: str) -> str:  # noqa: ARG002
        """The file of the image that has an operation: one has all."""
        return "program"


@dataclass(frozen=True)
class Program(_OneFile):
    """A static program for AArch64 that calls one library.

    Attributes:
        name: its name.
        root: the root with its compilers.
        library: the source package, and the file of guest/validation that calls it.
        gcc, clang: the versions of its compilers; no clang for assembly.
        figures: file of the source with the figures.
    """

    name: str
    root: str
    library: str
    gcc: str
    clang: str = ""
    figures: str = ""
    emulator: tuple[str, ...] = _A64
    plugin: tuple[str, ...] = ()
    flash: CodeFlash | None = None
    # A first call, and the warm ones.
    calls: int = 5
    silent: bool = False

    def recipe(self, origins: Origins) -> Recipe:
        """How it is built. Raises WorldwiseError if a crate that it needs cannot be fetched."""
        return Recipe(
            name=f"validation-{self.name}",
            script="validation-program.sh",
            outputs=("program",),
            trees={"validation": HARNESS, "bench": paths.GUEST / "bench"},
            needs={"library": self._library(origins.crates)},
            settings={"GCC": f"aarch64-linux-gnu-gcc-{self.gcc}", "CELLS": f"{self.library}.c"},
        )

    def _library(self, crates: Crates) -> Recipe:
        compiler = {"GCC": f"aarch64-linux-gnu-gcc-{self.gcc}"}
        if not self.clang:
            return Recipe(
                name=f"validation-library-{self.name}",
                script="validation-s2n.sh",
                outputs=("library.a",),
                trees={"s2n": crates.folder(*CRATE) / S2N},
                settings=compiler,
            )
        return Recipe(
            name=f"validation-library-{self.name}",
            script="validation-library.sh",
            outputs=("library.a",),
            sources=(self.library,),
            trees={"random/randombytes.h": HARNESS / "randombytes.h"},
            settings=compiler | {"LIBRARY": self.library, "CLANG": f"clang-{self.clang}", "FIGURES": self.figures},
            helpers=("validation-selected.py",),
        )


class _OnBoard:
    """What runs on a board's emulated machine."""

    board: str

    @property
    def emulator(self) -> tuple[str, ...]:
        """The emulator's command line, but for the program."""
        return ("qemu-system-arm", "-M", boards()[self.board].emulated.machine, "-nic", "none")


def _flags(core: str) -> str:
    """A core's flags, without floating-point registers: the models have no numbers for what moves them."""
    kept = [flag for flag in load_core(core).flags if not flag.startswith(("-mfloat-abi", "-mfpu"))]
    return " ".join([*kept, "-mfloat-abi=soft"])


@dataclass(frozen=True)
class McuProgram(_OneFile, _OnBoard):
    """A program for a microcontroller that calls one library, with the compiler of the boards' programs.

    Attributes:
        name: its name.
        board: the board on whose emulated machine it runs, and whose core its own is.
        cells: the file of guest/validation that calls the library.
        level: flags of the optimisation, as the figures say, and definitions.
        files, include: the library's sources and folders of headers below its folder.
        headers: settings of the library from guest/adapters.
        crate: the crate that the library is in: name, version and digest, and the folder in it.
        source: the source package that it is in otherwise.
        parts: folders of that package, if it is one of the root OLD, not of the lab.
        flash: the flash of the figures' board, if that has wait states.
    """

    name: str
    board: str
    cells: str
    level: str
    files: tuple[str, ...]
    include: tuple[str, ...] = (".",)
    headers: tuple[str, ...] = ()
    crate: tuple[tuple[str, str, str], str] | None = None
    source: str = ""
    parts: tuple[str, ...] = ()
    flash: CodeFlash | None = None
    root: str = MAIN
    plugin: tuple[str, ...] = ("set=t32",)
    # Cores of the M profile have no caches: one more tells whether anything changes.
    calls: int = 2
    silent: bool = False

    def recipe(self, origins: Origins) -> Recipe:
        """How it is built. Raises WorldwiseError if its library cannot be fetched."""
        board = boards()[self.board]
        locked = () if self.parts or self.crate else (self.source,)
        scripts = {f"boards/{name}": paths.BOARDS / name for name in (board.script, "sections.ld")}
        return Recipe(
            name=f"validation-{self.name}",
            script="validation-mcu.sh",
            outputs=("program",),
            sources=locked,
            trees={
                "validation": HARNESS,
                "bench": paths.GUEST / "bench",
                "mcu": paths.GUEST / "mcu",
                **scripts,
                **{f"headers/{name}": paths.PORTABLE / name for name in self.headers},
                **({} if locked else {"source": self._folder(origins)}),
            },
            settings={
                "PACKAGES": " ".join(locked),
                "SOURCE": f"/build/{self.source}" if locked else "/in/source",
                "FLAGS": _flags(board.core),
                "LEVEL": self.level,
                "FILES": " ".join(self.files),
                "INCLUDE": " ".join(self.include),
                "CELLS": self.cells,
                "SCRIPT": board.script,
                "FLASH": str(board.flash),
                "RAM": str(board.ram),
                "STACK": str(min(_STACK, board.ram // 2)),
            },
            helpers=("packages.sh",),
        )

    def _folder(self, origins: Origins) -> Path:
        if self.crate is None:
            return origins.old(self.source, *self.parts)
        (name, version, sha256), folder = self.crate
        return origins.crates.folder(name, version, sha256) / folder


# Bytes of stack of a microcontroller's program, if half of its RAM is as much: wolfSSL's points are on it.
_STACK = 24 * 1024


@dataclass(frozen=True)
class Cifra(_OnBoard):
    """cifra's own measuring programs for a core, a file for each operation, without our harness: each has one
    region and says nothing. `board` is where they run."""

    name: str
    board: str
    code: str
    root: str = MAIN
    plugin: tuple[str, ...] = ("set=t32",)
    flash: CodeFlash | None = None
    calls: int = 1
    silent: bool = True

    def file(self, operation: str) -> str:
        """The file of the image that has an operation."""
        return f"{operation}.elf"

    def recipe(self, origins: Origins) -> Recipe:
        """How they are built. Raises WorldwiseError if the source cannot be fetched."""
        return Recipe(
            name=f"validation-{self.name}",
            script="mcu-cifra.sh",
            outputs=tuple(self.file(operation) for operation in CIFRA.values()),
            trees={"source": origins.old("h2o", _CIFRA) / _CIFRA, "validation": HARNESS},
            settings={"CORE": boards()[self.board].core.removeprefix("cortex-"), "CODE": self.code},
        )


_CIFRA = "deps/picotls/deps/cifra/src"
# What cifra's figures are called, and its programs of them.
CIFRA: Mapping[str, str] = {
    "SHA-256 empty": "hashtest_sha256",
    "SHA-512 empty": "hashtest_sha512",
    "SHA3-256 empty": "hashtest_sha3_256",
    "SHA3-512 empty": "hashtest_sha3_512",
    "AES-128 key schedule + block": "aes128block_test",
    "AES-128 key schedule": "aes128sched_test",
    "AES-256 key schedule + block": "aes256block_test",
    "AES-256 key schedule": "aes256sched_test",
    "AES128-GCM 16+16": "aes128gcm_test",
    "AES128-EAX 16+16": "aes128eax_test",
    "AES128-CCM 16+16": "aes128ccm_test",
    "Salsa20 64 bytes": "salsa20_test",
    "ChaCha20 64 bytes": "chacha20_test",
    "Poly1305-AES": "poly1305_test",
    "HMAC-SHA256": "hmacsha256_test",
    "Curve25519 uNaCl assembly": "curve25519_test",
    "NORX32 16+16": "norx_test",
}

_WOLFSSL = (
    *("aes", "chacha", "poly1305", "sha256", "sha512", "ecc", "sp_int", "sp_cortexm", "wolfmath", "random", "hash"),
    "wc_port",
)
_THUMB2 = (
    *("curve25519", "ed25519", "fe_operations", "ge_operations"),
    *(f"port/arm/armv8-{name}" for name in ("aes", "sha256", "sha512")),
    *(f"port/arm/thumb2-{name}_c" for name in ("aes-asm", "curve25519", "sha256-asm", "sha512-asm")),
)


def _wolfssl(*names: str) -> tuple[str, ...]:
    return tuple(f"wolfcrypt/src/{name}.c" for name in names)


def _c25519(core: str, board: str, waits: int) -> McuProgram:
    return McuProgram(
        name=f"c25519-{core}",
        board=board,
        cells="mcu_c25519.c",
        level="-Os",
        files=("ed25519.c", "edsign.c", "f25519.c", "fprime.c", "sha512.c"),
        crate=C25519,
        flash=CodeFlash(board, waits),
    )


PROGRAMS: Mapping[str, Built] = {
    program.name: program
    for program in (
        Program("lib25519-a53", OLD, "lib25519", "12", "14", "benchmarks/a53-pi3aplus"),
        Program("lib25519-a72", NEW, "lib25519", "13", "18", "benchmarks/a72-pi4b"),
        Program("lib25519-a76", NEW, "lib25519", "14", "19", "benchmarks/a76-pi5"),
        Program("libntruprime", OLD, "libntruprime", "11", "14", "benchmarks/a72-pi4b"),
        # Assembly: the lab's own compiler links it, so that this one needs no other root.
        Program("s2n", MAIN, "s2n", "14"),
        Cifra("cifra-m0", "microbit", "0"),
        Cifra("cifra-m3", "stm32vldiscovery", "0x08000000"),
        Cifra("cifra-m4", "nucleo-f446re", "0x08000000"),
        _c25519("cortex-m3", "nucleo-f103rb", 2),
        _c25519("cortex-m4", "nucleo-f446re", 5),
        McuProgram(
            name="p256-cortex-m4",
            board="mps2-an386",
            cells="mcu_p256_cortex_m4.c",
            level="-O2",
            files=("p256-cortex-m4.c", "p256-cortex-m4-asm-gcc.S"),
            crate=P256,
        ),
        McuProgram(
            name="p256-m",
            board="nucleo-f446re",
            cells="mcu_p256_m.c",
            level='-Os -DMBEDTLS_CONFIG_FILE="p256-m_config.h"',
            files=("3rdparty/p256-m/p256-m/p256-m.c", "library/platform_util.c"),
            include=("3rdparty/p256-m/p256-m", "include", "library", "/in/headers"),
            headers=("p256-m_config.h",),
            source="mbedtls",
            flash=CodeFlash("nucleo-f446re", 3),
        ),
        McuProgram(
            name="wolfssl-f437",
            board="olimex-stm32-h405",
            cells="mcu_wolfssl.c",
            level="-Os -DWOLFSSL_USER_SETTINGS",
            files=_wolfssl(*_WOLFSSL),
            source="wolfssl",
            parts=("wolfssl/wolfcrypt", "wolfcrypt/src"),
            flash=CodeFlash("olimex-stm32-h405", 5),
        ),
        McuProgram(
            name="wolfssl-h563",
            board="mps2-an505",
            cells="mcu_wolfssl.c",
            level="-Os -DWOLFSSL_USER_SETTINGS",
            files=_wolfssl(*_WOLFSSL),
            crate=WOLFSSL,
        ),
        McuProgram(
            name="wolfssl-h753",
            board="mps2-an500",
            cells="mcu_wolfssl.c",
            level="-O2 -DWOLFSSL_USER_SETTINGS -DVALIDATION_THUMB2",
            files=_wolfssl(*_WOLFSSL, *_THUMB2),
            crate=WOLFSSL,
        ),
    )
}  # fmt: skip
