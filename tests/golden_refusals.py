# SPDX-License-Identifier: BSD-2-Clause
"""The texts of refusals in the golden files: what is asked, what is answered, and the way out.

As in golden_parts.py, names of Python modules stand here alone.
"""

import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path

import click
import pytest
from test_board import GOOD as BOARD
from test_portable import MANIFEST, OPTIONS, adapter
from test_suite import GOOD, HASHING

import boards
from matrices import compact
from suite_texts import suite_text
from worldwise import cli
from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.units import parse_duration, parse_frequency, parse_size
from worldwise.cli.common.help_screen import Helped
from worldwise.lab.lab import Lab
from worldwise.libraries.boards import load_board, load_core
from worldwise.libraries.portable import find, load_adapter, load_folder
from worldwise.plan.budget import Budget, check_budget, parse_budget
from worldwise.plan.case import parse_case
from worldwise.plan.catalogue import (
    implementations_of,
    operations_of,
    optimisations_of,
    parameters,
    parameters_of_operation,
    target_names,
)
from worldwise.plan.checks import check_parameters, unavailable_reason
from worldwise.plan.selection import select, swept
from worldwise.plan.spec import Parameter
from worldwise.plan.suite import load_suite, parse_suite
from worldwise.read.published import Published, load_figures

Edits = Iterable[tuple[str, str]]
# Of a text whose place and name say nothing.
_SHORT = 100
# Python's own words, which another version may say in another way.
_TOMLLIB = re.compile(r"(?<=: )not valid TOML: .* \(at (line \d+, column \d+|end of document)\)")


class _Answers:
    """Questions with their answers, each answer once; paths of this machine are replaced."""

    def __init__(self, directory: Path) -> None:
        folders = {directory.resolve(): "FOLDER", directory: "FOLDER", paths.REPOSITORY: "REPOSITORY"}
        self._replaced = {str(path): name for path, name in folders.items()}
        self._lines: list[str] = []

    def heading(self, text: str) -> None:
        """What follows is of another kind."""
        self._lines += ["", f"=== {text}"]

    def ask(self, question: str, do: Callable[[], object]) -> None:
        """Notes what an action refuses, or that it does not."""
        self._lines += [question, *(_refusal(do) or ["  is not refused"])]

    def ask_many(self, questions: Iterable[tuple[str, Callable[[], object], Mapping[str, str]]]) -> None:
        """Notes what actions refuse, each answer once, with matrices of what was asked first and is answered so.

        Of each question its words that an answer may repeat, by what stands in their place.
        """
        known: set[str] = set()
        groups: dict[str, list[str]] = {}
        for question, do, words in questions:
            answer = "\n".join(_refusal(do)).replace(question, "...")
            if answer and answer not in known:
                known.add(answer)
                for what, word in words.items():
                    assert f"<{what}>" not in answer
                    answer = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", f"<{what}>", answer) if word else answer
                groups.setdefault(answer, []).append(question)
        for answer, some in groups.items():
            self._lines += [*compact(some), *answer.splitlines()]

    def text(self) -> str:
        """All of it."""
        found = "\n".join(self._lines[1:]) + "\n"
        for path, name in self._replaced.items():
            found = found.replace(path, name)
        return _TOMLLIB.sub("not valid TOML: what tomllib says", found)


def _refusal(do: Callable[[], object]) -> list[str]:
    """The lines of what an action refuses; none if it does not."""
    try:
        do()
    except WorldwiseError as error:
        return [f"  {error.message}", *([f"  hint: {error.hint}"] if error.hint else [])]
    except click.ClickException as error:
        return [f"  {line}" for line in error.format_message().splitlines()]
    return []


# --- suites ---

