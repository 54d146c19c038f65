# SPDX-License-Identifier: BSD-2-Clause
"""The texts of reports in the golden files: of runs and figures that the unit tests of each family make.

As in golden_parts.py, names of Python modules stand here alone.
"""

import functools
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import test_abuse_report
import test_aes
import test_armv7_report
import test_calls_report
import test_compare_gate
import test_crypto_report
import test_echo
import test_explain_report
import test_faults_report
import test_hardclock
import test_hash_cost
import test_keycache_hold_report
import test_keycache_load_report
import test_keycache_report
import test_linux_report
import test_options_report
import test_storage_report
from rich.console import Console

import boards
import synthetic
from aes_records import aes_records
from board_reading import board_reading
from flames import FLAME_STACKS
from readings import attempt, reading
from worldwise.base.tables import Section
from worldwise.explain import stacks
from worldwise.explain.frame_records import Agreement
from worldwise.explain.layers import load_rules
from worldwise.families.abuse.tables import abuse_sections
from worldwise.families.calls.tables import calls_sections
from worldwise.families.echo.readings import Host
from worldwise.families.hardclock.tables import SOURCE
from worldwise.families.keycache.tables import SOURCE as KEYCACHE_SOURCE
from worldwise.families.keycache.tables import keycache_sections
from worldwise.families.sha256.explained import HashParts, Part, parts_section
from worldwise.plan.budget import parse_budget
from worldwise.plan.case import Case
from worldwise.plan.suite import parse_suite
from worldwise.read import published
from worldwise.read.compared import baseline, gate
from worldwise.read.family_fields import Footprint
from worldwise.read.models import NotAvailable, Reading
from worldwise.read.run_counts import read_run
from worldwise.records.models import Sample
from worldwise.records.trace_records import Witness
from worldwise.report import comparisons as gate_report
from worldwise.report import report
from worldwise.report.drawing import charts
from worldwise.report.explaining import explanations as explain_report
from worldwise.report.formats import exports, printed_sections
from worldwise.report.formats.printed_sections import markdown_text, print_sections
from worldwise.run.folder.reproduction import compare_runs, first_difference

WIDTH = 120
# Characters of a text that are kept: of a longer one stands what comes first, and the digest of the whole.
_LONG = 8_000


def _console() -> Console:
    return Console(file=io.StringIO(), width=WIDTH, force_terminal=False, color_system=None, highlight=False)


def _printed(draw: Callable[[Console], None]) -> str:
    console = _console()
    draw(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _parts(texts: Mapping[str, str]) -> str:
    """Texts under headings."""
    return "\n".join(f"=== {name}\n{_shown(text)}" for name, text in texts.items())


def _shown(text: str) -> str:
    """A text, or the first lines of a long one, and its digest."""
    if len(text) <= _LONG:
        return text
    # JSON says the same of each row.
    most = _LONG // 8 if text[0] in "[{" else _LONG // 2
    first = text[: text.rindex("\n", 0, most) + 1]
    return f"{first}... and so on: {_digested(text)}"


def _digested(text: str) -> str:
    """A line that is another one if a text is."""
    return f"{len(text)} characters with the SHA-256 {hashlib.sha256(text.encode()).hexdigest()}\n"


# --- runs and whole readings, in every format ---


# Of this reading every format stands whole. Of the others the terminal shows what they say, and the CSV has columns of
# families; of the formats that are made of the same sections and rows it is enough to see that they changed.
_WHOLE = "boards-figures"
_OWN_FORMATS = ("csv",)


def _formats(name: str, make: Callable[[Path], Reading], directory: Path) -> str:
    reading = make(directory)
    # With all that --full prints in a terminal, which takes seconds.
    exported = {one: export(reading) for one, export in report.EXPORTERS.items()}
    if name != _WHOLE:
        exported |= {one: _digested(text) for one, text in exported.items() if one not in _OWN_FORMATS}
    return _parts({"terminal": _printed(lambda console: report.render(reading, console)), **exported})


def _tee(directory: Path) -> Reading:
    return read_run(synthetic.write_run(directory, synthetic.make_suite().cases), parse_budget("5ms@2GHz"))


def _hashing(directory: Path) -> Reading:
    return test_hash_cost.read(directory, test_hash_cost.CASES)


def _aes(directory: Path) -> Reading:
    suite = parse_suite(test_aes.SUITE.replace('"16B", ', ""), "aes.toml")
    with synthetic.new_writer(directory, suite.cases, suite=suite) as writer:
        for case in suite.cases:
            synthetic.write_case(writer, case, synthetic.lines(aes_records(case)))
        return read_run(writer.finish("complete"))


def _boards(directory: Path) -> Reading:
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        suite = boards.board_suite()
        cases = [case for case in suite.cases if case.curve in ("", "secp256r1", "secp160r1")]
        return read_run(synthetic.write_run(directory, cases, suite=suite))


def _hardclock(directory: Path) -> Reading:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "make_records", test_hardclock.records)
        suite = replace(synthetic.make_suite(), published=SOURCE)
        return read_run(synthetic.write_run(directory, [test_hardclock.CASE], suite=suite))


