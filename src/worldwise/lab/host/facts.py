# SPDX-License-Identifier: BSD-2-Clause
"""What a run keeps of the host that it was measured on."""

import os
import platform
from pathlib import Path

from pydantic import JsonValue


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
