# SPDX-License-Identifier: BSD-2-Clause
"""`run --on local:2`, with dask's processes and QEMU: the run of one machine, byte for byte, with a worker killed."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from machines import Tool
from worldwise.lab.lab import Lab

CHOICE = ("run", "mcu", "--target", "nucleo-f446re", "--variant", "micro-ecc-O2", "--curve", "P-256")


def cases(run: Path) -> dict[str, Any]:
    """The files of all cases; of case.json all that is not a time."""
    found: dict[str, Any] = {}
    for path in run.rglob("cases/**/*"):
        if path.name == "case.json":
            found[str(path.relative_to(run))] = json.loads(path.read_text()) | {"wall_seconds": 0}
        elif path.is_file():
            found[str(path.relative_to(run))] = path.read_bytes()
    return found


def workers_of(process: int) -> list[int]:
    """The processes of dask's workers that a process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(parent) == process and b"spawn_main" in words:
            found.append(int(entry.name))
    return found


def test_a_run_by_workers_is_the_run_of_one_machine(tmp_path: Path, lab: Lab) -> None:
    """A worker is killed while it has a case. If this fails, `--on` loses cases on a cluster."""
    tool = Tool(tmp_path, lab.cache)
    choice = (*CHOICE, "--operation", "keygen", "--operation", "ecdh", "--samples", "9", "--fresh")
    shared = tmp_path / "shared"
    started = tool.start(*choice, "--on", "local:2", "--cross-check", "1", "--cache", str(shared))
    end = time.monotonic() + 200
    # The first result is there: a case is measured once more by one worker, and the other has the next.
    while not list(shared.glob("results/*/result.json")) and time.monotonic() < end and started.poll() is None:
        time.sleep(0.02)
    os.kill(min(workers_of(started.pid)), signal.SIGKILL)
    _, errors = started.communicate(timeout=280)
    assert started.returncode == 0, errors
    assert "2 workers at local:2" in errors
    assert "identical" in errors
    assert len(list((shared / "results").iterdir())) == 2
    alone = tool.run(*choice)
    assert alone.returncode == 0, alone.stderr
    one, other = sorted((tmp_path / "runs").iterdir())
    assert len(cases(one)) > 6
    assert cases(one) == cases(other)
