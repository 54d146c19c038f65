# SPDX-License-Identifier: BSD-2-Clause
"""What a machine that begins from its saved state sees of the files that it was booted with."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from worldwise.lab.sandbox.limits import EMULATOR
from worldwise.machine.machine import Machine
from worldwise.machine.qemu import Qemu, Session
from worldwise.machine.snapshot import RESTORED


def test_what_it_was_booted_with_is_not_read_again(tmp_path: Path) -> None:
    """If this fails, QEMU reads and copies a kernel of 30 MB for each case; or boots something of four bytes."""
    files = {name: tmp_path / name for name in ("Image", "board.dtb", "program")}
    for path in files.values():
        path.write_bytes(path.name.encode())
    (tmp_path / "run").mkdir()
    machine = Machine("m", files, {}, (), {}, 0, {}, (), boot_files=("Image",))
    lab = cast(Any, SimpleNamespace(command=lambda _, **way: way["binds"]))
    qemu = Qemu(lab, EMULATOR, 1, 1)
    session = Session(machine, tmp_path / "case", tmp_path / "run")

    def seen(*extra: str) -> dict[str, bytes]:
        binds: list[Any] = qemu.command(session, None, extra)
        return {inside: Path(host).read_bytes() for host, inside, _ in binds if inside.startswith("/machine/")}

    there = {f"/machine/{name}": name.encode() for name in files}
    assert seen() == there
    assert seen(*RESTORED) == there | {"/machine/Image": bytes(4)}
    # Beside the folder that the machine writes to: it cannot change it.
    assert not list((tmp_path / "run").iterdir())
