# SPDX-License-Identifier: BSD-2-Clause
"""Where things are: the repository's rooms and the user's cache."""

import os
from pathlib import Path

import platformdirs

REPOSITORY = Path(__file__).resolve().parents[2]
BOARDS = REPOSITORY / "boards"
CORES = REPOSITORY / "cores"
GUEST = REPOSITORY / "guest"
KEYCACHE = REPOSITORY / "keycache"
LAB = REPOSITORY / "lab"
PATCHES = REPOSITORY / "patches"
PLUGIN = REPOSITORY / "plugin"
PORTABLE = GUEST / "ops" / "portable"
PUBLISHED = REPOSITORY / "published"
SUITES = REPOSITORY / "suites"


def cache_directory() -> Path:
    """The cache: WORLDWISE_CACHE, else `worldwise` in the user's cache directory. Created if missing."""
    chosen = os.environ.get("WORLDWISE_CACHE")
    path = Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("worldwise"))
    path.mkdir(parents=True, exist_ok=True)
    return path.resolve()
