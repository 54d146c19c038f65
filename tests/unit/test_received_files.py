# SPDX-License-Identifier: BSD-2-Clause
"""Suites, libraries, traces and stored results that a stranger made: each is read, or refused in words, and soon."""

import gzip
import json
import os
import socket
import threading
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

from received import little_memory, sparse
from traces import TraceBuilder
from worldwise.base.errors import DoesNotFitError, WorldwiseError
from worldwise.base.toml.key_lines import TomlLines
from worldwise.lab import image
from worldwise.lab.image import Recipe
from worldwise.libraries import portable
from worldwise.libraries.crates import crate_recipe
from worldwise.libraries.own_library import folder_copy, own_libraries
from worldwise.plan.suite import load_suite, parse_suite
from worldwise.read.published import Published
from worldwise.records import trace
from worldwise.records.trace import read_trace
from worldwise.run.measure import Bench
from worldwise.run.options import MeasureOptions
from worldwise.run.results import ResultStore

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    with little_memory():
        yield


SUITE = """\
format = 1
name = "small"
title = "A small suite"
samples = 3
warmup = 1

[[cases]]
targets = ["optee"]
operations = ["sha256"]
implementations = ["mbedtls"]
optimisations = ["O2"]
sizes = ["1MiB"]
"""

DEEP = "[" * 100_000 + "]" * 100_000
DOTTED = ".".join("a" * 100_000)
QUOTED = ".".join(['"a"'] * 50_000)
NINES = "9" * 5000
STRANGE: dict[str, tuple[Callable[[str], str | bytes], str]] = {
    "lists 100,000 deep": (lambda text: f"x = {DEEP}\n{text}", "nested more than 32 deep"),
    "lists that never end": (lambda text: f"{text}x = {'[' * 100_000}", "nested more than 32 deep"),
    "tables 100,000 deep": (lambda text: f"{text}x = {'{a=' * 100_000}1{'}' * 100_000}", "nested more than 32 deep"),
    "a key of 100,000 parts": (lambda text: f"{DOTTED} = 1\n{text}", "nested more than 32 deep"),
    "a table of 100,000 parts": (lambda text: f"{text}[{DOTTED}]\n", "nested more than 32 deep"),
    "quoted parts": (lambda text: f"{text}[{QUOTED}]\n", "nested more than 32 deep"),
    "a number of 5,000 digits": (lambda text: text.replace("= 3", f"= {NINES}"), "not valid TOML: Exceeds"),
    "a hexadecimal one": (lambda text: text.replace("= 3", f"= 0x{'f' * 5000}"), "more than 64 bits"),
    "a number that is none": (
        lambda text: text.replace("= 3", "= nan"),
        "samples: must be a whole number, is a number",
    ),
    "no end": (lambda text: text.replace("= 3", "= inf"), "samples: must be a whole number, is a number"),
    "a key twice": (lambda text: f"{text}sizes = []\n", "not valid TOML: Cannot overwrite"),
    "a long key": (lambda text: f"{'k' * 5000} = 1\n{text}", "has 5,000 characters"),
    "no UTF-8": (lambda text: text.encode() + b"\xff\xfe", "not UTF-8 text"),
    "half a character": (lambda text: text.replace("A small", "\\ud800"), "not valid TOML: Escaped character"),
    "UTF-8 of half a character": (lambda text: text.encode().replace(b"A small", b"\xed\xa0\x80"), "not UTF-8 text"),
    "a zero byte": (lambda text: text.replace("A small", "\0"), r"not valid TOML: Illegal character '\\x00'"),
    "a long name": (lambda text: text.replace("small", "s" * 300, 1), r"name: 's+ \.\.\.' does not fit"),
    "a long title": (lambda text: text.replace("A small", "s" * 3000), "title: has 3,006 characters"),
    "a name that leads out": (lambda text: text.replace('"small"', '"../x"', 1), "name: '../x' does not fit"),
    "an include that leads out": (lambda text: f'include = ["../../x"]\n{text}', "'../../x' is not a suite's name"),
    "an include of a file": (lambda text: f'include = ["/etc/passwd.toml"]\n{text}', "is not a suite's name"),
    "a size of 5,000 digits": (
        lambda text: text.replace("1MiB", f"{NINES}MiB"),
        r"sizes: has 5,003 characters|no size",
    ),
    "a size of 900 digits": (lambda text: text.replace("1MiB", f"{NINES[:900]}B"), r"' is not a size"),
    "too many cases": (
        lambda text: text.replace(
            'sizes = ["1MiB"]',
            f"sizes = {[f'{size}KiB' for size in range(64, 564)]}\nchunks = {[f'{size}KiB' for size in range(1, 501)]}",
        ),
        "cases or more. Allowed: up to 50,000",
    ),
    "a budget of 5,000 digits": (
        lambda text: f'{text}[budget]\nlimit = "{NINES[:900]}ms"\nclock = "1GHz"\n',
        "is not a duration",
    ),
    "a source elsewhere": (lambda text: f'{text}[published]\nsource = "../../x"\n', "'../../x' is not known"),
    "control characters": (lambda text: text.replace('"sha256"', '"\\u001b[2J"'), r"'\\x1b\[2J' is not known"),
}