_SUITE: Edits = (
    ("samples = 10", "sample = 10"),
    ("warmup = 2\n", ""),
    ("format = 1", "format = 2"),
    ("format = 1", "format = true"),
    ('"good"', '"Good Name"'),
    ('"good"', '""'),
    ('"good"', f'"{"x" * 1001}"'),
    ('"good"', "1979-05-27"),
    ("samples = 10", "samples = 0"),
    ("samples = 10", "samples = 100001"),
    ("samples = 10", 'samples = "10"'),
    ("samples = 10", "samples = true"),
    ("samples = 10", "samples = 1e2"),
    ("samples = 10", "samples = []"),
    ("samples = 10", "samples = {}"),
    ("samples = 10", "samples = 99999999999999999999"),
    ("samples = 10", f"{'k' * 256} = 1"),
    ("samples = 10", f"samples = {'[' * 40}"),
    ("samples = 10", f"samples{'.a' * 40} = 1"),
    ("warmup = 2", "warmup = -1"),
    ("warmup = 2", 'warmup = 2\ninclude = "quick"'),
    ("warmup = 2", "warmup = 2\ninclude = [1]"),
    ("warmup = 2", 'warmup = 2\ninclude = ["../quick"]'),
    ("warmup = 2", 'warmup = 2\ninclude = ["none"]'),
    ('"attestdiv"', '"atestdiv"'),
    ('"attestdiv"', '"ta-load"'),
    ('"attestdiv"', '"keygen"'),
    ('"linux"', '"Linux"'),
    ('"linux"', '"microbit"'),
    ('["optee"]', '"optee"'),
    ('["optee"]', "[]"),
    ('["optee"]', "[1]"),
    ("samples = 5", "samples = -5"),
    ('["O2"]', '["o2"]'),
    ('["O2"]', '["O3"]'),
    ('["empty-invoke"]', '["keygen"]'),
    ('"5 ms"', '"5 m"'),
    ('"5 ms"', "5"),
    ('"5 ms"', '"0 ms"'),
    ('"5 ms"', '"soon"'),
    ('"2 GHz"', '"fast"'),
    ('"2 GHz"', '"2 THz"'),
    ('"2 GHz"', '"2 GHz"\nplace = "tee"'),
    ('"2 GHz"', '"2 GHz"\nmeasures = ["load"]'),
    ('"2 GHz"', '"2 GHz"\nmeasures = "sign"'),
    ('"2 GHz"', '"2 GHz"\nclok = 1'),
    ('"optee-p256-a72"', '"optee-p256"'),
    ('"optee-p256-a72"', "1"),
    ("[published]", "[publish]"),
    ("[published]", "[[published]]"),
    ("[published]", '[recommended]\ncase = "optee/mbedtls-O2/keygn"\n[published]'),
    ("[published]", "[[recommended]]\n[published]"),
    ("[published]", "[recommended]\n[published]"),
    ("[budget]", "[[budget]]"),
    ('title = "A', 'title = A "'),
    ('name = "good"', 'name = "good"\nname = "twice"'),
)
_HASHING: Edits = (
    ("sizes =", "size ="),
    ('"1024KiB"', '"1024"'),
    ('"1024KiB"', '"1 GiB"'),
    ('"1024KiB"', "1024"),
    ('"1024KiB"', '"0B"'),
    ('"1024KiB"', '"65MiB"'),
    ('["0", "1024KiB"]', "[]"),
    ('["0", "1024KiB"]', '"0"'),
    (
        'sizes = ["0", "1024KiB"]\nchunks = ["64KiB"]',
        f"sizes = {[f'{size}B' for size in range(250)]}\nchunks = {[f'{size}B' for size in range(1024, 1274)]}",
    ),
    ('"64KiB"', '"13MiB"'),
    ('"64KiB"', '"0"'),
    ('"64KiB"', '"64"'),
    ('chunks = ["64KiB"]', 'sizes = ["1MiB"]'),
    ('chunks = ["64KiB"]\n', ""),
    ('"busy"', '"heavy"'),
    ('sizes = ["4MiB"]\n', ""),
    ('"4MiB"', '"0"'),
    ('targets = ["linux"]', 'targets = ["optee"]'),
    ('chunks = ["64KiB"]', 'faults = ["none"]'),
)
_BOARDS: Edits = (
    ('"nucleo-f446re", ', '"nucleo-f446", '),
    ('"bearssl", "micro-ecc", "p', '"mbedtls", "p'),
    ('"nucleo-f103rb"]\noperations = ["k', '"linux"]\noperations = ["sha512", "k'),
    (
        '["nucleo-f446re"]\noperations = ["sha256", "sha512", "aes128", "aes256"]',
        '["nucleo-f446re", "linux"]\noperations = ["sha256"]',
    ),
    ('curves = ["secp112r1", ', 'curves = ["secp112", '),
    ('"1KiB"', '"5KiB"'),
    ("runs = [1000]", "runs = [0]"),
    ("runs = [1000]", "runs = [1000, 1000]"),
    ("runs = [1000]", 'runs = ["1000"]'),
    ("runs = [1000]", "runs = 1000"),
    ("runs = [1000]\n", ""),
    ('["secp112r1", "secp160r1", "secp256r1", "ed25519", "x25519"]', '["secp112r1"]'),
    ('"dhrystone"]\nop', '"bearssl"]\nop'),
    ("runs = [1000]", 'runs = [1000]\nloads = ["busy"]'),
    ("runs = [1000]", 'runs = [1000]\nsizes = ["1KiB"]'),
    ('sizes = ["32B", "1KiB"]\n', ""),
)
_PLAIN = suite_text("plain", "linux-armv7 / sign / mbedtls28 / O2 / curves secp256r1 / sizes 32B / options grid")
_OPTIONS: Edits = (
    ('["grid"]', '"grid"'),
    ('["grid"]', "[]"),
    ('["grid"]', "[1]"),
    ('["grid"]', '["NIST"]'),
    ('["grid"]', '["nist-maybe"]'),
    ('["grid"]', '["nist-off+nist-on"]'),
    ('["mbedtls28"]', '["openssl"]'),
    ('["mbedtls28"]', '["mbedtls36-ce"]'),
    ('["O2"]', '["O1"]'),
    ('["secp256r1"]', '["ed25519"]'),
)


