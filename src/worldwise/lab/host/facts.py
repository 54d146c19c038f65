# SPDX-License-Identifier: BSD-2-Clause
"""What a run keeps of the host that it was measured on, and of the worldwise that measured it."""

import os
import platform
import subprocess
from pathlib import Path

from pydantic import JsonValue

from worldwise.base import paths


def host_facts() -> dict[str, JsonValue]:
    """Describes the host. Nothing in it may change a count; all of it may change how long measuring takes."""
    model = ""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
        system = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        system = ""
    return {
        "system": system,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": model,
        "processors": os.cpu_count() or 0,
        "python": platform.python_version(),
    }


def revision() -> str:
    """The revision of a checkout, or of the one that the wheel was built in; `+` behind it if files differ from it.

    Empty if it is not known: a checkout without git.
    """
    if paths.INSTALLED:
        # git would speak of a repository that the user's environment happens to lie in.
        return paths.REVISION.read_text(encoding="utf-8").strip()
    command = ["git", "-C", str(paths.REPOSITORY), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()