@pytest.mark.parametrize("what", STRANGE)
def test_a_strange_suite_is_refused_in_words(what: str, tmp_path: Path) -> None:
    """If this fails, a suite from the net is a traceback, or takes all time or memory."""
    change, says = STRANGE[what]
    path = tmp_path / "small.toml"
    text = change(SUITE)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(WorldwiseError, match=says) as caught:
        load_suite(path)
    assert len(caught.value.message) < 4000
    assert caught.value.message.isprintable()


def test_the_suite_itself_is_good() -> None:
    """If this fails, the strange suites are refused for another reason."""
    assert [case.id for case in parse_suite(SUITE, "small.toml").cases] == ["optee/mbedtls-O2/sha256,size=1MiB"]


@pytest.mark.parametrize("load", [load_suite, lambda path: portable.load_folder(path.parent)])
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (os.mkfifo, "cannot be read: it is a FIFO, not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "cannot be read: it is a device, not a file"),
        (lambda path: path.mkdir(), "cannot be read: it is a folder, not a file"),
        (lambda path: sparse(path, 8 * 2**30), "cannot be read: it has more than 512 KiB"),
    ],
)
def test_a_suite_that_is_no_file_is_refused(
    load: Callable[[Path], object], make: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    """If this fails, a suite hangs the tool, or fills the memory."""
    path = tmp_path / "implementation.toml"
    make(path)
    with pytest.raises(WorldwiseError, match=says):
        load(path)


def test_lines_are_counted_once() -> None:
    """If this fails, an error in a long suite takes the square of its length: here minutes, not a second."""
    text = "\n".join(f"key{number} = [{number}, {number}]" for number in range(60_000))
    lines = TomlLines(text)
    assert (lines.line(("key59999",)), lines.line(("key30000", 1))) == (60_000, 30_001)


def test_a_source_of_a_run_is_no_path() -> None:
    """If this fails, a received run reads any file."""
    with pytest.raises(WorldwiseError, match=r"published source '\.\./\.\./x' is not known"):
        Published("../../x")


# --- libraries ---

MANIFEST = """\
name = "my-lib"
title = "My library"
about = "one line"
licence = "BSD-2-Clause"
[source]
crate = "some-crate"
version = "1.2.3"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
[build]
sources = ["lib/*.c"]
include = ["lib"]
[operations]
secp256r1 = ["keygen", "sign", "verify"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A user's library."""
    path = tmp_path / "library"
    (path / "lib").mkdir(parents=True)
    (path / "implementation.toml").write_text(MANIFEST)
    (path / "adapter.c").write_text("int one;\n")
    (path / "lib" / "lib.c").write_text("int two;\n")
    yield path
    own_libraries.forget()


LONG = "x" * 5000
NAMES: dict[str, tuple[str, str, str]] = {
    "a crate that leads out": ("some-crate", "x/../../../../tmp/x", "source.crate: String should match pattern"),
    "a crate that is two words": ("some-crate", "x y", "source.crate: String should match pattern"),
    "a crate that is an option": ("some-crate", "--config=x", "source.crate: String should match pattern"),
    "a crate with a line's end": ("some-crate", "x\\n", "source.crate: String should match pattern"),
    "a crate of digits": ("some-crate", "1x", "source.crate: String should match pattern"),
    "a long crate": ("some-crate", "x" * 65, "source.crate: has 65 characters. Allowed: up to 64"),
    "a version that leads out": ("1.2.3", "1.2.3/../../x", "source.version: String should match pattern"),
    "a version of a range": ("1.2.3", ">=1", "source.version: String should match pattern"),
    "a package that leads out": ('crate = "some-crate"', 'debian = "../x"', "source.debian: String should match"),
    "a package that is two": ('crate = "some-crate"', 'debian = "a b"', "source.debian: String should match"),
    "a part that leads out": ('crate = "some-crate"', 'debian = "bearssl"\nparts = ["../x"]', "'../x' leads out"),
    "an archive that leads out": ("[operations]", 'archives = ["../../libx.a"]\n[operations]', "String should match"),
    "a source that leads out": ("lib/*.c", "lib/../../x.c", "build.sources: 'lib/../../x.c' leads out of the folder"),
    "a source with a line's end": ("lib/*.c", "lib/\\n.c", "has a control character in it"),
    "a source with a zero byte": ("lib/*.c", "lib/\\u0000.c", "has a control character in it"),
    "a long source": ("lib/*.c", LONG, "build.sources"),
    "a long name of a source": ("lib/*.c", f"{LONG[:300]}.c", "a name has at most 255"),
    "a pattern that is none": ("lib/*.c", "lib/**x.c", r"\*\* stands for folders"),
    "a pattern without an end": ("lib/*.c", "**/" * 30 + "x.c", r"\*\* more than 2 times"),
    "an include that leads out": ('include = ["lib"]', 'include = ["/etc"]', "build.include: '/etc' leads out"),
    "an include with a zero byte": ('include = ["lib"]', 'include = ["\\u0000"]', "has a control character in it"),
    "a name that leads out": ('"my-lib"', '"../x"', "name: '../x' does not fit"),
    "a long name": ('"my-lib"', f'"{LONG}"', "name: "),
    "a core that leads out": ("[operations]", '[needs]\ncores = ["../boards/x"]\n[operations]', "core '../boards/x'"),
    "a core of build": ("[operations]", '[build.core."../../x"]\n[operations]', r"core '\.\./\.\./x'"),
    "a core with a zero byte": ("[operations]", '[build.core."\\u0000"]\n[operations]', r"core '\\x00'"),
    "a long core": ("[operations]", f'[needs]\ncores = ["{LONG[:3000]}"]\n[operations]', "core 'x+ "),
    "a number of 5,000 digits": ("[operations]", f"[needs]\nheap = {NINES}\n[operations]", "not valid TOML"),
    "options without an end": (
        "[operations]",
        "".join(f'[options.o{n}]\ndefault = "a"\nvalues = {{a = [], b = [], c = []}}\n' for n in range(20))
        + "[operations]",
        r"\[options\] has more than 10,000 combinations",
    ),
    "lists 100,000 deep": ("[operations]", f"x = {DEEP}\n[operations]", "nested more than 32 deep"),
}


@pytest.mark.parametrize("what", NAMES)
def test_a_name_that_becomes_a_path_is_refused(what: str, folder: Path, tmp_path: Path) -> None:
    """If this fails, a library reads or writes elsewhere, or is a traceback."""
    old, new, says = NAMES[what]
    assert old in MANIFEST
    (folder / "implementation.toml").write_text(MANIFEST.replace(old, new))
    with pytest.raises(WorldwiseError, match=says) as caught:
        own_libraries.bring([folder], tmp_path / "cache")
    assert len(caught.value.message) < 4000
    assert caught.value.message.isprintable()


def test_the_library_itself_is_good(folder: Path, tmp_path: Path) -> None:
    """If this fails, the strange ones are refused for another reason."""
    assert own_libraries.bring([folder], tmp_path / "cache")[0].name == "my-lib"


@pytest.mark.parametrize("version", ["0.1.0", "1.2.3-alpha.1", "1.0.0+build.5", "10.20.30-rc-1.2+x"])
def test_versions_of_crates(version: str, folder: Path, tmp_path: Path) -> None:
    """If this fails, a crate cannot be pinned."""
    (folder / "implementation.toml").write_text(MANIFEST.replace("1.2.3", version))
    assert own_libraries.bring([folder], tmp_path / "cache")


def test_no_image_has_a_name_that_leads_out() -> None:
    """If this fails, a build writes its log where a stranger says."""
    for name in ("x/../../../x", "x" * 300, "x\n"):
        with pytest.raises(WorldwiseError, match="an image cannot have this name"):
            crate_recipe(name, "1.0.0", "0" * 64)
    with pytest.raises(WorldwiseError, match="an image cannot have this name"):
        Recipe(name="../x", script="x.sh", outputs=())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: sparse(folder / "lib" / "huge.c", 40 * 2**30), "has more than 20,000 files or 256 MiB"),
        (lambda folder: os.mkfifo(folder / "lib" / "pipe.c"), "pipe.c: is not a file"),
        (lambda folder: (folder / "lib" / "zero.c").symlink_to("/dev/zero"), "zero.c: links to /dev/zero"),
        (lambda folder: (folder / "lib" / "a\nb.c").write_text(""), "has a control character in it"),
        (lambda folder: Path(folder, *("d" * 40)).mkdir(parents=True), "more than 32 in one another"),
        (lambda folder: (folder / "lib" / "x.c").symlink_to("x.c"), "x.c: "),
    ],
)
def test_a_strange_folder_is_refused(make: Callable[[Path], None], says: str, folder: Path, tmp_path: Path) -> None:
    """If this fails, a library fills the memory or hangs the tool."""
    make(folder)
    with pytest.raises(WorldwiseError, match=says):
        own_libraries.bring([folder], tmp_path / "cache")
    assert not list((tmp_path / "cache" / "own").glob("*"))


