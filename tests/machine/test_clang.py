# SPDX-License-Identifier: BSD-2-Clause
"""A second compiler reads all C of guest/ and plugin/: clang, by clang-tidy, which also looks for faults.

The key cache's own sources are in tests/keycache/test_native.py. The tool is that of the tests' environment, and the
headers are those of the lab, so that every machine asks the same. A group's answer is kept until a file changes.
"""

import hashlib
import posixpath
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

from machines import fresh_cache
from worldwise.base import paths
from worldwise.base.files import file_sha256
from worldwise.families.keycache import build as keycache
from worldwise.families.pqc.libraries import Library, libraries
from worldwise.families.pqc.schemes import SCHEMES
from worldwise.lab.image import ImageStore, tree_digest
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.sandbox.limits import WITHOUT_ADDRESS_LIMIT
from worldwise.lab.sandbox.network import Bind
from worldwise.libraries.cores import TEE_CORE
from worldwise.libraries.crates import Crates
from worldwise.libraries.portable import Portable, portables
from worldwise.targets import optee_images
from worldwise.targets.guest import unpacked
from worldwise.targets.portable_images import build_plan, curve_plan

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

# The key cache's checks, each that is left out with its reason; and what is other here.
_CONFIG = paths.KEYCACHE / ".clang-tidy"
_CHECKS = {
    "clang-diagnostic-*": "what clang itself warns of",
    "-bugprone-assignment-in-if-condition": "it stands in parentheses of its own",
    "-bugprone-reserved-identifier": "the linker has these names: __wrap_ and _sbrk",
    "-bugprone-suspicious-include": "an adapter includes a variant of itself",
    "-bugprone-suspicious-string-compare": "strcmp() as a truth",
    "-cert-err34-c": "numbers that this project's own programs and Linux write",
    "-clang-analyzer-optin.taint.TaintedAlloc": "counts of the same",
    "-clang-analyzer-unix.API": "a TA's own open() has five arguments",
    "-clang-analyzer-unix.StdCLibraryFunctions": "lengths that the caller has checked",
    "-misc-confusable-identifiers": "tables of cells are named by letters",
    "-misc-no-recursion": "its depth is bounded where it is",
    "-misc-unused-parameters": "an interface has them",
}
_STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic")
# Of a function clang's analyzer looks at a third of the states that are its default, in a third of the seconds.
_FEWER_STATES = tuple(f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=75000"))
_FOUND = re.compile(r"^/sources/(?P<file>[^:\n]+):\d+:\d+: (?:error|warning): .*\[(?P<check>[\w.-]+)(?:,.*)?\]$", re.M)
# Where each kind of program finds its headers.
_HOST = (
    *("--target=x86_64-linux-gnu", "-isystem", "/usr/include/glib-2.0"),
    *("-isystem", "/usr/lib/x86_64-linux-gnu/glib-2.0/include", "-isystem", "/headers/qemu", "-Iplugin"),
)
_LINUX = (
    *("--target=aarch64-linux-gnu", "-D_GNU_SOURCE", "-isystem", "/usr/aarch64-linux-gnu/include"),
    *("-isystem", "/headers/client"),
)
_TA = (
    "--target=aarch64-linux-gnu",
    "-isystem",
    "/headers/devkit/include",
    "-DTRACE_LEVEL=1",
    "-Iguest/apps/common",
    "-Iguest/bench",
)
_FIRMWARE = ("--target=thumbv7em-none-eabi", "-isystem", "/usr/include/newlib")
_SECURE = ("--target=thumbv8m.main-none-eabi", "-mcmse", "-isystem", "/usr/include/newlib")
_OPENSSL = ("-isystem", "/headers/host", "-isystem", "/headers/host/x86_64-linux-gnu")
# What the builds say.
_P256 = ("-DOPS_CURVE=OPS_CURVE_SECP256R1",)
_ML_KEM = ("-DPQC_SCHEME=PQC_ML_KEM_768", '-DPQC_NAME="ml-kem-768"')
_COUNTER = tuple(
    f"-DCOUNTER_{name}=16" for name in ("HZ", "INSTRUCTION_NS", "ROUND_TICKS", "ROUND_NS", "SHORT_TICKS", "SHORT_NS")
)
_APPS = (*(f"-Iguest/apps/{path.name}" for path in sorted((paths.GUEST / "apps").iterdir())), "-Iguest/operations")
_KEYCACHE = (
    *(*_LINUX, *_OPENSSL, "-DMAX_STORED_FILES=128", "-DMAX_DATA=8"),
    *(
        "-Ikeycache/include",
        "-Ikeycache/client",
        "-Ikeycache/tests/policies",
        "-Ikeycache/ta",
        "-Ikeycache/server",
    ),
)
# In the loops of this file clang's analyzer goes on for minutes.
_LONG = "guest/apps/keycache/linux/clients.c"


@dataclass(frozen=True)
class Group:
    """Files that are compiled alike.

    Attributes:
        words: the compiler's; folders of -I are the repository's, those of -isystem the root's.
        patterns: which files, from the repository on; "!" before a pattern takes its files out again.
        analysed: whether clang's analyzer follows the ways through each function, too.
    """

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    analysed: bool = True


GROUPS = {
    "plugins": Group(
        (*_HOST, "-Iplugin/model"),
        ("plugin/*/*.c", "tests/model_*.c", "tests/secrets_driver.c", "tests/flat_decode.c"),
    ),
    "power cut": Group((*_HOST, "-D_GNU_SOURCE"), ("plugin/*.c",)),
    "Linux": Group(
        (
            *_LINUX,
            "-Iguest/bench",
            '-DIMPLEMENTATION="one"',
            '-DAES_LIBRARY="one"',
            "-DMAX_STORED_FILES=8",
            "-DMAX_DATA=8",
        ),
        (
            "guest/linux/*.c",
            "guest/own/*.c",
            "guest/kernel-symbols/*.c",
            "guest/board-linux/*.c",
            "guest/bench/*.c",
            "guest/inputs/*.c",
            "guest/apps/*/*.c",
            "guest/apps/*/linux/*.c",
            "guest/apps/faults/supplicant/*.c",
            "guest/optee-libraries/entropy.c",
            "!guest/linux/draw.c",
            "!guest/apps/crypto/linux/*.c",
            "!guest/apps/pqc/*.c",
            "!guest/apps/keycache/*.c",
            "!guest/apps/keycache/*/*.c",
            "!guest/apps/pkcs11-openssl/*.c",
        ),
    ),
    "OpenSSL with a token": Group(
        (*_LINUX, *_OPENSSL, "-Iguest/bench"),
        ("guest/apps/pkcs11-openssl/*.c", "guest/apps/pkcs11-openssl/counted/*.c"),
    ),
    "curves": Group(
        (
            *_LINUX,
            *_P256,
            "-DFRAME_HAS_KEYGEN=1",
            "-DFRAME_HAS_SIGN=1",
            '-DTRIAL_NAME="one"',
            "-isystem",
            "/headers/bearssl/inc",
        ),
        (
            "guest/linux/draw.c",
            "guest/operations/*.c",
            "guest/apps/crypto/linux/*.c",
            "guest/apps/attestation/linux/library/*.c",
            "guest/mbedtls-clock/case.c",
        ),
    ),
    "post-quantum": Group(
        (*_LINUX, *_P256, *_ML_KEM),
        ("guest/pqc-operations/*.c", "guest/apps/pqc/*.c", "!guest/pqc-operations/footprint.c"),
    ),
    "key cache": Group(
        _KEYCACHE,
        ("guest/apps/keycache/*.c", "guest/apps/keycache/*/*.c", "!guest/apps/keycache/measured/ta.c", f"!{_LONG}"),
    ),
    "key cache, many clients": Group(_KEYCACHE, (_LONG,), analysed=False),
    "TAs": Group(
        (
            *(*_TA, *_APPS, *_P256, *_ML_KEM, "-DFRAME_HAS_SIGN=1", "-DFRAME_HAS_ECDH=0", "-DFRAME_HAS_SHA256=0"),
            "-Iguest/adapters",
            "-Ikeycache/include",
            "-Ikeycache/ta",
            "-Iguest/apps/pkcs11/measured",
        ),
        ("guest/apps/*/ta/*.c", "guest/apps/keycache/measured/ta.c"),
    ),
    "TAs' engines": Group(
        (*_TA, *_P256, "-Iguest/apps/attestation", "-Iguest/apps/attestation/ta", "-Iguest/operations"),
        ("guest/apps/attestation/ta/*/*.c",),
    ),
    "firmware": Group(
        (*_FIRMWARE, *_P256, *_COUNTER, *_ML_KEM, '-DFRAME_BOARD="one"', "-DFOOTPRINT_KEYGEN", "-DFOOTPRINT_SIGN"),
        ("guest/mcu/*.c", "guest/pqm4/start.c", "guest/pqc-operations/footprint.c"),
    ),
    "TrustZone-M": Group(
        (*_SECURE, *_P256, *_COUNTER, *_ML_KEM, '-DLIBRARY_NAME="one"', "-DGATEWAY_WAY=way_empty"),
        ("guest/tzm/*.c", "!guest/tzm/gate.c"),
    ),
    "serial lines": Group(
        (*_FIRMWARE, "-DSERIAL_STATUS=0x40ul", "-DSERIAL_MASK=1", "-DSERIAL_READY=1", "-DSERIAL_DATA=0x44ul"),
        ("guest/board-serial/*.c",),
    ),
    "mbed TLS": Group(
        (
            *(*_LINUX, *_P256, "-DAES_EXTENSION=1", "-Iguest/apps/aes", "-isystem", "/headers/mbedtls"),
            *("-isystem", "/headers/mbedtls/include"),
        ),
        ("guest/apps/aes/linux/library/mbedtls.c",),
    ),
    "mbed TLS 2.28": Group(
        (*_LINUX, "-isystem", "/headers/mbedtls-2.28", "-isystem", "/headers/mbedtls-2.28/include"),
        ("guest/mbedtls-clock/timing.c",),
    ),
    "AES by OpenSSL": Group(
        (*_LINUX, *_OPENSSL, *_P256, "-DAES_EXTENSION=1", "-Iguest/apps/aes"),
        ("guest/apps/aes/linux/library/openssl.c",),
    ),
}
# What is found and meant, with the reason.
_MEANT = {
    ("guest/apps/storage/access.h", "cert-int09-c"): "what is never measured begins at the number of those that are",
    ("guest/apps/calls/calls.h", "cert-int09-c"): "a command leaves room for the numbers that are added to it",
    ("plugin/model/mcu_core.h", "cert-int09-c"): "the last unit is so many behind the first",
    ("guest/apps/attestation/scenario.c", "clang-analyzer-core.uninitialized.Assign"): "a plan has one sample at least",
    ("guest/linux/init.c", "clang-analyzer-core.NonNullParamChecker"): "the command line of a case names a program",
    ("plugin/arm32/tasks.c", "clang-analyzer-core.NullDereference"): "there is a current task from the beginning on",
    ("plugin/model/mcu.c", "clang-analyzer-core.DivideZero"): "an address is pushed where there is room for one only",
    ("plugin/model/model.c", "clang-analyzer-unix.Stream"): "without memory the program ends",
    ("plugin/secrets/main.c", "clang-analyzer-unix.Malloc"): "the block is kept by what is called when it is executed",
    (
        "plugin/secrets/stream.c",
        "clang-analyzer-core.NullDereference",
    ): "room_doubled() gives memory or ends the program",
    ("guest/apps/aes/case.c", "bugprone-too-small-loop-variable"): "the loop is over the bytes of a key",
    ("guest/apps/keycache/load.c", "bugprone-suspicious-missing-comma"): "the line of usage is two literals",
    ("guest/apps/keycache/load.c", "bugprone-unsafe-functions"): "rewind() of a file in memory",
    ("guest/tzm/gateway.c", "clang-diagnostic-incompatible-function-pointer-types"): (
        "clang alone takes it as a part of a function's type that the secure state calls it"
    ),
}
# A library that runs on the first is read for it.
_CORES = (TEE_CORE, "cortex-m4", "cortex-m33")
# What is included of a library besides its headers.
_INCLUDED = ("library/timing.c",)
# Source packages with the headers of a library, below /headers.
_SOURCES = ("bearssl", "wolfssl")
# What clang does not read: the headers that these include come out of a library's build, or out of a crate.
_LEFT = (
    "guest/optee-libraries/libtomcrypt.c",
    "guest/optee-libraries/mbedtls.c",
    "guest/optee-libraries/optee-shim/*.c",
    "guest/pqm4/main.c",
    "guest/validation/*.c",
    # Others include it.
    "guest/tzm/gate.c",
)


def _of_adapter(library: Portable | Library, words: Sequence[str], target: Sequence[str]) -> Group:
    """A library's adapter, with the words of its manifest for one curve or scheme."""
    room = str(library.adapter.parent.relative_to(paths.REPOSITORY))
    folder = _folder(library)
    system = [f"/headers/{folder}/{one}" for one in library.manifest.build.include]
    if library.manifest.source and library.manifest.source.packages:
        system += [f"/headers/packages/usr/include{one}" for one in ("", "/aarch64-linux-gnu")]
    words = [*words, f"-I{room}", "-Iguest/adapters", *(word for one in system for word in ("-isystem", one))]
    return Group((*target, *words), (f"{room}/{library.adapter.name}",))


def _of_portable(library: Portable) -> Group:
    """The adapter for the first of the library's curves, on the first core that it has code for."""
    core = next(one for one in _CORES if library.runs_on(one))
    part = curve_plan(library, next(iter(library.manifest.operations)), core)
    words = [f"-D{one}" for one in (*part["defines"], f"OPS_CURVE={part['number']}")]
    return _of_adapter(library, words, _LINUX if core == TEE_CORE else _FIRMWARE)


def _of_pqc(library: Library) -> Group:
    """The adapter for ML-KEM-768."""
    scheme = "ml-kem-768"
    defines = [*build_plan(library.manifest.build, scheme, TEE_CORE)["defines"], f"PQC_SCHEME={SCHEMES[scheme].number}"]
    return _of_adapter(library, [*(f"-D{one}" for one in defines), *_P256], _LINUX)


def _folder(library: Portable | Library) -> str:
    """Where a library's sources are, below /headers."""
    source = library.manifest.source
    return str(source and (source.crate or source.debian))


GROUPS |= {f"adapter of {name}": _of_portable(library) for name, library in portables().items()}
GROUPS |= {f"adapter of {name}": _of_pqc(library) for name, library in libraries().items()}


def named(patterns: Sequence[str]) -> set[str]:
    """The files of some patterns, from the repository on."""
    found: set[str] = set()
    for pattern in patterns:
        these = {str(path.relative_to(paths.REPOSITORY)) for path in paths.REPOSITORY.glob(pattern.removeprefix("!"))}
        assert these, pattern
        found = found - these if pattern.startswith("!") else found | these
    return found


class Reader:
    """clang-tidy in the lab."""

    def __init__(self, lab: Lab, headers: Path) -> None:
        """`headers`: a folder for what is below /headers; it is filled when a group is read."""
        self._lab, self._headers = lab, headers

    def finds(self, group: Group, names: Sequence[str], sources: Path = paths.REPOSITORY) -> list[str]:
        """What clang-tidy finds in files below a folder, but what is meant: a line each."""
        headers = self._headers
        if not any(headers.iterdir()):
            lay_down(headers, self._lab)
        flags = [word.replace("-I", "-I/sources/") if word.startswith("-I") else word for word in group.words]
        tool: Bind = (Path(str(files("clang_tidy"))) / "data", "/clang-tidy", "ro")
        shown: list[Bind] = [
            (_CONFIG, "/clang-tidy.yaml", "ro"),
            (sources, "/sources", "ro"),
            (headers, "/headers", "ro"),
        ]
        done = self._lab.run(
            [
                "/clang-tidy/bin/clang-tidy",
                "--quiet",
                "--config-file=/clang-tidy.yaml",
                f"--checks={','.join([*_CHECKS, *([] if group.analysed else ['-clang-analyzer-*'])])}",
                *_FEWER_STATES,
                *(f"/sources/{name}" for name in names),
                "--",
                *_STRICT,
                *flags,
                "-I/headers/made",
            ],
            binds=[tool, *shown],
            limits=WITHOUT_ADDRESS_LIMIT,
            timeout=600,
            check=False,
        )
        found = list(_FOUND.finditer(done.stdout))
        assert bool(done.returncode) == bool(found), done.stdout + (done.stderr or "")
        # Of a header that a path with steps upwards leads to the same words are said once.
        named = ((posixpath.normpath(one["file"]), one) for one in found)
        return sorted({one[0] for file, one in named if (file, one["check"]) not in _MEANT})

    def known(self, group: Group) -> Path:
        """The file that is there if nothing was found in a group, whose name is of all that decides about it."""
        trees = [tree_digest(paths.REPOSITORY / name) for name in ("guest", "plugin", "keycache")]
        words = [self._lab.digest, version("clang-tidy"), repr((_CHECKS, group)), *trees]
        words += [
            file_sha256(paths.REPOSITORY / name) for name in sorted(named(group.patterns)) if name.startswith("tests/")
        ]
        digest = hashlib.sha256("\n".join(words).encode()).hexdigest()
        return fresh_cache(self._lab.cache / "again") / f"clang-{digest[:20]}"


def plugin_header(lab: Lab) -> bytes:
    """The one header of QEMU's source package that the plugins include."""
    lab.fetch_some(["qemu"], [], "the headers for clang")
    (archive,) = (path for name, path in lab.source_files("qemu").items() if ".orig.tar." in name)
    with tarfile.open(archive, "r|*") as opened:
        for member in opened:
            found = opened.extractfile(member) if member.name.endswith("/include/qemu/qemu-plugin.h") else None
            if found:
                return found.read()
    raise AssertionError(f"{archive} has no qemu-plugin.h")


def lay_down(headers: Path, lab: Lab) -> None:
    """Fills a folder with the headers of OP-TEE, QEMU's plugins and some libraries, which are built if need be."""
    images = ImageStore(lab)
    wanted = unpacked(*_SOURCES)
    every: list[Portable | Library] = [*portables().values(), *libraries().values()]
    for library in every:
        source = library.manifest.source
        assert source
        if source.crate:
            crate = Crates().folder(source.crate, source.version or "", source.sha256 or "")
            for name in library.manifest.build.include:
                shutil.copytree(crate / name, headers / source.crate / name, dirs_exist_ok=True)
        elif source.debian and source.debian not in _SOURCES:
            wanted |= unpacked(source.debian, parts=source.parts)
        for name in source.packages:
            subprocess.run(["dpkg-deb", "-x", lab.package_file(name, "arm64"), headers / "packages"], check=True)
    archives = {name.removeprefix("unpacked-"): images.get(one).file("source.tar") for name, one in wanted.items()}
    archives["devkit"] = images.get(optee_images.optee("mbedtls-nist", "O2")).file("devkit.tar")
    for name, archive in archives.items():
        with tarfile.open(archive) as opened:
            found = [one for one in opened if one.name.endswith((".h", *_INCLUDED))]
            opened.extractall(headers / name, found, filter="data")
    (headers / "qemu").mkdir()
    (headers / "qemu/qemu-plugin.h").write_bytes(plugin_header(lab))
    other = keycache.root().root / "usr/include"
    (headers / "client").mkdir()
    for name in ("tee_client_api.h", "pkcs11.h", "pkcs11_ta.h"):
        shutil.copy(other / name, headers / "client")
    for name in ("openssl", "x86_64-linux-gnu/openssl"):
        shutil.copytree(other / name, headers / "host" / name)
    (headers / "made").mkdir()
    (headers / "made/parameters.h").write_text('#define BENCH_PARAMETERS "one"\n')


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """clang-tidy with the lab, made if need be."""
    lab = open_lab()
    lab.ensure()
    headers = tmp_path_factory.mktemp("headers")
    headers.chmod(0o755)
    return Reader(lab, headers)


@pytest.mark.parametrize("name", GROUPS)
def test_clang_finds_nothing(reader: Reader, name: str) -> None:
    """If this fails, the C holds only for the compiler that everybody has, or has a fault that clang-tidy knows."""
    group = GROUPS[name]
    known = reader.known(group)
    if not known.exists():
        assert reader.finds(group, sorted(named(group.patterns))) == []
        known.touch()


def test_every_file_is_read() -> None:
    """If this fails, a new file has no group, or one of those left out is gone."""
    read = {name for group in GROUPS.values() for name in named(group.patterns)}
    there = named(("guest/**/*.c", "plugin/**/*.c"))
    assert not there - read - named(_LEFT)


@pytest.mark.usefixtures("reader")
def test_a_fault_is_seen(tmp_path: Path) -> None:
    """If this fails, the tests above say nothing: a comparison that -Wextra knows, and memory that was given back."""
    headers = tmp_path / "headers"
    (headers / "none").mkdir(parents=True)
    for folder in (tmp_path, headers):
        folder.chmod(0o755)
    (tmp_path / "one.c").write_text(
        "#include <stdlib.h>\nint f(unsigned a);\nint f(unsigned a) { int b = 1; return a < b; }\n"
        "int g(void);\nint g(void) { int *p = malloc(4); if (!p) return 1; free(p); return *p; }\n"
    )
    said = "\n".join(Reader(open_lab(), headers).finds(Group(_LINUX, ()), ["one.c"], tmp_path))
    assert "clang-diagnostic-sign-compare" in said
    assert "clang-analyzer-unix.Malloc" in said