def _edited(answers: _Answers, name: str, text: str, edits: Edits) -> None:
    answers.heading(f"suite {name}, changed")
    for old, new in edits:
        assert old in text, old
        shown = f"{old} -> {new if len(new) < _SHORT else f'{new[:40]}... ({len(new)} characters)'}"
        changed = text.replace(old, new, 1)
        answers.ask(shown.replace("\n", "\\n"), partial(parse_suite, changed, f"{name}.toml"))


def _suites(answers: _Answers, directory: Path) -> None:
    _edited(answers, "good", GOOD, _SUITE)
    head = GOOD[: GOOD.index("[[cases]]")]
    for cases in ("cases = []", "[cases]", "cases = 3"):
        answers.ask(cases, partial(parse_suite, f"{head}{cases}\n", "bad.toml"))
    _edited(answers, "hashing", HASHING, _HASHING)
    _edited(answers, "plain", _PLAIN, _OPTIONS)
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        _edited(answers, "boards", boards.SUITE, _BOARDS)
    answers.heading("suites that include others")
    top = 'format = 1\nname = "x"\ntitle = "t"\nsamples = 1\nwarmup = 0\n{}[[cases]]\ntargets = ["optee"]\n'
    block = 'operations = ["{}"]\nimplementations = ["mbedtls"]\noptimisations = ["O2"]\n'
    (directory / "inner.toml").write_text(top.format("") + block.format("hello"), encoding="ascii")
    for included, operation in (("inner", "hello"), ("outer", "hello"), ("none", "hello"), ("../x", "hello")):
        text = top.format(f'include = ["{included}"]\n') + block.format(operation)
        (directory / "outer.toml").write_text(text, encoding="ascii")
        answers.ask(f"include {included}", lambda: load_suite("outer", directory))
    answers.heading("files of suites")
    (directory / "latin.toml").write_bytes(b'name = "\xe9"\n')
    (directory / "folder.toml").mkdir()
    for name in ("atestation", "latin", "folder", str(directory / "absent.toml")):
        answers.ask(name, partial(load_suite, name, directory))


# --- cases ---