def test_a_socket_in_a_library_is_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a library hangs the tool."""
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
    with pytest.raises(WorldwiseError, match="socket: is not a file"):
        own_libraries.bring([folder], tmp_path / "cache")


def test_a_link_that_changes_while_a_folder_is_copied(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails, a file of the user's is in the copy that foreign code reads."""
    (tmp_path / "precious").write_text("secret")
    listed = list(folder_copy.files_of(folder))

    def swapped(directory: Path, _: Collection[str]) -> Iterator[tuple[Path, Path]]:
        (directory / "lib" / "lib.c").unlink()
        (directory / "lib" / "lib.c").symlink_to(tmp_path / "precious")
        yield from listed

    monkeypatch.setattr(folder_copy, "files_of", swapped)
    with pytest.raises(WorldwiseError, match=r"lib\.c: cannot be read: it is a link"):
        own_libraries.bring([folder], tmp_path / "cache")


# --- traces ---


def a_trace(*more: dict[str, object]) -> str:
    """A trace of mode count, with records before its end."""
    builder = TraceBuilder("count")
    end = {"type": "end", "passes": 0, "frames": 0, "blocks": 0}
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in (*builder.records, *more, end))


PASS: dict[str, object] = {
    "type": "pass",
    "frame": 1,
    "mark": "0x0",
    "begin": 1,
    "end": 2,
    "at": 0,
    "instructions": 1,
    "lost": 0,
    "depth": 1,
    "closed": True,
    "events": 0,
    "events_dropped": 0,
}
FRAME: dict[str, object] = {"type": "frame", "kind": "call", "site": "0x0", "target": "0x0", "context": 1}
TRACES: dict[str, tuple[list[dict[str, object]], str]] = {
    "a pass in itself": ([{**PASS, "id": 1, "parent": 1}], "pass 1 is inside itself"),
    "passes in a ring": (
        [{**PASS, "id": number, "parent": number % 3 + 1} for number in (1, 2, 3)],
        r"pass \d is inside itself",
    ),
    "a frame in itself": ([{**FRAME, "id": 5, "parent": 5}], "frame 5 is inside itself"),
    "texts for numbers": ([{"type": "counts", "pass": 1, "rows": [["a", "b", "c"]]}], "'0': "),
    "floats for numbers": ([{"type": "counts", "pass": 1, "rows": [[1, 1, 1e300]]}], "'2': "),
    "a negative number": ([{"type": "counts", "pass": 1, "rows": [[1, 1, -5]]}], "'2': "),
    "rows that are too long": ([{"type": "counts", "pass": 1, "rows": [[1, 1, 1, 1]]}], "not a record of a trace"),
    "an address of 5,000 digits": ([{"type": "context", "id": 1, "el": 0, "secure": False, "task": NINES}], "task"),
    "a number of 100,000 digits": ([{"type": "counts", "pass": 1, "rows": [[1, 1, 10**4000]]}], "not a record"),
}