def _echo(_: Path) -> Reading:
    rows, host = [], []
    for size in (1024, 1):
        for server, cost in test_echo.SERVERS.items():
            rows.append(test_echo.echo_row(server, size, "round-trip", cost + size))
            rows.append(test_echo.echo_row(server, size, "stream", 100 * cost))
            host.append(test_echo.host_time(server, size, "round-trip", cost / 100))
            host.append(test_echo.host_time(server, size, "stream", 1024 * 512))
    return board_reading().model_copy(update={"rows": tuple(rows)}).with_part(Host(host=tuple(host)))


def _crypto(_: Path) -> Reading:
    lacking = [
        NotAvailable(target="optee", implementation="c25519", curve="secp256r1", operation=one, reason="it has none")
        for one in ("sign", "verify")
    ]
    return test_crypto_report.crypto_reading(test_crypto_report.WHOLE, test_crypto_report.RECOMMENDED, lacking)


def _attempts(_: Path) -> Reading:
    tampered, cut = test_faults_report.tampered, test_faults_report.cut
    killed = test_keycache_hold_report.cut
    more = f"{test_faults_report.CORRUPT}; the second time {test_faults_report.ABSENT}"
    relaxed = "storage=ree,points=3,durability=relaxed"
    attempts = (
        *test_abuse_report.HELLO,
        *test_abuse_report.CALLS,
        tampered("ree", "rollback-files", "not detected", "the older content"),
        tampered("ree-rpmb", "rollback-files", "detected", test_faults_report.CORRUPT),
        tampered("rpmb", "chip-flip-data", "not detected", "other content: 17 of 7000 bytes differ"),
        tampered("rpmb", "none", "no effect", "the right content"),
        tampered("ree", "flip-directory", "detected", more),
        cut("old", "the older content"),
        cut("new", "the newer content", 12_345),
        cut("broken", "TEE_ERROR_CORRUPT_OBJECT", 23_456),
        killed(1, "between"),
        killed(2, "old", 1),
        killed(3, "lost", parameters=relaxed),
        attempt("optee/mbedtls-ce-O2/keycache-hold,storage=ree", "storage-older-later", "not detected", "4 older"),
        attempt("optee/mbedtls-ce-O2/keycache-hold,storage=rpmb", "kill-server", "holds", "25 kills"),
    )
    return board_reading().model_copy(update={"rows": (), "attempts": attempts})


# --- parts of a report, from figures that are nothing but these parts ---


def _sections(draw: Callable[[bool], Iterable[Section]], _: Path) -> str:
    texts = {}
    for name, full in (("terminal", False), ("terminal, --full", True)):
        console = _console()
        for section in draw(full):
            printed_sections.print_section(section, console)
            console.print()
        assert isinstance(console.file, io.StringIO)
        texts[name] = console.file.getvalue()
    lines = (line for section in draw(True) for line in (*printed_sections.section_lines(section), ""))
    texts["markdown"] = _digested("\n".join(lines))
    if texts["terminal"] == texts["terminal, --full"]:
        texts["terminal, --full"] = "the same\n"
    return _parts(texts)


