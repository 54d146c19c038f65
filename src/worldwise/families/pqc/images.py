# SPDX-License-Identifier: BSD-2-Clause
"""The programs of one post-quantum scheme: for a board, for plain Linux, and for a TEE."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldwise.base.units import Unit
from worldwise.families.pqc.libraries import Library, libraries
from worldwise.families.pqc.schemes import SCHEMES, SIGNATURES
from worldwise.families.pqc.spec import ABUSED_SCHEME, CALLS, OWN, kept, too_large
from worldwise.lab.image import Recipe
from worldwise.libraries.boards import Board, load_core
from worldwise.libraries.cores import PLAIN_TARGETS, TEE_CORE
from worldwise.libraries.crates import Crates
from worldwise.plan.case import Case
from worldwise.plan.catalogue import parameters_of_program
from worldwise.plan.parameters import MAX_BOARD_SIZE
from worldwise.targets.architecture import Architecture
from worldwise.targets.board import frame_objects, frame_parts, image_name, on_board
from worldwise.targets.families import Images
from worldwise.targets.guest import guest_trees, interface_trees, unpacked
from worldwise.targets.optee_images import app_programs
from worldwise.targets.portable_images import HASH, build_plan, with_included
from worldwise.targets.trustzone import secure_parts


def _scheme(case: Case) -> str:
    return dict(case.parameters)["scheme"]


def _source(library: Library, crates: Crates) -> Path:
    source = library.manifest.source
    return crates.folder(source.crate or "", source.version or "", source.sha256 or "")


def _trees(library: Library, source: Path) -> dict[str, Path]:
    own = [path.name for path in library.adapter.parent.iterdir() if path.suffix == ".h"]
    used = with_included(library.adapter)
    return {
        **guest_trees("bench", "operations", "pqc-operations"),
        **interface_trees(),
        **guest_trees(*sorted(used | set(own)), room="pqc-adapters"),
        "source": source,
    }


def _plan(library: Library, scheme: str, core: str, optimisation: str) -> dict[str, Any]:
    """What the recipes compile of a library for one scheme."""
    return {
        "name": library.name,
        "program": scheme,
        "scheme": SCHEMES[scheme].number,
        # 0: none, see guest/adapters/ops.h.
        "number": 0,
        "optimisation": optimisation,
        "warnings": False,
        "own": False,
        "source": "folder",
        "debian": "",
        "operations": {name: call for name, call in CALLS.items() if _has(name, scheme)},
        **build_plan(library.manifest.build, scheme, core),
    }


def _has(name: str, scheme: str) -> bool:
    return name.startswith("dsa-") == (scheme in SIGNATURES)


def _heap(library: Library, scheme: str, target: str, board: Board) -> int | None:
    """The heap of a board's program: what the deepest of its operations that fit leaves. None if that is unknown."""
    fitting = [
        library.peak(scheme, operation)
        for operation in SCHEMES[scheme].operations
        if not too_large(library, scheme, operation, target)
    ]
    return board.ram - kept(scheme) - max(peak.stack for peak in fitting if peak) if all(fitting) and fitting else None


def _board_programs(case: Case, board: Board, unit: Unit, serial: bool, crates: Crates) -> Recipe:
    library, scheme = libraries()[case.implementation], _scheme(case)
    core = load_core(board.core)
    parts = on_board(case.target, board, core, unit, serial, _heap(library, scheme, case.target, board))
    plan = {**_plan(library, scheme, board.core, case.optimisation), **parts}
    recipe = Recipe(
        name=image_name(unit, serial, case.target, case.implementation, case.optimisation, scheme),
        script="pqc-mcu.sh",
        helpers=("pqc-mcu.py", "mcu.py", "frame.py", "library.py", "objects.py", "unpacked.sh"),
        outputs=("footprint.json",),
        needs={"frame": frame_objects(case.target, board, core, unit, serial)},
        trees={**frame_parts(parts["script"], serial=serial), **_trees(library, _source(library, crates))},
        settings={"PLAN": json.dumps(plan)},
    )
    return _behind_gateway(recipe, plan, board) if board.secure else recipe


def _behind_gateway(recipe: Recipe, plan: dict[str, Any], board: Board) -> Recipe:
    """The same in two programs, the library in the secure one."""
    secure = board.secure
    assert secure
    # Its memory is divided by what is left there, since the heap was reckoned for the other program's.
    parts = {**plan, "secure": secure.model_dump(), "heap": None}
    return replace(
        recipe,
        script="pqc-tzm.sh",
        helpers=(*recipe.helpers, "pqc-tzm.py", "tzm.py"),
        trees={**recipe.trees, **secure_parts(secure)},
        settings={**recipe.settings, "PLAN": json.dumps(parts)},
    )


def _plain_programs(case: Case, architecture: Architecture) -> Recipe:
    library = libraries()[case.implementation]
    scheme = _scheme(case)
    plan = {
        **_plan(library, scheme, PLAIN_TARGETS[case.target], case.optimisation),
        "curve": scheme,
        "archives": [],
        "frame_sha256": True,
        "hedged": False,
        # Macros of the portable operations; a scheme has others.
        "operations": [],
        "message_bytes": MAX_BOARD_SIZE,
        "prefix": architecture.prefix,
        "triplet": architecture.triplet,
        "architecture_flags": list(architecture.flags),
        "instructions": architecture.instructions,
        "counter": list(architecture.counter),
    }
    return Recipe(
        name="-".join((f"programs-{case.target}", case.implementation, case.optimisation, scheme)),
        script="pqc-plain.sh",
        helpers=(
            "plain.sh",
            "unpacked.sh",
            "guest.sh",
            "pqc-plain.py",
            "plain-programs.py",
            "library.py",
            "objects.py",
        ),
        outputs=("linux-bench", "footprint.json"),
        needs=unpacked(HASH),
        trees={**_trees(library, _source(library, Crates())), **guest_trees("linux", "mbedtls-clock")},
        settings={
            "PARAMETERS": " ".join(parameters_of_program((case.target,))),
            "PLAN": json.dumps(plan),
        },
        architecture=architecture.debian,
    )


def _tee_programs(case: Case, feature: str) -> Recipe:
    # Wrong calls name no library and no scheme: the TA of one pair gets them.
    library = libraries().get(case.implementation) or next(iter(libraries().values()))
    scheme = dict(case.parameters).get("scheme", ABUSED_SCHEME)
    theirs = app_programs(OWN.name, case.implementation, case.optimisation, feature)
    plan = {
        **_plan(library, scheme, TEE_CORE, case.optimisation),
        # Nothing is measured by another name than the library's.
        "operations": SCHEMES[scheme].operations,
        "frame_sha256": False,
    }
    return replace(
        theirs,
        name=f"{theirs.name}-{scheme}",
        helpers=(*theirs.helpers, "pqc-tee.py", "tee_library.py", "library.py", "objects.py"),
        trees={**theirs.trees, **_trees(library, _source(library, Crates()))},
        settings={**theirs.settings, "SCHEME": str(SCHEMES[scheme].number), "PLAN": json.dumps(plan)},
    )


IMAGES = Images(
    programs=_tee_programs,
    plain_programs=_plain_programs,
    board_programs=_board_programs,
    board_program=_scheme,
    sizes_ta=True,
)
