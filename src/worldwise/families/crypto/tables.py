# SPDX-License-Identifier: BSD-2-Clause
"""Reports of signatures, secrets and digests in a TA: the cost of each implementation, and the recommendation."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from worldwise.base.tables import Section, Table, count, count_or_dash, factor, signed, whole
from worldwise.base.units import size_text
from worldwise.libraries.implementation import IMPLEMENTATIONS
from worldwise.libraries.portable import CURVES, portables
from worldwise.plan.catalogue import kind_of, takes_portables
from worldwise.plan.spec import OPTEE
from worldwise.read.family_fields import Recommended, TaSize
from worldwise.read.models import Reading, Row
from worldwise.read.published import Published, Subject
from worldwise.read.rows import is_quiet
from worldwise.report.contests import variant_of
from worldwise.report.row_words import claim
from worldwise.report.table_builder import Column, median_text, name, number, section
from worldwise.report.tables import Columns, Group, Tables, Task

OPERATIONS = ("sign", "verify", "ecdh", "digest")
# Parameters that do not change the operation itself: the kind of memory, and the source of random bytes.
_WAYS = {"memory": "temporary", "random": "bench"}
# Parameters of the machine and of the library: a column each, if a run has them.
_OTHERWISE = {"optee": ("OP-TEE", "stock"), "options": ("build options", "default")}
# OP-TEE's own libraries have their Linux figures from this operation, with a message of this size.
_ATTESTATION = "attestdiv"
_ATTESTATION_BYTES = 48
_CURVE = "secp256r1"
_PUBLISHED = "optee-p256-a72"
_CURVE_NAMES = {_CURVE: "P-256", "ed25519": "Ed25519", "x25519": "X25519"}


def crypto_sections(reading: Reading, full: bool = False) -> list[Section]:
    """The sections on the crypto app's operations; empty if the run has no such rows.

    With `full`, also what OP-TEE's own libraries cannot be measured for in Linux.
    """
    rows = _own_rows(reading)
    parts = [
        _implementations_section(rows, reading.rows),
        _libraries_section(rows),
        _ways_section(rows),
        _unavailable_section(reading, full),
        recommended_section(reading),
    ]
    return [part for part in parts if part]


# --- what rows are ---


def _own_rows(reading: Reading) -> list[Row]:
    return [row for row in reading.rows if row.operation in OPERATIONS and not takes_portables(row.target)]


def _way(row: Row) -> tuple[str, str]:
    """A call's kind of memory, and the source of its random bytes."""
    given = row.given
    memory, random = (given.get(key, usual) for key, usual in _WAYS.items())
    return memory, random


def _usual(row: Row) -> bool:
    """Whether a row is ordinary: temporary memory, the bench's random bytes, an undisturbed machine."""
    return not set(row.given) - {"curve", "size"}


def _subject(row: Row) -> tuple[str, str, int | None]:
    """The key that rows share if they do the same."""
    return (row.operation, row.curve, row.size)


def subject_text(operation: str, curve: str, size: int | None) -> str:
    """The operation as tables name it: `P-256 sign 48B`, `X25519`, `SHA-256 64KiB`."""
    if operation == "digest":
        return f"SHA-256 {size_text(size or 0)}"
    name = _CURVE_NAMES.get(curve, curve)
    if operation == "ecdh":
        return name if curve == "x25519" else f"{name} ECDH"
    return f"{name} {operation}" if size in (None, _ATTESTATION_BYTES) else f"{name} {operation} {size_text(size or 0)}"


def _order(subject: tuple[str, str, int | None]) -> tuple[int, int, int]:
    operation, curve, size = subject
    # P-256 first, because the attestation uses it.
    place = -1 if curve == _CURVE else CURVES.index(curve) if curve in CURVES else len(CURVES)
    return (place, OPERATIONS.index(operation), size or 0)


# --- tables ---


def _linux_rows(rows: Iterable[Row]) -> dict[tuple[str, tuple[str, str, int | None]], Row]:
    """The same work in the TEE's Linux, by variant and subject; of OP-TEE's own libraries that of the attestation."""
    found = {}
    for row in rows:
        if row.target != "linux":
            continue
        if row.operation in OPERATIONS and _usual(row):
            found[row.variant, _subject(row)] = row
        elif row.operation == _ATTESTATION and not row.parameters:
            found.setdefault((row.variant, (row.measure, _CURVE, _ATTESTATION_BYTES)), row)
    return found