def _calls(full: bool) -> list[Section]:
    rows = [*test_calls_report.payload_rows(), *test_calls_report.call_rows()]
    return list(calls_sections(reading(rows), full))


def _storage(full: bool) -> list[Section]:
    rows = [
        row
        for action in ("create", "read", "overwrite")
        for variant in ("mbedtls-ce-O2", "mbedtls-O2")
        for row in test_storage_report.rows(action, variant=variant)
    ]
    return test_storage_report.with_requests(rows, full)


def _keycache(full: bool) -> list[Section]:
    del full
    request = test_keycache_report.request
    rows = [
        *test_keycache_report.measured_by(),
        *request("get-hit", more=6_000),
        *request("get-miss", more=20_000),
        *request("get-miss", "naive", more=5_000_000),
        *request("seal-hit", more=30_000),
        *request("seal-hit", storage="rpmb", more=31_000),
        *request("reencrypt-hit", more=65_000),
        *request("set-new", size="32B", more=900_000),
    ]
    return list(keycache_sections(reading(rows, published=KEYCACHE_SOURCE)))


def _keycache_load(full: bool) -> list[Section]:
    del full
    load, zipf = test_keycache_load_report.load, test_keycache_load_report.zipf
    return test_keycache_load_report.load_sections(
        *(load("seal", policy, connections) for policy in ("smart", "none", "naive") for connections in (1, 8)),
        load("ping", "smart", 1),
        load("ping", "smart", 8),
        *(zipf(policy, hits, bound) for policy, hits, bound in (("smart", 80_000, 10), ("lru", 60_000, 10))),
        zipf("smart", 50_000, 1),
        zipf("none", 0),
    )


def _linux(full: bool) -> list[Section]:
    figure, hashed = test_linux_report.figure, test_linux_report.hashed
    found = [
        *test_linux_report.on_cores("bearssl-O2", 1_000_000, 1_000_001, 1_000_000),
        *test_linux_report.on_cores("openssl-O2", 500_000, 700_000, 500_000),
        figure("bearssl-O2", "verify", 5_000_000),
        figure("nettle-O2", "verify", 1_000_000),
        figure("mbedtls28-O2", "sign", 4_000_000),
        figure("mbedtls28-O0", "sign", 9_000_000),
        figure("monocypher-O2", "ecdh", 100_000, "x25519"),
        figure("monocypher-O2", "sign", 100_000, "ed25519", target="linux-armv7"),
        hashed("bearssl-O2", 64, 1280),
        hashed("bearssl-O2", 1024, 10240),
        hashed("openssl-O2", 1024, 5120),
        hashed("bearssl-O2", 64, 6400, "aes128"),
    ]
    lacking = NotAvailable(
        target="linux-armv8", implementation="c25519", curve="secp256r1", operation="sign", reason="it has none"
    )
    return test_linux_report.linux_tables(found, full, (lacking,))


def _armv7(full: bool) -> list[Section]:
    clocks = (
        test_armv7_report.clock("sign", 4_614_000, 4615),
        test_armv7_report.clock("loop", 2_000_000, 2001),
    )
    return test_armv7_report.of_rows(test_armv7_report.rows(), full=full, clocks=clocks)


def _options(full: bool) -> list[Section]:
    return test_options_report.options_tables(test_options_report.grid(parts=(Footprint(flash=1234, ram=56),)), full)


def _abuse(full: bool) -> list[Section]:
    return list(abuse_sections(reading(attempts=test_abuse_report.HELLO + test_abuse_report.CALLS), full))


# --- what is no report of a run ---


