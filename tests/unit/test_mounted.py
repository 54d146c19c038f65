# SPDX-License-Identifier: BSD-2-Clause
"""What is removed is the tool's own, also where something of the host is mounted in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worldwise.base import files, paths

_PROGRAM = """
import sys
from pathlib import Path
from worldwise.base import files
try:
    files.remove(Path(sys.argv[1]), "tree")
except OSError as error:
    sys.stdout.write(f"{error.filename}|{error.strerror}")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_nothing_is_removed_below_which_something_is_mounted(tmp_path: Path) -> None:
    """If this fails, removing what a killed mmdebstrap left empties the host's /dev/shm."""
    outside, inside = tmp_path / "outside", tmp_path / "tree" / "a b" / "shm"
    outside.mkdir()
    (outside / "kept").touch()
    inside.mkdir(parents=True)
    mounted = 'mount --bind "$1" "$2" && exec "$3" -P -c "$0" "$4"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mounted, _PROGRAM, outside, inside, sys.executable, tmp_path],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(paths.REPOSITORY / "src")},
        check=False,
    )
    if done.returncode and "ermi" in done.stderr:
        pytest.skip(f"this root may not mount: {done.stderr.strip()}")
    assert done.stdout == f"{inside}|a file system is mounted there; unmount it first", done.stderr
    assert (outside / "kept").exists()
    files.remove(tmp_path, "tree")
    assert not (tmp_path / "tree").exists()