def _implementations_section(rows: Sequence[Row], everything: Iterable[Row]) -> Section | None:
    linux = _linux_rows(everything)
    clients = [row for row in rows if row.place == "client" and _usual(row)]
    inside = {(row.case, row.place): row for row in rows}
    if not clients:
        return None
    levels = {row.optimisation for row in clients}
    samples = {row.counts.n for row in clients}
    headers = ["operation", "implementation", *(["n"] if len(samples) > 1 else [])]
    headers += ["in the TA\ninstr", "from the client\ninstr", "in Linux\ninstr", "TA\nbytes", "stack\nbytes", "\nrank"]
    headers += ["constant\ntime", "licence"]
    cells = []
    for subject in sorted({_subject(row) for row in clients}, key=_order):
        contest = sorted((row for row in clients if _subject(row) == subject), key=lambda row: row.median)
        for row in contest:
            ta = inside[row.case, "ta"]
            there = linux.get((row.variant, subject))
            rivals = [other.median for other in contest if other.optimisation == row.optimisation]
            word, _, licence = claim(row.implementation, row.curve)
            line = [subject_text(*subject), row.implementation if len(levels) == 1 else row.variant]
            line += [f"{row.counts.n:,}"] if len(samples) > 1 else []
            line += [count(ta.median), count(row.median), count(there.median) if there else "-"]
            line += [count_or_dash(row.part(TaSize).ta_loaded), count_or_dash(ta.footprint.stack)]
            line += [str(1 + sum(median < row.median for median in rivals)), word, licence]
            cells.append(line)
    title = "Which implementation in a TA: medians"
    title += f" at -{levels.pop()}" if len(levels) == 1 else ""
    title += f" (n = {samples.pop():,})" if len(samples) == 1 else ""
    return Section(title, Table(headers, cells, 2), _notes(clients), name="crypto")


def _notes(rows: Iterable[Row]) -> list[str]:
    listed = list(rows)
    notes = [
        "in the TA: the operation as the TA calls it, its key ready; with the work of OP-TEE's core where that does "
        "it. from the client: its whole call, with message and signature (secret, digest) in temporary memory. in "
        "Linux: the same library, compiled the same way, in a process on the same machine; of OP-TEE's own libraries "
        "it is attestdiv's figure, if the run has it. "
        f"P-256 and Ed25519 sign {_ATTESTATION_BYTES} bytes unless another size is given; ECDSA hashes them with "
        "SHA-256.",
        "TA bytes: code, constants and initial values of the TA that has this one curve, without stack and heap; of a "
        "library it has what it calls, and the dev kit's own part is in each. stack: the deepest that the call goes "
        "in the TA, found in a call of its own, without the core's stack. rank: 1 is the "
        "least from the client, at one optimisation.",
    ]
    core = [name for name in dict.fromkeys(row.implementation for row in listed) if name in IMPLEMENTATIONS]
    if core:
        notes.append(
            f"{', '.join(core)}: OP-TEE's core through the GlobalPlatform API. All others are compiled into "
            "the TA, and "
            "OP-TEE's cryptography takes no part. Ed25519 and X25519 are libtomcrypt's in every core. Before it asks "
            "the core, the TA itself refuses a peer of ECDH that is not on the curve or has a low order, since "
            "TEE_DeriveKey would panic, and an Ed25519 signature with an S that RFC 8032 does not allow, since the "
            "core takes it; both are counted."
        )
    return [
        *notes,
        "Random bytes of libraries in the TA are the bench's, the same in every run; see the table of random bytes "
        "for TEE_GenerateRandom.",
    ]


def _libraries_section(rows: Iterable[Row]) -> Section | None:
    texts: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        word, where, _ = claim(row.implementation, row.curve)
        names = texts.setdefault((word, where), [])
        if row.implementation not in names:
            names.append(row.implementation)
    notes = [f"{', '.join(listed)}: {word} ({where})." for (word, where), listed in sorted(texts.items())]
    if not notes:
        return None
    explained = (
        "A claim is its authors', repeated and not tried here: instruction counts that do not change with the "
        "key prove nothing. 'resistant' stands for defences that are named one by one, 'limited' and 'partly' "
        "for less than "
        "all of the code."
    )
    return Section(
        "What the authors claim of constant time, and where", None, [*notes, explained], name="crypto-constant-time"
    )


