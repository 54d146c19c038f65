# SPDX-License-Identifier: BSD-2-Clause
"""Has vl-convert installed when a command first draws.

It is most of the Python environment, and no run needs it. The launcher makes the environment without it (lab/host.sh);
whoever installs the wheel has it from the beginning.
"""

import functools
import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from worldwise.base import paths
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text

_MODULE = "vl_convert"
# What the launcher leaves in an environment that it made.
_MARKER = "complete"
_SAID = "worldwise: installing what draws figures and pages (vl-convert: 110 MB unpacked, once)"


def is_missing() -> bool:
    """Whether what draws figures is not installed."""
    return find_spec(_MODULE) is None


@functools.cache
def require() -> None:
    """Install what draws into the launcher's environment, unless it is there. Raises WorldwiseError."""
    if not is_missing():
        return
    environment = Path(sys.prefix)
    requirements = paths.REQUIREMENTS / "run.txt"
    by_hand = f"install it: {sys.executable} -I -m pip install --require-hashes -r {requirements}"
    if not (environment / _MARKER).exists():
        raise WorldwiseError(f"figures need the Python package {_MODULE}, which is not there", by_hand)
    with FileLock(environment / "drawing.lock"):
        # Another command may have installed them meanwhile.
        importlib.invalidate_caches()
        if is_missing():
            safe_text.echo(_SAID, err=True)
            _install(requirements, by_hand)
    importlib.invalidate_caches()


def _install(requirements: Path, by_hand: str) -> None:
    if find_spec("pip") is None:
        subprocess.run([sys.executable, "-I", "-m", "ensurepip"], capture_output=True, cwd="/", check=False)
    # As lab/host.sh does: by digest, and compiled when imported.
    pip = [sys.executable, "-I", "-m", "pip", "install", "--no-compile", "--quiet", "--disable-pip-version-check"]
    options = ["--no-input", "--only-binary", ":all:", "--require-hashes", "-r", str(requirements)]
    done = subprocess.run([*pip, *options], stdin=subprocess.DEVNULL, stdout=sys.stderr, cwd="/", check=False)
    if done.returncode:
        raise WorldwiseError("what draws could not be installed (pip's words are above); start again, or", by_hand)