_IDS = (
    "sign",
    "optee/mbedtls-O2",
    "opte/mbedtls-O2/keygen",
    "optee/mbedtls-nits-O2/keygen",
    "optee/mbedtls/keygen",
    "optee/mbedtls-O3/keygen",
    "optee/mbedtls-O2/keygn",
    "linux/mbedtls-O2/ta-load",
    "optee/mbedtls-O2/keygen,size=1MiB",
    "optee/mbedtls-O2/sha256,siz=1MiB",
    "optee/mbedtls-O2/sha256,size",
    "optee/mbedtls-O2/sha256,size=1MiB,size=2MiB",
    "optee/mbedtls-O2/sha256,size=1",
    "optee/mbedtls-O2/keygen,load=bussy",
    "nucleo-f446/micro-ecc-Os/sign",
    "microbit/mbedtls-Os/sign",
    "microbit/micro-ecc-Os/hash",
    "microbit/dhrystone-Os/dhrystone,runs=1e3",
    "microbit/dhrystone-Os/dhrystone,runs=100001",
    "linux-armv7/openssl-O3/sign,curve=secp256r1,size=32B",
    "linux-armv7/mbedtls28-O2/sign,curve=secp256r1,size=32B,options=nist",
    "linux-armv7/mbedtls28-O2/sign,curve=secp256r1,size=32B,options=NIST",
    "linux-armv7/mbedtls28-O2/sign,curve=secp256r1,size=32B,options=nist-off+nist-on",
    "linux-armv7/bearssl-O2/sign,curve=secp256r1,size=32B,options=nist-off",
    "linux-armv7/openssl-ce-O2/aes,size=16B,key=128,mode=ctr,direction=encrypt",
    "linux-armv7/bearssl-O2/aes,size=16B,key=128,mode=ctr,direction=encrypt",
    "linux-armv8/mbedtls36-ce-O2/sign,curve=secp256r1,size=32B",
    "linux-armv7/bearssl-O2/hardclock,curve=secp256r1,size=32B",
    "linux/mbedtls-O2/sign,curve=secp256r1,size=32B",
    "optee/openssl-O2/sign,curve=secp256r1,size=32B",
    "optee/mbedtls-O2/storage,size=257KiB,storage=rpmb,action=create",
    "optee/mbedtls-O2/storage,size=127KiB,storage=rpmb,action=append",
    "linux/mbedtls-O2/file,size=4KiB,action=read,sync=fsync",
    "optee/mbedtls-O2/keycache-load,size=16B,storage=ree,policy=smart,action=ping,connections=9,requests=8",
)
_SIZES = ("0", "1B", "7B", "16B", "4KiB", "33KiB", "128KiB", "1MiB", "2MiB", "13MiB", "65MiB")


def _cases(answers: _Answers) -> None:
    answers.heading("ids of cases")
    for text in _IDS:
        answers.ask(text, partial(parse_case, text))
    answers.heading("ids of cases, parameters of every operation: the first that is answered so")
    answers.ask_many(_every_id())


def _every_id() -> Iterator[tuple[str, Callable[[], object], Mapping[str, str]]]:
    asked: dict[tuple[str, ...], None] = {}
    for target in target_names():
        for operation in operations_of(target):
            for words in _words(target, operation):
                # Boards are alike in this, and plain Linux on both architectures.
                kind = re.sub("-armv[78]", " alone", target)
                kind = kind if kind.startswith(("optee", "linux")) else "board"
                if (kind, operation, *words) not in asked:
                    asked[kind, operation, *words] = None
                    variant = f"{implementations_of(target, [operation])[0]}-{optimisations_of(target)[-1]}"
                    text = ",".join([f"{target}/{variant}/{operation}", *words])
                    given = dict(word.split("=", 1) for word in words)
                    yield (
                        text,
                        partial(parse_case, text),
                        {key: f"{value}" for key, value in given.items()} | {"operation": operation},
                    )


# Parameters of which one may not go with another.
_TOGETHER = (
    *("size", "chunk", "fault", "mode", "memory", "parameters", "storage", "policy", "action", "sync", "server"),
    *("connections", "clients", "requests", "bound"),
)


def parameters_there(target: str, operation: str) -> list[Parameter]:
    """What an operation can be asked for, each with all values that it has for any operation."""
    return [parameters()[parameter.key] for parameter in parameters_of_operation(target, operation)]


