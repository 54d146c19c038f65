# SPDX-License-Identifier: BSD-2-Clause
"""What the host may refuse or lack, each as an error with the way out."""

import os
import re
from pathlib import Path

from worldwise.base import paths
from worldwise.base.errors import HostError


def refusal_in(text: str) -> HostError | None:
    """The error for a host that did not let bubblewrap do its work, if the output of what it ran says so."""
    said = re.findall(r"^(?:bwrap|prlimit|setpriv): .*$", text, re.MULTILINE)
    # That a program is not there is no refusal.
    return refused(said[-1]) if said and not re.search("execvp|failed to execute", said[-1]) else None


def refused(message: str) -> HostError:
    """The error for a host that does not let bubblewrap do its work; `message` is bubblewrap's own."""
    switch = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if os.geteuid() != 0 and switch.exists() and switch.read_text(encoding="ascii").strip() == "1":
        profile = paths.LAB / "apparmor-bwrap"
        hint = (
            "this system lets only programs with an AppArmor profile make user namespaces; give bubblewrap "
            f"one: `sudo install -m 644 {profile} /etc/apparmor.d/bwrap && "
            "sudo apparmor_parser -r /etc/apparmor.d/bwrap`, "
            "or run worldwise as root"
        )
    elif os.geteuid() != 0:
        hint = (
            "worldwise needs unprivileged user namespaces: see `sysctl kernel.unprivileged_userns_clone "
            "user.max_user_namespaces`; in a container, allow them or run as root with CAP_SYS_ADMIN"
        )
    else:
        hint = "in a container, root needs CAP_SYS_ADMIN and an unmasked /proc (`--privileged`)"
    return HostError("bubblewrap may not enter the lab on this system", hint, message)


def missing_tool(program: str, package: str) -> HostError:
    """The error for a program that the host lacks, and the package that has it."""
    return HostError(
        f"{program} is not on this machine",
        f"install the package {package}; `worldwise doctor` names all that is missing, and a clone's ./worldwise "
        "installs it",
    )
