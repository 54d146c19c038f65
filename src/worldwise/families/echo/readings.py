# SPDX-License-Identifier: BSD-2-Clause
"""What the counts of the echo include, and the host's times of the server beside them."""

from collections.abc import Iterable
from statistics import median

from worldwise.families.echo.host_times import HOST_FILE, parse_host_times
from worldwise.read.family_fields import Part, Result
from worldwise.read.readings import Readings, Seen
from worldwise.run.folder.manifests import CaseManifest
from worldwise.run.folder.rundir import Run


class HostTime(Result):
    """Times that a client on the host measured of a machine's server, in microseconds of the host's clock.

    They depend on the emulator and on the host's other work: they are no counts, do not repeat, and are never compared.
    `messages` is how many messages of `size` bytes one sample has, `load` the host's load average when it began.
    """

    case: str
    target: str
    variant: str
    parameters: str
    size: int
    measure: str
    messages: int
    n: int
    median: float
    min: float
    max: float
    load: float


class Host(Part):
    """The times that the clients on the host measured."""

    host: tuple[HostTime, ...] = ()


def _host(seen: Seen) -> Host:
    return Host(host=tuple(times for manifest in seen.done for times in _host_times(seen.run, manifest)))


def _host_times(run: Run, manifest: CaseManifest) -> Iterable[HostTime]:
    case = manifest.case()
    if case.operation != "echo-host":
        return
    times = parse_host_times(run.case_file(case.id, HOST_FILE), run.records_path(case.id).with_name(HOST_FILE))
    for measure, series in times.samples.items():
        yield HostTime(
            case=case.id,
            target=case.target,
            variant=case.variant,
            parameters=case.parameter_text,
            size=times.start.size,
            measure=measure,
            messages=times.start.stream_messages if measure == "stream" else 1,
            n=len(series),
            median=median(series) / 1000,
            min=min(series) / 1000,
            max=max(series) / 1000,
            load=times.start.load,
        )


_PLACES = ("client", "linux")

READINGS = Readings(
    of_reading=Host,
    includes={
        **dict.fromkeys(
            (("round-trip", place) for place in _PLACES),
            "all that the processor executes from the client's send until it has the whole message back: client, "
            "server, the kernel's TCP between them, and of a server with a TA both worlds",
        ),
        **dict.fromkeys(
            (("stream", place) for place in _PLACES), "the same for 32 messages, sent without waiting for an answer"
        ),
    },
    whole=_host,
)
