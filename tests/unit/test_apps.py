# SPDX-License-Identifier: BSD-2-Clause
"""Apps: what the families declare and what the folders of guest/apps have must agree."""

import re

import pytest

from worldwise.base import paths
from worldwise.base.stages import declared
from worldwise.families.abuse.spec import ABUSE
from worldwise.plan.case import parse_case
from worldwise.plan.catalogue import APPS, SPECS, TARGETS, app_of, operation_of, optimisations_of
from worldwise.targets import optee_images
from worldwise.targets.families import Images

FOLDER = paths.GUEST / "apps"


def test_every_folder_is_an_app() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} - {"common"} == set(APPS)


@pytest.mark.parametrize("name", APPS)
def test_the_uuid_is_that_of_the_makefile(name: str) -> None:
    makefile = FOLDER / name / "ta" / "Makefile"
    if not makefile.exists():
        pytest.skip("its TA is another's")
    found = re.search(r"^BINARY = (\S+)$", makefile.read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    assert found[1] == APPS[name].uuid


def test_no_two_apps_have_a_uuid_or_an_operation_in_common() -> None:
    own = [app.uuid for app in APPS.values() if not app.borrows]
    assert len(set(own)) == len(own)
    done = [operation for spec in SPECS.values() for operation in spec.operations if operation.app]
    assert {operation.app for operation in done} <= set(APPS)
    operations = [operation.name for operation in done]
    assert len(set(operations)) == len(operations)
    known = {operation for there in TARGETS.values() for operation in there}
    assert set(operations) <= known


def test_what_machines_need_is_said_of_apps_of_the_same_family() -> None:
    """If this fails, a family's images.py is never asked, or two families say what one app's machine needs."""
    said = {family: images.app for family, images in declared("images", Images).items()}
    assert said
    assert all(app in SPECS[family].apps for family, app in said.items())


def test_which_app_does_an_operation() -> None:
    assert app_of("hello", {}) == "hello"
    assert app_of("file", {"size": "1B"}) == "storage"
    assert app_of("attestdiv", {}) == ""
    assert app_of(ABUSE, {"ta": "aes"}) == "aes"
    hello, attestdiv = (operation_of("optee", name) for name in ("hello", "attestdiv"))
    assert hello
    assert attestdiv
    assert (hello.app, attestdiv.app) == ("hello", "")


def test_images_of_apps_do_not_depend_on_each_other() -> None:
    hello, calls = (optee_images.app_programs(name, "mbedtls-nist", "O2") for name in ("hello", "calls"))
    assert any("hello" in name for name in hello.trees)
    assert not any("calls" in name for name in hello.trees)
    assert not any("hello" in name for name in calls.trees)


@pytest.mark.parametrize("level", optimisations_of("optee"))
def test_a_feature_is_another_op_tee(level: str) -> None:
    plain = optee_images.optee("mbedtls-nist", level)
    rpmb = optee_images.optee("mbedtls-nist", level, "rpmb")
    assert plain.name == f"optee-mbedtls-nist-{level}"
    assert rpmb.name == f"optee-mbedtls-nist-{level}-rpmb"
    assert "CFG_RPMB_FS=y" in rpmb.settings["CRYPTO_LIBRARY"]
    assert "CFG_RPMB_FS" not in plain.settings["CRYPTO_LIBRARY"]


def test_an_app_needs_its_parameters() -> None:
    case = parse_case("optee/mbedtls-nist-O2/hello", samples=2)
    assert case.measures == {"increment": ("ta", "client")}
