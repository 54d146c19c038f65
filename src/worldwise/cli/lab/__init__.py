# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab`: the pinned Debian root everything is built and emulated in, with all of its commands."""

from worldwise.cli.lab import sources  # noqa: F401 - its commands join the group
from worldwise.cli.lab.container import image_command
from worldwise.cli.lab.root import lab

lab.add_command(image_command)