@pytest.mark.parametrize("what", TRACES)
def test_a_strange_trace_is_refused_in_words(what: str, tmp_path: Path) -> None:
    """If this fails, a trace is a traceback, or followed for ever."""
    records, says = TRACES[what]
    path = tmp_path / "trace.jsonl"
    path.write_text(a_trace(*records))
    with pytest.raises(WorldwiseError, match=says):
        read_trace(path)


def test_a_trace_of_many_passes_is_checked_in_one_go(tmp_path: Path) -> None:
    """If this fails, a deep trace is a RecursionError, and a long one takes the square of its length."""
    passes = [{**PASS, "id": number, "parent": number - 1, "instructions": 0} for number in range(1, 30_001)]
    path = tmp_path / "trace.jsonl"
    path.write_text(a_trace(*passes).replace('"mode":"count"', '"mode":"stack"'))
    found = read_trace(path)
    assert len(found.passes) == 30_000
    assert list(found.rows(found.passes[0])) == []


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, a small file fills the memory."""
    path = tmp_path / "trace.jsonl.gz"
    zeros = zlib.compressobj(9, wbits=31)
    with path.open("wb") as file:
        for _ in range(256):
            file.write(zeros.compress(bytes(2**20)))
        file.write(zeros.flush())
    with pytest.raises(WorldwiseError, match=r"gz:1: more than a trace can have.*: a line of 32 MiB or more"):
        read_trace(path)
    # Lines that are good one by one, but without an end.
    monkeypatch.setattr(trace, "MOST_BYTES", 100_000)
    path.write_bytes(gzip.compress(a_trace(*[{**FRAME, "id": n, "parent": 0} for n in range(1, 5000)]).encode()))
    with pytest.raises(
        WorldwiseError, match=r"gz:\d+: more than a trace can have.*: more than 100,000 bytes, unpacked"
    ):
        read_trace(path)


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    """If this fails, a damaged trace is a traceback of zlib's."""
    packed = bytearray(gzip.compress(a_trace().encode()))
    said = set()
    for at in range(10, len(packed)):
        damaged = packed.copy()
        damaged[at] ^= 0x55
        path = tmp_path / "trace.jsonl.gz"
        path.write_bytes(damaged)
        try:
            read_trace(path)
        except WorldwiseError as error:
            said.add(error.message.partition(": ")[2][:12])
    assert said


