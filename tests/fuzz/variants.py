# SPDX-License-Identifier: BSD-2-Clause
"""Inputs of the fuzzer that differ from another one of their folder in one place."""

from collections.abc import Callable, Mapping

Change = Callable[[bytes], bytes]
_DIGITS = b"9" * 4400
_HASH = b'sha256 = "' + b"0" * 64 + b'"\n'


def put(before: bytes, after: bytes) -> Change:
    """Puts `after` in each place of `before`, which must be there."""

    def change(data: bytes) -> bytes:
        assert before in data
        return data.replace(before, after)

    return change


def add(after: bytes) -> Change:
    """Adds `after` at the end."""
    return lambda data: data + after


def _source(crate: bytes, version: bytes) -> Change:
    return put(b"[build]", b'[source]\ncrate = "%b"\nversion = "%b"\n%b[build]' % (crate, version, _HASH))


# The inputs by reader: the name of the file that they are made of, and what is changed.
VARIANTS: Mapping[str, tuple[str, Mapping[str, Change]]] = {
    "baseline": ("good.toml", {
        "big.toml": put(b"first = 3", b"first = 99999999999999999999"),
        "control-key.toml": put(b"[inputs]\n", b'[inputs]\n"a\\u0007" = "x"\n'),
        "control.toml": put(b'case = "own', b'case = "own\\u001b'),
        "digest.toml": put(b'"linux" = "0', b'"linux" = "'),
        "format.toml": put(b"format = 1", b"format = 3"),
        "infinite.toml": put(b"median = 4.5", b"median = inf"),
        "more.toml": add(b"x = 1\n"),
        "negative.toml": put(b"first = ", b"first = -"),
        "text.toml": put(b"median = 4.5", b'median = "4"'),
    }),
    "case": ("whole.json", {
        "nan.json": put(b'"wall_seconds": 0.5', b'"wall_seconds": NaN'),
        "surrogate.json": put(b'"qemu-system', b'"\\ud800'),
    }),
    "implementation": ("small.toml", {
        "badglob.toml": put(b'"*.c"', b'"a**b.c"'),
        "core.toml": put(b"[operations]", b'[build.core."../x"]\n[operations]'),
        "coreok.toml": put(
            b"[operations]",
            b'[build.core.cortex-m4]\nwithout = ["x"]\n[build.curve.secp256r1]\ndefines = ["A"]\n[operations]',
        ),
        "crate.toml": _source(b"some-crate", b"1.2.3-rc.1"),
        "deep.toml": add(b"x=" + b"[" * 40),
        "digits.toml": add(b"[needs]\nheap = " + b"9" * 4500 + b"\n"),
        "glob.toml": put(b'"*.c"', b'"**/**/**/*.c"'),
        "hardclock.toml": put(b'"verify"]', b'"verify", "hardclock"]\n[needs]\nlinux=true'),
        "longname.toml": put(b"my-lib", b"x" * 300),
        "needs.toml": add(
            b'[needs]\ncores = ["cortex-m4"]\nheap = 100\nlinux = true\n'
            b'[options.window]\ndefault = "a"\n[options.window.values]\na = []\nb = ["-DX"]\n'
        ),
        "nul.toml": put(b'"*.c"', b'"\\u0000.c"'),
        "options.toml": add(
            b"".join(
                b'[options.o%d]\ndefault = "a"\nvalues = {a = [], b = [], c = [], d = []}\n' % number
                for number in range(20)
            )
        ),
        "surrogate.toml": put(b'title = "t"', b'title = "\\ud800"'),
        "traversal.toml": _source(b"x/../../y", b"1.2.3"),
    }),
    "project": ("example.toml", {
        "braces.toml": put(b'"bench/bench', b'"/{path}%s'),
        "budget.toml": put(b'"50us@1.5GHz', b'"0us@{}GHz'),
        "change.toml": put(b"instructions = 60_000\n", b'instructions = 60_000\nchange = "9999999999999999999999%"\n'),
        "dots.toml": put(b'ta = "ta"', b'ta = "."'),
        "limit.toml": put(b"60_000", b"-1"),
        "name.toml": put(b"[measure.m4", b'[measure."m\\u0000"'),
        "out.toml": put(b'"bench/bench', b'"../\\u001b[2Jx'),
        "size.toml": put(b'flash = "1', b'flash = "99999999999999999999'),
        "two.toml": put(b'"m4/checksum.elf"\n', b'"m4/checksum.elf"\nta = "a"\n'),
        "unknown.toml": put(b"regions = ", b"region = "),
    }),
    "records": ("empty-invoke.jsonl", {
        "bad-cut.jsonl": put(b'"status":0,"idle":0}\n', b'"'),
        "bad-digits.jsonl": lambda data: data.replace(b'"count":', b'"count":' + _DIGITS, 1),
        "bad-float.jsonl": lambda data: data.replace(b'"index":0', b'"index":0.0', 1),
        "bad-nan.jsonl": lambda data: data.replace(b'"index":0', b'"index":NaN', 1),
        "bad-order.jsonl": lambda data: b"".join(reversed(data.splitlines(keepends=True))),
        "bad-surrogate.jsonl": put(b"optee-client", b"optee-\\ud800"),
        "bad-twice.jsonl": lambda data: data * 2,
        "bad-utf8.jsonl": put(b"empty-invoke", b"empty-\xff\xfe"),
    }),
    "run": ("whole.json", {
        "bom.json": lambda data: b"\xef\xbb\xbf" + data,
        "deepfield.json": put(b'"host": {', b'"host": {"x": ' + b"[" * 900 + b"]" * 900 + b","),
        "digits.json": put(b'"processors": 2', b'"processors": ' + b"9" * 4500),
        "inf.json": put(b'"processors": 2', b'"processors": 1e999'),
        "nan.json": put(b'"processors": 2', b'"processors": NaN'),
        "nul.json": add(b"\0"),
        "surrogate.json": put(b'"A synth', b'"\\ud800'),
        "twins.json": put(b'"samples": ', b'"samples": 3, "samples": '),
        "utf16.json": lambda data: data.decode().encode("utf-16"),
        "utf8.json": put(b'"A synth', b'"\xff\xfe'),
    }),
    "trace": ("good", {
        "digits": lambda data: data.replace(b'"0x1000', b'"' + _DIGITS, 1),
        "problem": put(b'"blocks":0', b'"blocks":0,"problem":"x\\u001b","problem_at":"0x5"'),
    }),
}  # fmt: skip
