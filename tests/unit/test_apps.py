# SPDX-License-Identifier: BSD-2-Clause
"""Apps: what the families declare and what the folders of guest/apps have must agree."""

import re
from pathlib import Path
from uuid import UUID

import pytest

from worldwise.base import paths
from worldwise.base.family_stages import declared
from worldwise.families.abuse.spec import ABUSE
from worldwise.plan.case import Case, parse_case
from worldwise.plan.catalogue import (
    APPS,
    SPECS,
    TARGETS,
    app_of,
    family_of_app,
    kind_of,
    operation_of,
    optimisations_of,
    parameters_of_program,
)
from worldwise.plan.spec import LINUX, OPTEE, TEE_TARGETS
from worldwise.plan.suite import load_suite
from worldwise.targets import optee_images
from worldwise.targets.families import Images

FOLDER = paths.GUEST / "apps"


def test_every_folder_is_an_app() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} - {"common"} == set(APPS)


_HEADER_UUID = re.compile(r"^#define [A-Z0-9]*_TA_UUID \{(.*)\}$", re.MULTILINE)


def _uuid_of(folder: Path) -> str:
    """The UUID of a TA: its Makefile's, or its app's header's where the Makefile is the common one."""
    makefile = folder / "ta" / "Makefile"
    if makefile.exists():
        found = re.search(r"^BINARY = (\S+)$", makefile.read_text(encoding="utf-8"), re.MULTILINE)
        assert found
        return found[1]
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h")))
    found = next(filter(None, map(_HEADER_UUID.search, texts)))
    numbers = [int(one, 0) for one in found[1].replace("{", "").replace("}", "").split(",")]
    digits = "".join(f"{one:0{size}x}" for one, size in zip(numbers, (8, 4, 4, *[2] * 8), strict=True))
    return str(UUID(digits))


@pytest.mark.parametrize("name", APPS)
def test_the_uuid_is_that_of_the_ta(name: str) -> None:
    """If this fails, a client asks for a TA that is not there."""
    # The key cache stands outside guest/, so that others can use it alone.
    room = paths.KEYCACHE if name == "keycache" else FOLDER / (APPS[name].ta_of or name)
    assert _uuid_of(room) == APPS[name].uuid


def test_no_two_apps_have_a_uuid_or_an_operation_in_common() -> None:
    own = [app.uuid for app in APPS.values() if not app.ta_of]
    assert len(set(own)) == len(own)
    done = [operation for spec in SPECS.values() for operation in spec.operations if operation.app]
    assert {operation.app for operation in done} <= set(APPS)
    operations = [operation.name for operation in done]
    assert len(set(operations)) == len(operations)
    known = {operation for there in TARGETS.values() for operation in there}
    assert set(operations) <= known


def test_what_machines_need_is_said_by_the_family_of_their_app() -> None:
    """If this fails, a family's images.py is never asked, or two families have one app."""
    assert all(SPECS[family].apps for family in declared("images", Images))
    assert [family_of_app(app) for spec in SPECS.values() for app in spec.apps] == [
        family for family, spec in SPECS.items() for _ in spec.apps
    ]
    for family, spec in SPECS.items():
        for operation in spec.operations:
            own = {operation.app, operation.own.name if operation.own else ""} - {""}
            assert operation.app_parameter or {family_of_app(app) for app in own} <= {family}


def test_which_app_does_an_operation() -> None:
    assert app_of("hello", {}) == "hello"
    assert app_of("file", {"size": "1B"}) == "storage"
    assert app_of("attestdiv", {}) == "attestation"
    assert app_of("secp256r1", {}) == ""
    assert app_of(ABUSE, {"ta": "aes"}) == "aes"
    hello, attestdiv = (operation_of("optee", name) for name in ("hello", "attestdiv"))
    assert hello
    assert attestdiv
    assert (hello.app, attestdiv.app) == ("hello", "attestation")


@pytest.mark.parametrize("name", [path.stem for path in paths.SUITES.glob("*.toml")])
def test_a_program_knows_the_parameters_of_its_cases(name: str) -> None:
    """If this fails, a measured program ends with its usage: it refuses what it was not compiled to know."""
    for case in load_suite(name).cases:
        kinds = (OPTEE, LINUX) if case.target in TEE_TARGETS else (kind_of(case.target),)
        app = app_of(case.operation, dict(case.parameters)) if case.target in TEE_TARGETS else _plain_app(case)
        known = parameters_of_program(kinds, app)
        assert {word.partition("=")[0] for word in case.arguments} <= set(known)


def _plain_app(case: Case) -> str:
    operation = operation_of(case.target, case.operation)
    assert operation
    return operation.app


def test_a_program_knows_no_parameter_of_another() -> None:
    assert parameters_of_program((OPTEE, LINUX), "hello") == ("load", "ta", "calls")
    assert parameters_of_program((OPTEE, LINUX), "keycache") != parameters_of_program((OPTEE, LINUX), "storage")
    assert "ticks" not in parameters_of_program((OPTEE, LINUX), "attestation")
    assert "options" not in parameters_of_program(("linux-armv8",))


def test_images_of_apps_do_not_depend_on_each_other() -> None:
    hello, calls = (optee_images.app_programs(name, "mbedtls-nist", "O2") for name in ("hello", "calls"))
    assert any("hello" in name for name in hello.trees)
    assert not any("calls" in name for name in hello.trees)
    assert not any("hello" in name for name in calls.trees)


@pytest.mark.parametrize("level", optimisations_of("optee"))
def test_a_feature_is_another_op_tee(level: str) -> None:
    plain = optee_images.optee("mbedtls-nist", level)
    rpmb = optee_images.optee("mbedtls-nist", level, "rpmb")
    objects, of_rpmb = (optee_images.optee_objects("mbedtls-nist", level, feature) for feature in ("", "rpmb"))
    assert plain.name == f"optee-mbedtls-nist-{level}"
    assert rpmb.name == f"optee-mbedtls-nist-{level}-rpmb"
    assert "CFG_RPMB_FS=y" in of_rpmb.settings["CRYPTO_LIBRARY"]
    assert "CFG_RPMB_FS" not in objects.settings["CRYPTO_LIBRARY"]


def test_an_app_needs_its_parameters() -> None:
    case = parse_case("optee/mbedtls-nist-O2/hello", samples=2)
    assert case.measures == {"increment": ("ta", "client")}
