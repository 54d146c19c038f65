# SPDX-License-Identifier: BSD-2-Clause
"""Tables of AES: the published table with our figures beside it, and our tables for choosing a library."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from worldwise.base.tables import Section, Table, count, ratio, section_name
from worldwise.base.units import size_text
from worldwise.families.aes.answer import aes_answer
from worldwise.families.aes.readings import AES_WHOLE
from worldwise.families.aes.spec import AES
from worldwise.libraries.cores import PLAIN_TARGETS
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.read.models import Reading, Row
from worldwise.read.mqttz import CLOCK, SOURCE, beside
from worldwise.read.published import Figure
from worldwise.read.rows import Key, RowIndex, is_quiet
from worldwise.report.row_words import machine_of, machine_text, machines
from worldwise.report.tables import Group, Tables

OPERATION = AES
MODES = ("cbc", "ctr", "gcm")
DIRECTIONS = ("encrypt", "decrypt")
KEYS = ("128", "256")
# The message's size in the published table.
PUBLISHED_SIZE = 4096

_FIXED = ("prepare", "set-key", "set-iv")
# The source's name of a call -> our measure.
_CALLS = {"prepare_aes": "prepare", "set_iv": "set-iv", "set_key": "set-key", "cipher_buffer": "cipher"}
_KINDS = {"All": "client", "Inv": "invoke"}
# The source's modes: its client asks the TA for CTR, its program in Linux asks OpenSSL for CBC.
_SECURE_MODE, _PLAIN_MODE = "ctr", "cbc"
# Our variants beside the source's figures, the nearest first: OP-TEE as built by default; OpenSSL on a core with the
# extension, like the emulated Cortex-A57.
_SECURE = ("libtomcrypt-Os", "libtomcrypt-O2", "mbedtls-Os", "mbedtls-O2")
_PLAIN = ("openssl-ce-O2", "openssl-O2", "mbedtls36-ce-O2", "mbedtls36-O2")
# With and without the extension: (without, with).
_EXTENSIONS = (
    ("libtomcrypt", "libtomcrypt-ce"),
    ("mbedtls", "mbedtls-ce"),
    ("mbedtls36", "mbedtls36-ce"),
    ("openssl", "openssl-ce"),
)
# A TA's variant, and the variant on the same core in Linux.
_WORLDS = (
    ("mbedtls", "mbedtls36"),
    ("mbedtls-ce", "mbedtls36-ce"),
    ("libtomcrypt", "openssl"),
    ("libtomcrypt-ce", "openssl-ce"),
)


def aes_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on AES; empty if the run has no such rows.

    Unless `full`, the tables show decryption and AES-256 only where they differ from encryption and AES-128.
    """
    rows = [row for row in reading.rows if row.operation == OPERATION and row.target not in PLAIN_TARGETS]
    if not rows:
        return []
    table = _AesRows(rows)
    parts: list[Section | None] = [
        *_published_sections(table, reading),
        *_common_sections(table, full),
        _world_section(table),
        _fixed_section(table, KEYS if full else KEYS[:1]),
        _legend_section(table),
    ]
    return [part for part in parts if part]


