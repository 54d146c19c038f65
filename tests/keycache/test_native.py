# SPDX-License-Identifier: BSD-2-Clause
"""keycache's own tests, in its root: the server with the TA in its process, and the TA's sources under sanitizers."""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from filelock import FileLock

from machines import fresh_cache
from worldwise.base import paths
from worldwise.families.keycache import build as keycache
from worldwise.families.keycache.build import Fuzzer
from worldwise.lab.image import ImageStore, tree_digest
from worldwise.lab.lab import Lab
from worldwise.lab.sandbox.limits import WITHOUT_ADDRESS_LIMIT
from worldwise.lab.sandbox.network import Bind
from worldwise.targets import optee_images

# One minute of an idle core; more where others are at work, or where the root is not built yet.
pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

_SANITIZED = (
    "CFLAGS=-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined",
    "HARDENING=",
    "LINK_HARDENING=",
    "KEYCACHE_SANITIZED=1",
)
# Of a function clang's analyzer looks at a ninth of the states that are its default, since its time goes there.
# By its debug.Stats it then reaches the same blocks of each file but for seven: five want a third, two want all.
_STATES = "--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes="
_ALL_STATES = ("server/service.c", "server/tee_teec.c")
_MORE_STATES = ("server/keys.c", "server/options.c", "server/tee.c", "ta/keycache_ta.c", "tests/ta/test_storage.c")
# What a product lacks is told by its options and its names, which no sanitizer changes: it is not compiled again.
_PRODUCT_TEST = paths.KEYCACHE / "tests/server/test_product.py"
_NO_PRODUCT = (
    "--assume-old=/build/keycached-product",
    "SERVER_TESTS="
    + " ".join(
        str(path.relative_to(paths.KEYCACHE))
        for path in sorted(_PRODUCT_TEST.parent.glob("test_*.py"))
        if path != _PRODUCT_TEST
    ),
)


@pytest.fixture(scope="module")
def root() -> Lab:
    """The root of the key cache, built if need be."""
    return keycache.root()


@contextlib.contextmanager
def kept(root: Lab, name: str) -> Iterator[Path]:
    """A folder for what `make` makes; the next run of the tests finds it there, unless keycache/ has changed."""
    place = fresh_cache(root.cache / "again")
    folder, known = place / f"keycache-{name}", place / f"keycache-{name}.digest"
    digest = f"{root.digest} {tree_digest(paths.KEYCACHE)}"
    with FileLock(place / f".keycache-{name}.lock"):
        if not known.exists() or known.read_text() != digest:
            known.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            known.write_text(digest)
        yield folder


def make(root: Lab, folder: Path, *words: str, beside: Sequence[Bind] = (), anew: bool = False) -> str:
    """What `make` prints, of keycache's own Makefile, with `folder` for all it makes; it sees `beside`, too.

    What it printed when it succeeded is kept as long as the folder is: the same sources are tested once, unless `anew`.
    """
    told = folder / f"told-{hashlib.sha256(repr((words, beside)).encode()).hexdigest()[:16]}"
    if told.exists() and not anew:
        return told.read_text(encoding="utf-8")
    log = folder / "log"
    log.unlink(missing_ok=True)
    root.run(
        # Tests of the server mostly wait: more of them than there are processors.
        ["make", "--directory=/keycache", f"--jobs={(os.cpu_count() or 1) + 1}", "--output-sync", "O=/build", *words],
        binds=[(paths.KEYCACHE, "/keycache", "ro"), (folder, "/build", "rw"), *beside],
        # Nothing may be written beside the sources.
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"},
        log=log,
        timeout=1500,
        # Sanitizers map far more than they use, and look into their own process when it ends.
        limits=WITHOUT_ADDRESS_LIMIT,
        debugging=True,
    )
    log.replace(told)
    return told.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # What `make check` does, in two.
        pytest.param("native", ("check-server",), id="native"),
        pytest.param("ta", ("check-ta",), id="ta"),
        # The server as devices have it, over a libteec that leads to the same TA.
        pytest.param("teec", ("check-server", "TEEC_EXPORT=/usr", *_SANITIZED, *_NO_PRODUCT), id="teec-sanitized"),
    ],
)
def test_its_own_tests_pass(root: Lab, name: str, words: Sequence[str]) -> None:
    with kept(root, name) as folder:
        text = make(root, folder, *words)
    if "check-ta" in words:
        assert "ok   power_cuts" in text
        # The page has what was tried, as it was told.
        tried = [line for line in text.splitlines() if line.startswith("| ")]
        page = (paths.KEYCACHE / "tests/ATTEMPTS.md").read_text(encoding="utf-8").splitlines()
        assert [line for line in page if line.startswith("| ")][1:] == tried
    else:
        assert " passed" in text
        assert " skipped" not in text, "the root has all that they need"


def test_the_broker_plugins_own_tests_pass() -> None:
    """With the broker in its root; plugin, library and the key cache's server are under sanitizers."""
    root = keycache.broker_root()
    mosquitto: Bind = (keycache.mosquitto(), "/mosquitto", "ro")
    with kept(root, "broker") as folder:
        text = make(root, folder, "check-broker", "MOSQUITTO=/mosquitto", *_SANITIZED, beside=[mosquitto])
    assert " passed" in text
    assert " skipped" not in text, "the root has all that they need"