def test_a_trace_that_is_a_link_or_a_fifo(tmp_path: Path) -> None:
    """If this fails, the cache leads elsewhere, or hangs the tool."""
    good = tmp_path / "good.jsonl"
    good.write_text(a_trace())
    read_trace(good)
    (tmp_path / "link.jsonl").symlink_to(good)
    os.mkfifo(tmp_path / "pipe.jsonl.gz")
    for name, says in (("link.jsonl", "it is a link"), ("pipe.jsonl.gz", "it is a FIFO")):
        with pytest.raises(WorldwiseError, match=f"cannot be read: {says}"):
            read_trace(tmp_path / name)


# --- what the cache keeps ---

DIGEST = "0123456789abcdef" * 4


def measured(path: Path, data: bytes = b"1\n") -> Path:
    """The folder of a case that was measured."""
    path.mkdir()
    for name in ("records.jsonl", "console.log", "secure.log", "qemu.log"):
        (path / name).write_bytes(data)
    return path


def test_a_changed_result_is_said(tmp_path: Path) -> None:
    """If this fails, a stored result that changed is measured again without a word."""
    said: list[str] = []
    store = ResultStore(tmp_path, said.append)
    assert store.get(DIGEST) is None
    store.put(DIGEST, measured(tmp_path / "case"), "a-run", 1.0, ("qemu",))
    assert store.get(DIGEST)
    assert said == []
    place = store.directory / DIGEST[:16]
    (place / "records.jsonl").write_bytes(b"2\n")
    assert store.get(DIGEST) is None
    (place / "result.json").write_text("[" * 100_000)
    assert store.get(DIGEST) is None
    assert len(said) == 2
    for line in said:
        assert f"the stored result at {place} has changed since it was made" in line
        assert "measured again" in line
        assert "\n" not in line