def plain_aes_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections of AES in plain Linux, machine by machine; empty if the run has no such rows."""
    rows = [row for row in reading.rows if row.operation == OPERATION and row.target in PLAIN_TARGETS]
    if not rows:
        return []
    parts = []
    for machine in machines(rows):
        table = _AesRows([row for row in rows if machine_of(row) == machine])
        parts += [
            replace(
                part, title=f"{machine_text(machine)}: {part.title}", name=section_name("plain", part.name, *machine)
            )
            for part in (*_common_sections(table, full), _fixed_section(table, KEYS if full else KEYS[:1]))
            if part
        ]
    return [*parts, _plain_legend_section(_AesRows(rows))]


def _common_sections(table: "_AesRows", full: bool) -> list[Section | None]:
    """The sections of one machine, TEE or plain Linux."""
    return [
        *(_cipher_section(table, mode, direction) for mode in MODES for direction in DIRECTIONS[: 2 if full else 1]),
        _direction_section(table),
        _key_section(table),
        _extension_section(table),
    ]


def _key(row: Row) -> Key:
    mode, key, direction = (row.given[name] for name in ("mode", "key", "direction"))
    return (row.variant, mode, key, direction, row.size, row.measure, row.place)


class _AesRows(RowIndex):
    """The rows of AES on undisturbed machines, by variant, mode, key, direction, size, measure and place."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__(filter(is_quiet, rows), _key)
        self.samples = sorted({row.counts.n for row in rows})
        known = [*IMPLEMENTATIONS, *(name for pair in _EXTENSIONS for name in pair)]
        self.variants = sorted(
            {row.variant for row in self.rows},
            key=lambda variant: (known.index(variant.rpartition("-")[0]), variant),
        )
        self.sizes = sorted({row.size for row in self.rows if row.size is not None})

    def places(self, variant: str) -> tuple[str, ...]:
        """The places of a variant's cost: the caller's, then inside the TA."""
        return ("client", "ta") if variant.rpartition("-")[0] in IMPLEMENTATIONS else ("linux",)

    def first(self, variants: Iterable[str], mode: str, place: str) -> str:
        """The first of these variants that has the published size at a place; empty if none has."""
        for variant in variants:
            if any(
                self.row(variant, mode, key, direction, PUBLISHED_SIZE, "cipher", place)
                for key in KEYS
                for direction in DIRECTIONS
            ):
                return variant
        return ""


# --- the published table ---


# (operation, algorithm, place) -> published figure.
_Published = Mapping[tuple[str, str, str], Figure]
_SHIFTED = (
    "*: digit for digit a figure of decryption, the Inv of the call above: the table looks shifted by one. The program "
    "keeps decryption's Inv times in row 4 of arrays that have rows 0 to 3, and so writes them over encryption's All "
    "times in the array that follows. What these three rows should say is lost."
)


def _published_sections(table: _AesRows, reading: Reading) -> list[Section]:
    figures = {
        (figure.operation, figure.algorithm, figure.place): figure
        for figure in reading.published_table
        if figure.source == SOURCE and figure.algorithm.startswith("AES-")
    }
    secure = table.first(_SECURE, _SECURE_MODE, "client")
    plain = table.first(_PLAIN, _PLAIN_MODE, "linux")
    if not figures or not (secure or plain):
        return []
    headers = ["operation"]
    for key in KEYS:
        headers += [f"AES-{key}\ntheirs ms", "\nstdev ms", "ours\ninstr", "stdev\ninstr", "assumed\nus"]
    calls = _published_calls(table, figures, secure, len(headers))
    shifted = any("*" in cell for line in calls for cell in line)
    return [
        Section(
            "AES of 4 kB as published for OP-TEE, and ours: the whole, by its client",
            Table(headers, _published_wholes(table, figures, secure, plain), 1),
            [*_published_notes(figures, secure, plain), reading.published_reason],
            name="aes-published",
        ),
        Section(
            "AES of 4 kB as published for OP-TEE, and ours: call by call (All: the client's function, Inv: "
            "TEEC_InvokeCommand)",
            Table(headers, calls, 1),
            [
                *([_SHIFTED] if shifted else []),
                "-: not published (set_iv (Inv) of encryption is missing from the source's table), or not measured "
                "here.",
            ],
            name="aes-published-calls",
        ),
    ]


def _published_wholes(table: _AesRows, figures: _Published, secure: str, plain: str) -> list[list[str]]:
    lines = []
    for direction in DIRECTIONS:
        for name, place, variant, mode, at in (
            ("secure", "trusted application, from the client", secure, _SECURE_MODE, "client"),
            ("non_secure", "normal world", plain, _PLAIN_MODE, "linux"),
        ):
            line = [f"{direction}_{name}"]
            for key in KEYS:
                figure = figures.get((f"{direction} 4 kB", f"AES-{key}", place))
                ours = table.row(variant, mode, key, direction, PUBLISHED_SIZE, AES_WHOLE, at)
                line += beside(figure, ours, 5, 6)
            lines.append(line)
    return lines


