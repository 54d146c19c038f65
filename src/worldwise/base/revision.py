# SPDX-License-Identifier: BSD-2-Clause
"""The revision of the repository that this worldwise is."""

import subprocess

from worldwise.base import paths


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