def test_who_measures_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, what the store says of a result reaches nobody."""
    said: list[object] = []
    monkeypatch.setattr("worldwise.run.measure.ResultStore", lambda _cache, notify: said.append(notify))
    monkeypatch.setattr("worldwise.run.measure.ImageStore", lambda *_: None)
    monkeypatch.setattr("worldwise.run.measure.Emulator", lambda *_, **__: None)

    class _Any:
        cache = Path()
        note = "note"

    Bench(_Any(), _Any(), MeasureOptions())  # type: ignore[arg-type]
    assert said == ["note"]


@pytest.mark.parametrize("name", ["records.jsonl", "result.json", ""])
def test_a_result_that_is_a_link_is_not_used(name: str, tmp_path: Path) -> None:
    """If this fails, a case has what lies elsewhere."""
    said: list[str] = []
    store = ResultStore(tmp_path / "cache", said.append)
    store.put(DIGEST, measured(tmp_path / "case"), "a-run", 1.0, ("qemu",))
    path = store.directory / DIGEST[:16] / name
    path.rename(tmp_path / "aside")
    path.symlink_to(tmp_path / "aside")
    assert store.get(DIGEST) is None
    assert len(said) == 1
    # It is put again, and what the link led to stays.
    store.put(DIGEST, tmp_path / "case", "a-run", 1.0, ("qemu",))
    assert store.get(DIGEST)
    assert (tmp_path / "aside").exists()


def test_a_result_names_no_other_files(tmp_path: Path) -> None:
    """If this fails, a stored result copies a file of the user's into a run."""
    store = ResultStore(tmp_path)
    store.put(DIGEST, measured(tmp_path / "case"), "a-run", 1.0, ("qemu",))
    (tmp_path / "precious").write_bytes(b"1\n")
    path = store.directory / DIGEST[:16] / "result.json"
    manifest = json.loads(path.read_text())
    for name in ("../../precious", "/etc/hostname", "case.json"):
        (store.directory / DIGEST[:16] / "case.json").write_bytes(b"1\n")
        some = manifest["files"]["console.log"]
        path.write_text(json.dumps({**manifest, "files": {**manifest["files"], name: some}}))
        assert store.get(DIGEST) is None


def test_a_result_is_whole_while_another_is_put(tmp_path: Path) -> None:
    """If this fails, a copy has half of one measurement and half of another, or is a traceback."""
    store = ResultStore(tmp_path / "cache")
    cases = [measured(tmp_path / f"case{number}", b"%d\n" % number * 50_000) for number in range(2)]
    store.put(DIGEST, cases[0], "a-run", 1.0, ("qemu",))
    stop = threading.Event()

    def put() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            store.put(DIGEST, cases[number % 2], "a-run", 1.0, ("qemu",))

    putter = threading.Thread(target=put)
    putter.start()
    taken = 0
    try:
        for number in range(200):
            result = store.get(DIGEST)
            assert result
            copy = tmp_path / f"copy{number}"
            copy.mkdir()
            try:
                result.copy_to(copy)
            except WorldwiseError as error:
                assert "changed while it was taken" in error.message
                continue
            taken += 1
            assert len({path.read_bytes() for path in copy.iterdir()}) == 1
            store.mark_checked(result)
    finally:
        stop.set()
        putter.join()
    assert taken


def test_an_image_is_of_files_of_its_own(tmp_path: Path) -> None:
    """If this fails, an image has what lies elsewhere, or a FIFO in it hangs the tool."""
    (tmp_path / "image" / "sub").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    for path in (tmp_path / "image" / "sub" / "file", tmp_path / "elsewhere" / "file"):
        path.touch()
    folder = tmp_path / "image"
    assert image.check_files(folder, {"sub/file": digest}) == ""
    (folder / "link").symlink_to("sub/file")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "pipe")
    for name, says in (
        ("link", "it is a link"),
        ("more/file", "'more' is a link"),
        ("pipe", "it is a FIFO"),
        ("../elsewhere/file", "leads out of the folder"),
    ):
        assert says in image.check_files(folder, {name: digest})


def test_sizes_that_a_build_left(tmp_path: Path) -> None:
    """If this fails, a library's build hangs the tool, fills its memory or is a traceback."""
    path = tmp_path / "footprint.json"
    built = image.Image("x", DIGEST, tmp_path, {})
    path.write_text(
        '{"none": {"operations": {"sign": {"flash": 1, "ram": 2}}}, "x25519": {"problem": "too\\u001b small"}}'
    )
    assert built.sizes("footprint.json", "none", "operations", "sign") == {"flash": 1, "ram": 2}
    with pytest.raises(DoesNotFitError, match=r"^too\\x1b small$"):
        built.sizes("footprint.json", "x25519", "operations", "sign")
    for text in (DEEP, "[]", "{", '{"a": true}', '{"a": "b"}', '{"a": NaN}', '{"a": -1}', '{"a": {}}', "\xff"):
        path.write_text(text)
        with pytest.raises(WorldwiseError, match=r"footprint\.json: is not a build's output"):
            built.sizes("footprint.json")
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: sparse(path, 40 * 2**30)):
        path.unlink()
        make(path)
        with pytest.raises(WorldwiseError, match=r"footprint\.json: is not a build's output: it "):
            built.sizes("footprint.json")