def _published_calls(table: _AesRows, figures: _Published, secure: str, columns: int) -> list[list[str]]:
    lines = []
    for direction in DIRECTIONS:
        lines.append([direction.upper(), *[""] * (columns - 1)])
        for name, measure in _CALLS.items():
            for kind, place in _KINDS.items():
                operation = f"{direction} call {name} ({kind})"
                line = [f"{name} ({kind})"]
                for key in KEYS:
                    figure = figures.get((operation, f"AES-{key}", "trusted application, per call"))
                    ours = table.row(secure, _SECURE_MODE, key, direction, PUBLISHED_SIZE, measure, place)
                    cells = beside(figure, ours, 5, 6)
                    if figure and direction == "encrypt" and _is_another(figure, figures.values()):
                        cells[0] += "*"
                    line += cells
                lines.append(line)
    return lines


def _published_notes(figures: _Published, secure: str, plain: str) -> list[str]:
    conditions = dict.fromkeys(f"{figure.statistic}: {figure.conditions}." for figure in figures.values())
    return [
        f"theirs: {' '.join(conditions)} ours: mean and standard deviation; secure is {secure or 'not measured'}, "
        f"non_secure {plain or 'not measured'}. assumed us: our mean at one instruction per cycle at {CLOCK}; an "
        "assumption, not a measurement. Ours is the sum of each sample's prepare, set-key, set-iv and cipher, by the "
        "client or by OpenSSL.",
        "Mode: the table says none. The client that the source's repository shows asks the TA for CTR, and OpenSSL for "
        f"CBC with padding, so ours is {_SECURE_MODE} in the TA and {_PLAIN_MODE} in Linux. The emulated Cortex-A57 "
        "has the Cryptographic Extension, which OpenSSL uses and OP-TEE by default does not. That client leaves the "
        "message's length without a value: 4 kB is what the text beside the table says.",
        "Unit: their header has ms^2 for the standard deviation, but the program takes the square root (over n, ours "
        "over n - 1), so it is in ms.",
    ]


def _is_another(figure: Figure, figures: Iterable[Figure]) -> bool:
    """Whether a figure of decryption has the same mean and deviation, digit for digit."""
    return any(
        other.operation.startswith("decrypt") and (other.value, other.stdev) == (figure.value, figure.stdev)
        for other in figures
    )


# --- ours ---


def _size_headers(table: _AesRows) -> list[str]:
    return [f"{size_text(size)}\ninstr" for size in table.sizes]


def _cipher_section(table: _AesRows, mode: str, direction: str) -> Section | None:
    most = table.sizes[-1] if table.sizes else 0
    cells = []
    for key in KEYS:
        lines = []
        for variant in table.variants:
            for place in table.places(variant):
                found = [table.row(variant, mode, key, direction, size, "cipher", place) for size in table.sizes]
                if any(found):
                    line = [key, variant, place]
                    line += [count(row.median) if row else "-" for row in found]
                    line += [f"{found[-1].median / most:,.2f}" if found[-1] else "-"]
                    lines.append(line)
        cells += lines
    if not cells:
        return None
    headers = ["key", "variant", "place", *_size_headers(table), f"{size_text(most)}\ninstr / byte"]
    return Section(
        f"AES-{mode.upper()}, {direction}: cipher, the call that takes the message (medians)",
        Table(headers, cells, 3),
        name=section_name("aes", mode, direction),
    )


def _times(above: Row | None, below: Row | None) -> str:
    return ratio(above.median / below.median if above and below else None)


