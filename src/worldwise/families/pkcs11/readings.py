# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of PKCS#11 include, and how many of its calls OpenSSL makes."""

from collections.abc import Iterable
from typing import Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from worldwise.families.pkcs11.evidence import Calls
from worldwise.families.pkcs11.spec import MEASURE, OPENSSL, OPENSSL_MEASURE
from worldwise.read.family_fields import Part, Result, without_empty
from worldwise.read.readings import Readings, Seen
from worldwise.records.parse import parse_records
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run


class TokenCalls(Result):
    """The calls of PKCS#11 and the commands of the TA of one case's step.

    `first_calls` and `first_commands` are those of the first step, the others those of the last sample. `functions` are
    the last one's calls by function; `same` is whether every sample has made these.
    """

    case: str
    first_calls: int
    first_commands: int
    calls: int
    commands: int
    functions: dict[str, int]
    same: bool


class TokenCallsMade(Part):
    """The calls of every case in which OpenSSL has a key; JSON has them if there are any."""

    token_calls: tuple[TokenCalls, ...] = ()

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_empty(handler(self), "token_calls")


def _made(seen: Seen) -> TokenCallsMade:
    return TokenCallsMade(
        token_calls=tuple(made for manifest in seen.done for made in _calls_of(seen.run, manifest)),
    )


def _calls_of(run: Run, manifest: CaseManifest) -> Iterable[TokenCalls]:
    case = manifest.case()
    if case.operation != OPENSSL:
        return
    records = parse_records(run.case_file(case.id), str(run.records_path(case.id)))
    found = sorted((record for record in records if isinstance(record, Calls)), key=lambda record: record.index)
    if not found:
        return
    first, last = found[0], found[-1]
    yield TokenCalls(
        case=case.id,
        first_calls=first.calls,
        first_commands=first.commands,
        calls=last.calls,
        commands=last.commands,
        functions=last.by_function,
        same=all(record.functions == last.functions for record in found[1 + manifest.warmup :]),
    )


READINGS = Readings(
    of_reading=TokenCallsMade,
    whole=_made,
    includes={
        (MEASURE, "ta"): "the commands of the TA that the step takes, each from its entry to its exit, with OP-TEE's "
        "core and tee-supplicant where a command asks them; of a session, of the TA's loading and of the way there "
        "nothing",
        (OPENSSL_MEASURE, "ta"): "the commands of the TA that the step takes, as in a step without OpenSSL",
        (OPENSSL_MEASURE, "client"): "the step as a server has it: OpenSSL, its provider, libckteec, libteec, Linux, "
        "the monitor, OP-TEE's core and the TA",
        (MEASURE, "client"): "the step as an application has it: calls of PKCS#11, libckteec, libteec, Linux, the "
        "monitor, OP-TEE's core and the TA",
    },
)
