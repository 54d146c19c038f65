# SPDX-License-Identifier: BSD-2-Clause
"""The machine of the app `echo`: if the host measures, its client runs beside the machine."""

from worldwise.families.echo.client import EchoClient
from worldwise.families.echo.host_times import HOST_FILE
from worldwise.machine.machine import HostProgram
from worldwise.plan.case import Case
from worldwise.targets.families import Images, always

# The operation that is measured from the host.
_FROM_HOST = "echo-host"


def _beside(case: Case) -> HostProgram | None:
    return EchoClient(case) if case.operation == _FROM_HOST else None


IMAGES = Images(beside=_beside, host_files=(HOST_FILE,), waits_for_timers=always)