def _ratio_section(
    table: _AesRows, name: str, title: str, numerator: tuple[str, str], denominator: tuple[str, str], note: str
) -> Section | None:
    """How the cost inside changes from one (key, direction) to another, for each variant and mode."""
    cells = []
    for variant in table.variants:
        for mode in MODES:
            place = table.places(variant)[-1]
            line = [variant, mode, place]
            for size in table.sizes:
                above = table.row(variant, mode, *numerator, size, "cipher", place)
                below = table.row(variant, mode, *denominator, size, "cipher", place)
                line.append(_times(above, below))
            if set(line[3:]) != {"-"}:
                cells.append(line)
    if not cells:
        return None
    headers = ["variant", "mode", "place", *(size_text(size) for size in table.sizes)]
    return Section(title, Table(headers, cells, 3), [note], name=name)


def _direction_section(table: _AesRows) -> Section | None:
    return _ratio_section(
        table,
        "aes-decryption",
        "AES-128: decrypt / encrypt, cipher alone",
        ("128", "decrypt"),
        ("128", "encrypt"),
        "--full adds tables of decryption.",
    )


def _key_section(table: _AesRows) -> Section | None:
    return _ratio_section(
        table,
        "aes-256",
        "AES-256 / AES-128, encrypt, cipher alone",
        ("256", "encrypt"),
        ("128", "encrypt"),
        "AES-256 has 14 rounds to AES-128's 10: if only the rounds cost anything, the ratio is 1.40.",
    )


def _extension_section(table: _AesRows) -> Section | None:
    cells = []
    for without, having in _EXTENSIONS:
        for level in ("Os", "O2"):
            plain, extended = f"{without}-{level}", f"{having}-{level}"
            for place in table.places(plain):
                for mode in MODES:
                    line = [plain, place, mode]
                    for size in table.sizes:
                        above = table.row(plain, mode, "128", "encrypt", size, "cipher", place)
                        below = table.row(extended, mode, "128", "encrypt", size, "cipher", place)
                        line.append(_times(above, below))
                    if set(line[3:]) != {"-"}:
                        cells.append(line)
    if not cells:
        return None
    headers = ["without / with", "place", "mode", *(size_text(size) for size in table.sizes)]
    return Section(
        "AES-128, encrypt: how many times as many instructions without the Cryptographic Extension as with it",
        Table(headers, cells, 3),
        ["These are instructions. The extension's AESE, AESMC and PMULL take more than a cycle each on some cores."],
        name="aes-extension",
    )


def _world_section(table: _AesRows) -> Section | None:
    cells = []
    for inside, outside in _WORLDS:
        secure, plain = f"{inside}-O2", f"{outside}-O2"
        for mode in MODES:
            for measure in ("cipher", AES_WHOLE):
                for place in ("ta", "client") if measure == "cipher" else ("client",):
                    line = [f"{inside} / {outside}", mode, "cipher" if measure == "cipher" else "all four", place]
                    for size in table.sizes:
                        above = table.row(secure, mode, "128", "encrypt", size, measure, place)
                        below = table.row(plain, mode, "128", "encrypt", size, measure, "linux")
                        line.append(_times(above, below))
                    if set(line[4:]) != {"-"}:
                        cells.append(line)
    if not cells:
        return None
    headers = ["TEE / Linux", "mode", "calls", "place", *(size_text(size) for size in table.sizes)]
    return Section(
        "AES-128, encrypt, -O2: how many times as many instructions in the TEE as in Linux",
        Table(headers, cells, 4),
        [
            "mbedtls / mbedtls36 is nearly the same library in both worlds: OP-TEE has a copy of mbed TLS for the "
            "blocks and code of its own for GCM, Linux has Debian's mbed TLS 3.6. libtomcrypt / openssl is each "
            "world's default. A short message pays for the way into the TA and for two memory references, "
            "whose pages Linux registers and OP-TEE maps: that is what client has more than ta."
        ],
        name="aes-worlds",
    )