def _words(target: str, operation: str) -> Iterator[tuple[str, ...]]:
    """Parameters of an operation: each left out, each wrong, and combinations of two that vary."""
    has = parameters_there(target, operation)
    values: dict[str, tuple[str, ...]] = {}
    for parameter in has:
        some = parameter.values or (_SIZES if parameter.is_size else ("1", "100") if parameter.most else ())
        values[parameter.key] = some
    usual = {parameter.key: _usual(parameter.key, values[parameter.key]) for parameter in has if parameter.missing}
    for parameter in has:
        rest = {key: value for key, value in usual.items() if key != parameter.key}
        yield _listed(rest)
        for wrong in ("", "nonsense", "0"):
            yield _listed(rest | {parameter.key: wrong})
    for one, other in itertools.combinations([key for key in values if key in _TOGETHER], 2):
        for first, second in itertools.product(values[one], values[other]):
            yield _listed(usual | {one: first, other: second})


def _usual(key: str, values: tuple[str, ...]) -> str:
    chosen = {"size": "16B", "curve": "secp256r1", "policy": "smart", "requests": "100", "bound": "10"}
    return chosen.get(key, values[0])


def _listed(given: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in given.items())


def _reasons(answers: _Answers) -> None:
    answers.heading("parameters in a run")
    for given, target, operation in (
        ({"siz": "1KiB"}, "optee", "sha256"),
        ({"size": "1"}, "optee", "sha256"),
        ({"size": "x"}, "optee", "sha256"),
        ({"sessions": "0"}, "optee", "call"),
        ({}, "optee", "sha256"),
        ({"curve": "secp256r1"}, "microbit", "sign"),
    ):
        question = f"{target} {operation} {given}"
        answers.ask(
            question,
            partial(check_parameters, given, target, operation, "run.json"),
        )
    answers.heading("sizes, durations, clocks")
    for text in ("", "1", "1kB", "1.5KiB", "-1B", "0", "64KiB"):
        answers.ask(repr(text), partial(parse_size, text))
    for text in ("", "5", "5 m", "0ms", "5 MS", "5ms"):
        answers.ask(repr(text), partial(parse_duration, text))
    for text in ("fast", "2", "2 THz", "0 Hz", "2ghz"):
        answers.ask(repr(text), partial(parse_frequency, text))


def _budgets(answers: _Answers) -> None:
    answers.heading("budgets")
    for text in ("", "5ms", "5m@2GHz", "5ms@fast", "0ms@2GHz", "5ms@0Hz", "5ms@2GHz"):
        answers.ask(repr(text), partial(parse_budget, text))
    answers.ask("measures sing", lambda: parse_budget("5ms@2GHz", ["sing"]))
    answers.ask("place clent", lambda: parse_budget("5ms@2GHz", place="clent"))
    cases = load_suite("quick").cases
    answers.ask("judges nothing", lambda: check_budget(Budget(Fraction(1), Fraction(1), ("load",)), cases))


def _filters(answers: _Answers) -> None:
    answers.heading("filters of suite quick")
    cases = load_suite("quick").cases
    for chosen in (
        {"variants": ["mbedtls-O3"]},
        {"operations": ["attestdvi"]},
        {"targets": ["optee3"]},
        {"curves": ["secp256r1"]},
        {"targets": ["linux"], "operations": ["empty-invoke"]},
    ):
        answers.ask(str(chosen), partial(select, cases, **chosen))
    answers.ask("no cases", lambda: select([]))
    answers.ask("a sweep", lambda: swept(load_suite("quick")))


def _unavailable(answers: _Answers) -> None:
    """Every reason why a library has not what some target could be asked for."""
    answers.heading("reasons why something cannot be had: the first that is answered so")
    answers.ask_many(_every_reason())


def _every_reason() -> Iterator[tuple[str, Callable[[], object], Mapping[str, str]]]:
    for target in target_names():
        for operation in operations_of(target):
            curves = next((one.values for one in parameters_there(target, operation) if one.key == "curve"), ("",))
            for name in implementations_of(target, [operation, "aes"]):
                for curve in curves:
                    reason = unavailable_reason(target, name, curve, operation)
                    if reason:
                        words = {"library": name, "curve": curve, "operation": operation, "target": target}
                        yield f"{target}/{name} {operation} {curve}".strip(), _refused(reason), words


def _refused(reason: str) -> Callable[[], None]:
    def refuse() -> None:
        raise WorldwiseError(reason)

    return refuse


# --- files ---

