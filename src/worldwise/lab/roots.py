# SPDX-License-Identifier: BSD-2-Clause
"""The roots that lab/ describes: the lab, which decides the counts, and others that no count depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from worldwise.base import paths

# Part of a root's digest: raise it when the same packages would make another root (excluded paths, variant).
RECIPE = 1

# The packages of a TeX dump fourteen formats, which takes as long as all else of the root; the tests use pdflatex's.
_FORMATS = """\
#! amstex pdftex - -translate-file=cp227.tcx *amstex.ini
#! dvilualatex luatex language.dat,language.dat.lua dvilualatex.ini
#! dviluatex luatex language.def,language.dat.lua dviluatex.ini
#! etex pdftex language.def -translate-file=cp227.tcx *etex.ini
#! latex pdftex language.dat -translate-file=cp227.tcx *latex.ini
#! luahbtex luahbtex language.def,language.dat.lua luatex.ini
#! lualatex luahbtex language.dat,language.dat.lua lualatex.ini
#! luatex luatex language.def,language.dat.lua luatex.ini
#! mf mf-nowin - -translate-file=cp227.tcx mf.ini
#! mptopdf pdftex - -translate-file=cp227.tcx mptopdf.tex
#! pdfetex pdftex language.def -translate-file=cp227.tcx *pdfetex.ini
#! pdftex pdftex language.def -translate-file=cp227.tcx *pdfetex.ini
#! tex tex - tex.ini
"""


@dataclass(frozen=True)
class Root:
    """A root that lab/ describes.

    Attributes:
        name: its name on the command line and for `open_lab`.
        purpose: what it is for, in a few words.
        wish: the file that lists the packages it should have.
        lock: the file that pins the packages it has.
        programs: programs that it must have once it is made.
        recipe: as RECIPE, for a root that is made in a way of its own.
        laid: files of our own that are there before its packages are set up: path -> text.
    """

    name: str
    purpose: str
    wish: Path
    lock: Path
    programs: tuple[str, ...]
    recipe: int = RECIPE
    laid: Mapping[str, str] = field(default_factory=dict)


MAIN = "main"

ROOTS = {
    root.name: root
    for root in (
        Root(
            MAIN,
            "the lab: compilers, QEMU, and what stands on the measured machines",
            paths.LAB / "packages.toml",
            paths.LAB / "lock.json",
            ("aarch64-linux-gnu-gcc", "qemu-system-aarch64"),
        ),
        Root(
            "render",
            "builds and runs the flame graph renderer",
            paths.LAB / "render.toml",
            paths.LAB / "render.lock.json",
            ("cargo", "gcc"),
        ),
        Root(
            "browser",
            "the browser of the tests",
            paths.LAB / "browser.toml",
            paths.LAB / "browser.lock.json",
            ("chromedriver", "chromium", "socat"),
        ),
        Root(
            "viewers",
            "the profile viewer of the tests",
            paths.LAB / "viewers.toml",
            paths.LAB / "viewers.lock.json",
            ("callgrind_annotate",),
        ),
        Root(
            "probes",
            "the GDB servers that the tests start without a probe",
            paths.LAB / "probes.toml",
            paths.LAB / "probes.lock.json",
            ("openocd", "pyocd"),
        ),
        Root(
            "tex",
            "the TeX that the tests set LaTeX reports with",
            paths.LAB / "tex.toml",
            paths.LAB / "tex.lock.json",
            ("pdflatex", "pdftoppm", "pdftotext"),
            recipe=2,
            laid={"etc/texmf/web2c/fmtutil.cnf": _FORMATS},
        ),
        Root(
            "keycache",
            "builds, tests and fuzzes the secure key cache",
            paths.LAB / "keycache.toml",
            paths.LAB / "keycache.lock.json",
            ("aarch64-linux-gnu-gcc", "clang", "dpkg-buildpackage"),
        ),
        Root(
            "checks",
            "proves the key cache's C with CBMC",
            paths.LAB / "checks.toml",
            paths.LAB / "checks.lock.json",
            ("cbmc",),
        ),
        Root(
            "broker",
            "builds and tests the key cache's plugin for the MQTT broker mosquitto",
            paths.LAB / "broker.toml",
            paths.LAB / "broker.lock.json",
            ("gcc", "make"),
        ),
        Root(
            "builders",
            "the build systems of a user's own code besides make: CMake, Meson, Ninja",
            paths.LAB / "builders.toml",
            paths.LAB / "builders.lock.json",
            ("cmake", "meson", "ninja"),
        ),
        Root(
            "clang",
            "builds a stack's OP-TEE by clang and lld",
            paths.LAB / "clang.toml",
            paths.LAB / "clang.lock.json",
            ("clang", "ld.lld", "llvm-objcopy"),
        ),
        Root(
            "pkcs11",
            "OpenSSL's provider for keys of a PKCS#11 token, on the measured machine",
            paths.LAB / "pkcs11.toml",
            paths.LAB / "pkcs11.lock.json",
            (),
        ),
        Root(
            "container",
            "the file system that container images begin with",
            paths.LAB / "container.toml",
            paths.LAB / "container.lock.json",
            ("bwrap", "git", "mmdebstrap", "python3"),
        ),
        Root(
            "host",
            "the Linux host that the tests reach by ssh",
            paths.LAB / "host.toml",
            paths.LAB / "host.lock.json",
            ("qemu-aarch64", "ssh-keygen"),
        ),
        Root(
            "validation",
            "compilers and llvm-mca of the models' validation",
            paths.LAB / "validation.toml",
            paths.LAB / "validation.lock.json",
            ("aarch64-linux-gnu-gcc-13", "aarch64-linux-gnu-gcc-14", "clang-18", "clang-19"),
        ),
        Root(
            "validation-old",
            "the older compilers of that",
            paths.LAB / "validation-old.toml",
            paths.LAB / "validation-old.lock.json",
            ("aarch64-linux-gnu-gcc-11", "aarch64-linux-gnu-gcc-12", "clang-14"),
        ),
    )
}