def _fixed_section(table: _AesRows, keys: Sequence[str]) -> Section | None:
    cells = []
    sizes = [size for size in (PUBLISHED_SIZE, *table.sizes) if size in table.sizes][:1]
    in_ta = any("ta" in table.places(variant) for variant in table.variants)
    for variant in table.variants:
        for mode in MODES:
            for key in keys:
                line = [variant, mode, key]
                for measure in _FIXED:
                    for place in (table.places(variant)[0], *(["ta"] if in_ta else [])):
                        row = table.row(variant, mode, key, "encrypt", sizes[0], measure, place) if sizes else None
                        line.append(count(row.median) if row else "-")
                if set(line[3:]) != {"-"}:
                    cells.append(line)
    if not cells:
        return None
    headers = ["variant", "mode", "key"]
    for measure in _FIXED:
        headers += [f"{measure}\ncaller instr", *(["\nTA instr"] if in_ta else [])]
    note = (
        "caller: from the client of the TEE, or the same by the library's calls in Linux. A TA that keeps its key "
        "needs none of the three for each message: it can do all in one call."
    )
    return Section(
        f"AES, encrypt: what does not depend on the message's size (medians, at {size_text(sizes[0])})",
        Table(headers, cells, 3),
        [note] if in_ta else [],
        name="aes-fixed",
    )


_CHECKED = (
    "Checked in every case: the standards' examples (NIST SP 800-38A, the GCM specification), decryption of what "
    "was encrypted, of GCM a tag with a wrong bit, which must be refused and in the TA leave no plain text; and on the "
    "host, by another library, a CRC-32 of every sample's input and output."
)
_LIBRARIES = (
    "mbedtls36: Debian's mbed TLS 3.6 in its default configuration, through its cipher layer, compiled at the "
    "case's level; -ce differs by MBEDTLS_AESCE_C alone. openssl: Debian's libcrypto through EVP, at Debian's own "
    "optimisation level whatever the case says; without -ce OPENSSL_armcap=1 tells it that the core has Advanced "
    "SIMD and nothing else."
)


def _plain_legend_section(table: _AesRows) -> Section:
    samples = " or ".join(f"{n:,}" for n in table.samples)
    return Section(
        "How to read the tables of AES in plain Linux",
        None,
        [
            f"Every sample ({samples} a case) makes four calls of the library on fresh state: prepare, set-key, set-iv "
            "(of GCM with 13 bytes that are authenticated alone), cipher (of GCM with a tag of 16 bytes).",
            _CHECKED,
            f"{_LIBRARIES} Both are linked statically.",
        ],
        name="aes-plain-legend",
    )


def _legend_section(table: _AesRows) -> Section:
    samples = " or ".join(f"{n:,}" for n in table.samples)
    return Section(
        "How to read the tables of AES",
        None,
        [
            f"Every sample ({samples} a case) makes all four calls on fresh state: prepare (TEE_AllocateOperation and "
            "TEE_AllocateTransientObject), set-key (TEE_PopulateTransientObject and TEE_SetOperationKey), set-iv "
            "(TEE_CipherInit; GCM: TEE_AEInit and TEE_AEUpdateAAD of 13 bytes), cipher (TEE_CipherDoFinal; GCM: "
            "TEE_AEEncryptFinal or TEE_AEDecryptFinal with a tag of 16 bytes). What a sample allocated is freed by a "
            "call of its own that is not measured. The published program differs: its prepare_aes frees what was there "
            "and loads a key that nobody uses, its cipher_buffer calls TEE_CipherUpdate.",
            "ta: those calls alone, inside the TA. invoke: TEEC_InvokeCommand. client: the function around it, which "
            "fills in the operation. linux: the library's own calls for the same four steps. Data goes over as "
            "temporary memory references; no byte is copied, its pages are mapped into the TA.",
            _CHECKED,
            "libtomcrypt, mbedtls: OP-TEE's core with one or the other; GCM in it is OP-TEE's own code around the "
            f"library's block cipher. {_LIBRARIES} libcrypto is the shared one.",
        ],
        name="aes-legend",
    )


TABLES = Tables(
    groups=(Group(400, aes_sections), Group(510, plain_aes_sections)),
    answers=aes_answer,
    operations={OPERATION: "AES"},
    own=(OPERATION,),
)