_BOARD: Edits = (
    ("72 MHz", "72MHz"),
    ("72 MHz", "0 MHz"),
    ("72 MHz", "1001 MHz"),
    ("20KiB", "20 KiB"),
    ('"128KiB"', "128"),
    ("states = 2", "states = 16"),
    ("script", "scrip"),
    ("machine = ", "machin = "),
    ('"cortex-m3"', '"cortex-m9"'),
    ('"cortex-m3"', '"../cortex-m3"'),
    ('"some.ld"', '"other.ld"'),
    ('title = "A board"', "title = A"),
    ('title = "A board"', 'title = ""'),
)
_SOURCE = MANIFEST[MANIFEST.index("[source]") : MANIFEST.index("[build]")]
_CRATE = MANIFEST[MANIFEST.index("crate") : MANIFEST.index("[build]")]
_ADAPTER: Edits = (
    ("[build]", "[build]\nsource = 1"),
    ('title = "Some library"\n', ""),
    ('"some-lib"', '"Some"'),
    ("secp256r1 =", "p256 ="),
    ('"ecdh"]', '"sha256"]'),
    ('"ecdh"]', '"hash"]'),
    ('"ecdh"]', '"hardclock"]'),
    ('"sign", "verify"', '"hardclock"'),
    ('"sign", "verify"', '"sign"'),
    ('"keygen", ', ""),
    ('["sha256"]', '["sign"]'),
    ('version = "1.0.0"\n', ""),
    ('version = "1.0.0"', 'version = "1"'),
    ("0000", "00x0"),
    ("crate =", "debian ="),
    ('crate = "some-lib-sys"\n', ""),
    (_CRATE, 'packages = ["some-dev"]\n'),
    (_CRATE, 'packages = ["some-dev"]\nparts = ["a"]\n'),
    (_SOURCE, ""),
    ("[build]", "[build"),
    ("[build]", '[build]\ndefines = [""]'),
    ('sources = ["some.c"]', 'sources = ["../some.c"]'),
    ('sources = ["some.c"]', 'sources = ["a**b/some.c"]'),
    ('sources = ["some.c"]', 'sources = ["**/**/**/some.c"]'),
    ("[needs]", "[needs]\nheap = 1"),
    ('"some-lib"', '"other-lib"'),
    (MANIFEST[MANIFEST.index("secp256r1 =") : MANIFEST.index("[needs]")], ""),
)


def _files(answers: _Answers, directory: Path) -> None:
    folder = directory / "board"
    folder.mkdir()
    (folder / "some.ld").touch()
    path = folder / "some-board.toml"
    answers.heading("boards and cores")
    for old, new in _BOARD:
        assert old in BOARD
        path.write_text(BOARD.replace(old, new, 1), encoding="ascii")
        answers.ask(f"{old} -> {new}", lambda: load_board(path))
    answers.ask("absent", lambda: load_board(folder / "absent.toml"))
    answers.ask("cortex-m9", lambda: load_core("cortex-m9"))
    answers.heading("adapters")
    for old, new in _ADAPTER:
        assert old in MANIFEST, old
        file = adapter(folder, MANIFEST.replace(old, new, 1))
        answers.ask(f"{old} -> {new}".replace("\n", "\\n"), partial(load_adapter, file))
    for old, new in (
        ('default = "on"', 'default = "maybe"'),
        ("off = [", "OFF = ["),
        ('values = { on = [], off = ["NIST_OFF"] }', f"values = {{ on = [], {_many(6000)} }}"),
    ):
        file = adapter(folder, MANIFEST + OPTIONS.replace(old, new, 1))
        answers.ask(f"{old} -> {new[:40]}", partial(load_adapter, file))
    file = folder / "some-lib.c"
    file.write_text('#include "ops.h"\n', encoding="ascii")
    answers.ask("no comment", lambda: load_adapter(file))
    optional = load_adapter(adapter(folder, MANIFEST + OPTIONS))
    answers.heading("build options")
    for text in ("nist-maybe", "asm-off", "nist", "nist-off+nist-on"):
        answers.ask(text, partial(optional.options, text))
    answers.ask("of a library without", lambda: load_adapter(adapter(folder)).options("nist-off"))
    answers.heading("folders of the user's own")
    own = directory / "own"
    answers.ask("absent", lambda: load_folder(own))
    own.mkdir()
    answers.ask("empty", lambda: load_folder(own))
    for text in (MANIFEST, MANIFEST.replace('"some-lib"', '"bearssl"')):
        (own / "implementation.toml").write_text(text, encoding="ascii")
        answers.ask(text.splitlines()[0], lambda: load_folder(own))
    answers.ask("find", lambda: find("some-lib"))
    answers.heading("published figures")
    answers.ask("absent", lambda: load_figures("absent"))
    answers.ask("not known", lambda: Published("absent"))