def _gate(directory: Path) -> str:
    cases = test_compare_gate
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        records = {case: synthetic.make_records(case) for case in (cases.SIGN, cases.HASH, cases.OTHER)}
        same = {cases.HASH: records[cases.HASH]}
        a = cases.run_of(directory, 0, records)
        grown = cases.grown(records[cases.SIGN], dict.fromkeys(range(5), 1))
        b = cases.run_of(directory, 1, {cases.SIGN: grown, **same, cases.OTHER: "a <b> & \x1b[31m \x00"})
        texts = {}
        for limit in ("0%", "5%"):
            found = gate.compare_runs(a, b, cases.limit(limit))
            texts[f"{limit}: terminal"] = _printed(functools.partial(gate_report.render, found))
        found = gate.compare_runs(a, b, cases.limit("0%"))
    texts["terminal, --full"] = _printed(lambda console: gate_report.render(found, console, full=True))
    texts["json"] = _digested(gate_report.to_json(found))
    texts["csv"] = gate_report.to_csv(found)
    texts["markdown"] = gate_report.to_markdown(found)
    texts["junit"] = gate_report.to_junit(found)
    texts["github-action-benchmark"] = gate_report.to_github_action_benchmark(found)
    texts["bencher"] = gate_report.to_bencher(found)
    return _parts(texts)


def _baseline(directory: Path) -> str:
    """A baseline, and what a pull request reads that made a case of it dearer: the comment is the Markdown."""
    cases = test_compare_gate
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        records = {case: synthetic.make_records(case) for case in (cases.SIGN, cases.HASH, cases.OTHER)}
        a = cases.run_of(directory, 0, records)
        grown = cases.grown(records[cases.SIGN], dict.fromkeys(range(5), 700))
        b = cases.run_of(directory, 1, records | {cases.SIGN: grown})
        before = {cases.SIGN.id: {"mul (app)": 9000, "add @me (app)": 400, "end (app)": 5}}
        after = {cases.SIGN.id: {"mul (app)": 9650, "add @me (app)": 450, "end (app)": 5}}
        made = baseline.baseline_of(a, before).model_copy(update={"worldwise": "1.2.3"})
        named = baseline.Named("merge-base", Path("baselines/merge-base.toml"), made)
        found = baseline.compare_baseline(named, b, after, cases.limit("0%"))
    # Each call of make_records draws its own inputs.
    whole = baseline.text_of(made, "--baseline merge-base")
    texts = {"the file": re.sub(r'"[0-9a-f]{64}"', '"64 digits"', whole)}
    texts["terminal"] = _printed(functools.partial(gate_report.render_brief, found))
    texts["the comment"] = gate_report.to_markdown(found)
    texts["json"] = _digested(gate_report.to_json(found))
    return _parts(texts)


_COMPARED = Case("nucleo-f446re", "bearssl", "Os", "sign", 3, 1, (("curve", "secp256r1"), ("size", "32B")))