def _ways_section(rows: Sequence[Row]) -> Section | None:
    clients = [
        row for row in rows if row.place == "client" and not set(row.given) - {"curve", "size", *_WAYS, *_OTHERWISE}
    ]
    inside = {row.case: row for row in rows if row.place == "ta"}
    base = {(row.variant, _subject(row)): row for row in clients if _usual(row)}
    otherwise = {key: shown for key, shown in _OTHERWISE.items() if any(key in row.given for row in clients)}
    apart = {(row.variant, _subject(row)) for row in clients if not _usual(row)}

    def against(row: Row) -> str:
        usual = base.get((row.variant, _subject(row)))
        return "-" if usual is None or usual is row else signed(row.median - usual.median)

    def column(key: str, title: str, usually: str) -> Column[Row]:
        return name(title, lambda row: row.given.get(key, usually))

    return section(
        "What shared memory and random bytes change: medians",
        "crypto-memory",
        [
            row
            for row in sorted(clients, key=lambda row: (_order(_subject(row)), row.variant, row.median))
            if (row.variant, _subject(row)) in apart
        ],
        [
            name("operation", lambda row: subject_text(*_subject(row))),
            name("variant", variant_of),
            name("memory", lambda row: _way(row)[0]),
            name("random\nbytes", lambda row: _way(row)[1]),
            *(column(key, title, usually) for key, (title, usually) in otherwise.items()),
            number("in the TA\ninstr", lambda row: count(inside[row.case].median)),
            number("way there and\nback, instr", lambda row: count(row.median - inside[row.case].median)),
            number("from the client\ninstr", median_text),
            number("against temporary\nand bench, instr", against),
        ],
        [
            "memory: temporary references, which are registered and mapped for one call; allocated once and "
            "kept, with the client's copies of the message in and the signature out counted. random bytes: the "
            "bench's, or of TEE_GenerateRandom, once a signature for its nonce.",
            *(
                [f"The last column compares with {' and '.join(usually for _, usually in otherwise.values())} there."]
                if otherwise
                else []
            ),
        ],
    )


def _unavailable_section(reading: Reading, full: bool) -> Section | None:
    groups: dict[str, dict[str, None]] = {}
    for each in reading.unavailable:
        if each.operation in OPERATIONS and not takes_portables(each.target):
            # OP-TEE's core never runs in Linux, so a missing Linux figure for it is no gap.
            if each.target == "linux" and each.implementation in IMPLEMENTATIONS and not full:
                continue
            where = "in a TA" if kind_of(each.target) == OPTEE else "in Linux"
            what = subject_text(each.operation, each.curve, None) if each.operation != "digest" else "SHA-256"
            groups.setdefault(f"{each.implementation} {where}: {each.reason}", {})[what] = None
    notes = [f"{text} ({', '.join(what)})." for text, what in groups.items()]
    return Section("Not available", None, notes, name="crypto-unavailable") if notes else None


# --- what is recommended ---


def recommended_section(reading: Reading) -> Section | None:
    """Cost and saving of the suite's recommended attestation signature; empty if the run has no such rows.

    The published figure is a TA's signature of the same message; libtomcrypt's figure is from the same run.
    """
    recommended = reading.part(Recommended).recommended
    chosen = [row for row in reading.rows if row.case == recommended and row.measure == "sign"]
    places = {row.place: row for row in chosen}
    if not {"ta", "client"} <= places.keys():
        return None
    client, ta = places["client"], places["ta"]
    published = _published_instructions()
    cells = [
        ["from the client's call to its return", count(client.median), _times(published, client.median), "-"],
        ["of it in the TA", count(ta.median), _times(published, ta.median), "-"],
        ["of it the way there and back", count(client.median - ta.median), "-", "-"],
    ]
    twin = next(
        (
            row
            for row in reading.rows
            if row.target == "linux"
            and row.variant == client.variant
            and _subject(row) == _subject(client)
            and _usual(row)
        ),
        None,
    )
    if twin:
        cells.append(["the same library in Linux", count(twin.median), _times(published, twin.median), "-"])
    for place, row in places.items():
        rival = _libtomcrypt(reading.rows, row)
        if rival:
            where = "from the client" if place == "client" else "in the TA"
            cells.append(
                [
                    f"{rival.variant}, {where}",
                    count(rival.median),
                    _times(published, rival.median),
                    _times(rival.median, row.median),
                ]
            )
    cells.append(["published, in the TA", whole(published), "1.00", _times(published, ta.median)])
    headers = ["attestation signature", "median\ninstr", "published /\nthis", "this /\nrecommended"]
    return Section(
        f"Recommended attestation signature: {recommended.partition('/')[2]}",
        Table(headers, cells, 1),
        _recommendation_notes(client),
        name="recommended",
    )