def test_clang_tidy_finds_nothing(root: Lab) -> None:
    """keycache/.clang-tidy says what it looks for."""
    tool: Bind = (Path(str(files("clang_tidy"))) / "data", "/clang-tidy", "ro")
    program = "CLANG_TIDY=/clang-tidy/bin/clang-tidy"
    with kept(root, "tidy") as folder:
        words = ("tidy", "TEEC_EXPORT=/usr")
        make(root, folder, *words, program, f"TIDY={' '.join(_ALL_STATES)}", beside=[tool])
        make(root, folder, *words, f"{program} {_STATES}75000", f"TIDY={' '.join(_MORE_STATES)}", beside=[tool])
        make(root, folder, *words, f"{program} {_STATES}25000", beside=[tool])
    broker = keycache.broker_root()
    mosquitto: Bind = (keycache.mosquitto(), "/mosquitto", "ro")
    with kept(broker, "tidy-plugin") as folder:
        make(broker, folder, "tidy-plugin", "MOSQUITTO=/mosquitto", program, beside=[tool, mosquitto])


def test_everything_compiles_with_clang(root: Lab) -> None:
    with kept(root, "clang") as folder:
        # It warns of the same however it optimises.
        make(root, folder, "CC=clang", "CFLAGS=-g -O1", "native")
        assert (folder / "keycached-native").is_file()


def test_the_readmes_first_commands(root: Lab, tmp_path: Path) -> None:
    """If this fails, who tries it for the first time is told something that does not work."""
    text = (paths.KEYCACHE / "README.md").read_text(encoding="utf-8")
    section = text.partition("\n### Without a TEE\n")[2].partition("\n## ")[0]
    typed = "".join(f"{line}\n" for line in section.splitlines() if line.startswith("    "))
    assert "keycached-native" in typed
    # A person types slowly enough for the server to start.
    script = typed.replace(" &\n", " >log &\n    until grep -q listening log; do sleep 0.1; done\n")
    (tmp_path / "script").write_text(f"cp -r /keycache/. .\n{script}kill %1\nwait\n")
    result = root.run(
        ["bash", "-emo", "pipefail", "script"],
        binds=[(paths.KEYCACHE, "/keycache", "ro"), (tmp_path, "/build", "rw")],
        chdir="/build",
        timeout=900,
    )
    assert result.stdout.endswith("secret\n")


def test_the_ta_builds_with_a_dev_kit_alone(lab: Lab, images: ImageStore, tmp_path: Path) -> None:
    """As an integrator builds it: keycache/ and a dev kit, nothing else of the repository."""
    core = images.get(optee_images.optee("mbedtls-nist", "O2"))
    lab.run(
        [
            "bash",
            "-ec",
            "tar -xf /optee/devkit.tar\n"
            "make -C /keycache O=/build ta TA_DEV_KIT_DIR=/build CROSS_COMPILE=aarch64-linux-gnu- CFLAGS=-Werror",
        ],
        binds=[(paths.KEYCACHE, "/keycache", "ro"), (core.directory, "/optee", "ro"), (tmp_path, "/build", "rw")],
        chdir="/build",
        timeout=900,
    )
    ta = tmp_path / "ta" / f"{keycache.TA_UUID}.ta"
    keycache.require_ta(ta)


def test_a_short_fuzz_finds_nothing(tmp_path: Path) -> None:
    result = Fuzzer(tmp_path).run(20_000)
    assert result.executions >= 20_000
    assert not result.findings, result.logs[0].read_text(encoding="utf-8")[-4000:]
    # The corpus of the repository alone reaches most of what a long campaign does.
    assert result.coverage > 950
    assert result.inputs > 0


def test_a_short_fuzz_of_the_tas_commands_finds_nothing(root: Lab) -> None:
    """If this fails, calls of the TA end it, or give away what a client sent whose key is for relaying alone."""
    with kept(root, "fuzz-ta") as folder:
        text = make(root, folder, "fuzz-ta", "RUNS=50000", anew=True)
    assert "stat::number_of_executed_units: 50" in text
    # What is behind a signature is reached.
    assert int(re.findall(r"cov: (\d+)", text)[-1]) > 850


def test_a_run_keeps_the_repositorys_corpus_as_it_is(tmp_path: Path) -> None:
    before = (paths.KEYCACHE / "fuzz/corpus.txt").read_bytes()
    Fuzzer(tmp_path / "work", tmp_path / "corpus").run(2_000, jobs=2)
    assert (paths.KEYCACHE / "fuzz/corpus.txt").read_bytes() == before
    assert sorted(path.name for path in (tmp_path / "work").glob("*.log")) == ["job-0.log", "job-1.log"]
    assert any((tmp_path / "corpus").iterdir())


def test_the_corpus_is_small(tmp_path: Path) -> None:
    program = paths.KEYCACHE / "fuzz/corpus.py"
    subprocess.run([sys.executable, "-I", program, "unpack", tmp_path / "inputs"], check=True)
    sizes = [path.stat().st_size for path in (tmp_path / "inputs").iterdir()]
    assert len(sizes) == 83
    assert sum(sizes) < 200_000 and max(sizes) <= 2048