def _compare(directory: Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        boards.use(patch)
        records = synthetic.make_records(_COMPARED)
        grown = test_compare_gate.grown(records, {2: 7})
        a = test_compare_gate.run_of(directory, 0, {_COMPARED: records})
        b = test_compare_gate.run_of(directory, 1, {_COMPARED: grown}, lab="b" * 64, git="fedcba9876543210")
        difference = first_difference(a, b)
        assert difference
        comparison = compare_runs(a, b)
    lines = ["=== the first difference", difference.describe(), "=== provenance", *comparison.provenance]
    return "\n".join(lines) + "\n"


def _as_printed(sections: Iterable[Section]) -> str:
    return _printed(lambda console: print_sections(sections, console))


def _explain(directory: Path) -> str:
    path = directory / "rules.toml"
    layers = ("client", "Linux", "helpers")
    path.write_text("".join(f'[[layer]]\nname = "{name}"\nimages = ["x"]\n' for name in layers), encoding="ascii")
    rules = load_rules(path)
    tests = test_explain_report
    before = tests.explanation(uncounted=300)
    after = tests.explanation(instructions=1000, stacks={(tests.MAIN,): 600, (tests.MAIN, tests.SVC): 400})
    witness = Witness.model_validate(
        {"type": "witness", "pass": 1, "pc": "0x40", "link": "0x0", "context": 1, "shadow": [], "memory": []}
    )
    sample = Sample.model_validate(
        {
            "type": "sample",
            "measure": "hash",
            "place": "client",
            "index": 2,
            "phase": "sample",
            "begin": 100,
            "end": 2100,
            "count": 1990,
        }
    )
    parts = HashParts(sample, [Part("algorithm", 1000, 990), Part("memory", 700, None)], 16, 3, 2000)
    agreement = Agreement(1000, 900, 80, 13, [(witness, "main (client)")] * 7)
    found = explain_report
    return _parts(
        {
            "terminal": _as_printed(found.sections(before, rules, 10, True)),
            "markdown": markdown_text(found.sections(before, rules, 10, True)),
            "difference": _as_printed(found.difference_sections(before, after, rules, 3)),
            "agreement": _as_printed([found.check_section(12, agreement)]),
            "parts of a hash": _as_printed([parts_section(parts)]),
            "json": found.dump(found.to_json(before, rules)) + "\n",
            "difference, json": _digested(found.dump(found.difference_json(before, after, rules))),
            "slices": exports.chrome_trace(found.slices(before.path.steps), "golden"),
            "speedscope": exports.speedscope(FLAME_STACKS, "golden"),
            "callgrind": exports.callgrind(FLAME_STACKS, "golden"),
            "folded": stacks.folded(FLAME_STACKS),
        }
    )


def _published(_: Path) -> str:
    lines = []
    for source in published.sources():
        found = published.Published(source)
        lines += [f"=== {source}", f"table of {len(found.table)}: {found.reason}"]
        figures = published.load_figures(source)
        lines += [figures[0].model_dump_json(), _digested("\n".join(one.model_dump_json() for one in figures)).strip()]
    return "\n".join(lines) + "\n"


def _plots(_: Path) -> str:
    return "\n".join(_plot_lines()) + "\n"


def _plot_lines() -> Iterator[str]:
    for one in charts.plots(board_reading()):
        yield f"{one.name} ({one.kind}): {one.title}. {one.words}"
        rows = [
            f"{row.case} {row.measure} {row.median} {row.footprint.stack} {row.footprint.flash}" for row in one.rows
        ]
        yield f"  {len(rows)} rows from {rows[0]} to {rows[-1]}"
        for panel in one.spec["concat"]:
            shown = list(_data(panel))
            lacking = [value["group"] for value in shown if value.get("group", "").endswith("not available")]
            digest = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]
            yield f"  {'; '.join([panel['title']['text'] or '-', *lacking])}: {len(shown)} values, SHA-256 {digest}"


def _data(part: Any) -> Iterator[dict[str, Any]]:
    """All data of a chart's part."""
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _data(inner)
    if isinstance(part, dict) and "data" in part:
        yield from part["data"]["values"]


READINGS: Mapping[str, Callable[[Path], Reading]] = {
    "tee": _tee,
    "hashing": _hashing,
    "aes": _aes,
    "boards": _boards,
    "boards-figures": lambda _: board_reading(),
    "hardclock": _hardclock,
    "echo": _echo,
    "crypto": _crypto,
    "attempts": _attempts,
}
_SECTIONS: Mapping[str, Callable[[bool], Iterable[Section]]] = {
    "abuse": _abuse,
    "armv7": _armv7,
    "calls": _calls,
    "keycache": _keycache,
    "keycache-load": _keycache_load,
    "linux": _linux,
    "options": _options,
    "storage": _storage,
}
REPORTS: Mapping[str, Callable[[Path], str]] = {
    **{name: functools.partial(_formats, name, make) for name, make in READINGS.items()},
    **{name: functools.partial(_sections, draw) for name, draw in _SECTIONS.items()},
    "baseline": _baseline,
    "compare": _compare,
    "compare-gate": _gate,
    "explain": _explain,
    "plots": _plots,
    "published": _published,
}