def _times(many: float, few: float) -> str:
    return factor(many / few)


def _published_instructions() -> float:
    """The published attestation signature in the TA, with MBEDTLS_ECP_NIST_OPTIM."""
    (beside,) = Published(_PUBLISHED).beside(Subject(_ATTESTATION, "sign", "ta", "mbedtls-nist", "", "", None))
    return beside.instructions


def _libtomcrypt(rows: Iterable[Row], like: Row) -> Row | None:
    """The same signature by OP-TEE's default library, at the same place: from this app, or from the attestation."""
    for row in rows:
        same = (row.implementation, row.optimisation, row.measure, row.place) == (
            "libtomcrypt",
            like.optimisation,
            "sign",
            like.place,
        )
        if same and (
            (row.operation == _ATTESTATION and not row.parameters)
            or (row.operation == "sign" and _subject(row) == _subject(like) and _usual(row))
        ):
            return row
    return None


def _recommendation_notes(row: Row) -> list[str]:
    word, where, licence = claim(row.implementation)
    memory, random = _way(row)
    notes = [
        f"{row.variant}: compiled into the TA. Constant time: {word} ({where}), as its authors say. Licence: {licence}."
    ]
    library = portables().get(row.implementation)
    if library and library.manifest.needs.derived:
        notes.append(
            "Each nonce is derived from key and message by RFC 6979, and its cost is in the figure; no random bytes "
            "are drawn. Who can disturb the computation and have a message signed twice can learn the key."
        )
    elif random == "tee":
        notes.append(
            "Each nonce is of TEE_GenerateRandom, as in a real TA, and its cost is in the figure. Where that generator "
            "cannot be trusted, nonces by RFC 6979 are the way; they cost some twenty blocks of SHA-256 instead."
        )
    else:
        notes.append(
            "Nonces are the bench's, the same in every run: a real TA must take them from TEE_GenerateRandom "
            "(random=tee) or by RFC 6979, and pays for that besides."
        )
    if memory == "allocated":
        notes.append(
            "Message and signature are in shared memory that the client allocates once. The normal world can change it "
            "at any time, so the TA copies the message before it hashes it."
        )
    notes.append(
        "The key is in the TA's own memory, in the clear, as long as the session lives: a TA must bring it from secure "
        "storage once, and must wipe it. Constant time is a matter of timing and caches; it says nothing of power, "
        "emanation or faults."
    )
    return notes


def crypto_columns(reading: Reading) -> Mapping[str, Callable[[Row], object]]:
    """Further columns of the CSV if the run has such operations; otherwise none."""
    if not any(row.part(TaSize).ta_loaded for row in reading.rows):
        return {}
    return {
        "ta_loaded_bytes": lambda row: row.part(TaSize).ta_loaded,
        "ta_file_bytes": lambda row: row.part(TaSize).ta_file,
        "ta_stack_bytes": lambda row: row.footprint.stack if row.place == "ta" else None,
    }


def _own_notes(rows: Sequence[Row]) -> list[str]:
    """A note on libraries that are no part of OP-TEE."""
    names = list(
        dict.fromkeys(
            row.implementation
            for row in rows
            if row.operation in OPERATIONS and row.implementation not in IMPLEMENTATIONS
        )
    )
    if not names:
        return []
    return [
        f"{', '.join(names)}: compiled into the TA (and into the Linux program) with the flags of the TA dev kit of "
        "mbedtls-nist at the same optimisation, and called there; the cryptography of OP-TEE's core takes no part."
    ]


def _task(row: Row) -> Task | None:
    if row.operation not in OPERATIONS or takes_portables(row.target) or not is_quiet(row):
        return None
    return Task(row.operation, row.curve, row.size, (*_WAYS, *_OTHERWISE))


TABLES = Tables(
    groups=(Group(420, crypto_sections),),
    task=_task,
    operations={"sign": "signature", "verify": "verification", "ecdh": "shared secret", "digest": "SHA-256"},
    own=OPERATIONS,
    columns=(Columns(20, crypto_columns),),
    legend=_own_notes,
)