def _many(number: int) -> str:
    return ", ".join(f"v{one} = []" for one in range(number))


# --- the command line ---

_CALLS = (
    "run atestation",
    "run quick --variant mbedtls-O3",
    "run quick --operation attestdvi",
    "run quick --target optee3",
    "run quick --target linux --operation empty-invoke",
    "run quick --budget 5ms",
    "run quick --budget 5m@2GHz",
    "run quick --target linux --budget 5ms@2GHz",
    "run quick --samples 0",
    "run quick --jobs 0",
    "run quick --silence 1",
    "run quick --format xml",
    "run quick --output absent/file",
    "run quick --option-sweep",
    "run quick --vrify",
    "run quick quick",
    "run --resume",
    "run --resume 2026",
    *(f"run --resume {option}" for option in ("--verify", "--option-sweep", "--cold", "--fresh", "--reverse")),
    *(f"run --resume --{option} x" for option in ("variant", "operation", "target", "curve")),
    "run --resume --samples 3",
    "rnu",
    "report 2026",
    "report --format xml",
    "report --output absent/file",
    "compare",
    "compare 2025 2026",
    "compare 2025 2026 --write junit",
    "compare 2025 2026 --fail-above fast",
    "plot 2026",
    "plot --kind cake",
    "explain optee/mbedtls-O2/keygn",
    "explain 2026",
    "diff 2026 optee/mbedtls-O2/keygen",
    "diff linux/mbedtls-O2/keygen optee/mbedtls-O2/keygen --format folded",
    "explain optee/mbedtls-O2/keygen --samples 0",
    "schema reports",
    "lab",
    "lab enter --root cellar",
    "keycache",
    "keycache demo --clients 0",
    "keycache packages --ta absent",
)


def _calls(answers: _Answers, directory: Path) -> None:
    def ensure(_: Lab) -> None:
        raise AssertionError("the lab was asked for")

    answers.heading("the command line")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lab, "ensure", ensure)
        patch.setenv("COLUMNS", "100")
        patch.chdir(directory)
        for call in _CALLS:
            words = call.split()
            answers.ask(call, partial(cli.cli.main, words, prog_name="worldwise", standalone_mode=False))


def help_texts() -> str:
    """What `--help` and `--help-all` print of the command line and of each command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        return "\n".join(_help(cli.cli, "worldwise"))


def _without_ends(text: str) -> str:
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE) + "\n"


def _both(short: str, whole: str) -> str:
    """Two texts in one: before a line that `--help` alone has stands a -, before one of `--help-all` alone a +."""
    lines = difflib.ndiff(short.splitlines(), whole.splitlines())
    return "".join(f"{line.rstrip()}\n" for line in lines if not line.startswith("?"))


def _help(command: click.Command, name: str, above: click.Context | None = None) -> Iterator[str]:
    # Not the terminal's width, which is not that of a log.
    context = click.Context(command, info_name=name, parent=above, terminal_width=100, **command.context_settings)
    short = _without_ends(command.get_help(context))
    if isinstance(command, Helped) and command.has_more:
        yield _both(short, _without_ends(command.get_help_all(context)))
    else:
        yield short
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            one = command.get_command(context, below)
            assert one
            yield from _help(one, below, context)


def refusals(directory: Path) -> str:
    """Every refusal of suites, cases, boards, libraries and calls, in an empty folder."""
    answers = _Answers(directory)
    _suites(answers, directory)
    _cases(answers)
    _reasons(answers)
    _budgets(answers)
    _filters(answers)
    _unavailable(answers)
    _files(answers, directory)
    _calls(answers, directory)
    return answers.text()
