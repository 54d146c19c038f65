# SPDX-License-Identifier: BSD-2-Clause
"""The Debian packages of the key cache: what is in them, and that they come out the same twice."""

import subprocess
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from machines import fresh_cache
from worldwise.base import paths
from worldwise.base.files import file_sha256
from worldwise.families.keycache import build as keycache
from worldwise.lab.image import ImageStore

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

NAMES = ("keycache", "keycached", "libkeycache-dev", "libkeycache0")
TA_PATH = f"./usr/lib/optee_armtz/{keycache.TA_UUID}.ta"


@pytest.fixture(scope="module")
def ta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that begins as a signed TA of the key cache does."""
    path = tmp_path_factory.mktemp("ta") / "some.ta"
    path.write_bytes(b"HSTO" + bytes(300) + uuid.UUID(keycache.TA_UUID).bytes + bytes(1000))
    return path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, ta: Path) -> Path:
    """A folder with the packages, the server's with a TA."""
    output = tmp_path_factory.mktemp("packages") / "new"
    files = keycache.packages(output, ta)
    assert sorted(files) == sorted(output.iterdir())
    return output


def package(folder: Path, name: str) -> Path:
    (path,) = folder.glob(f"{name}_*_arm64.deb")
    return path


def dpkg_deb(*words: str | Path) -> str:
    return subprocess.run(["dpkg-deb", *words], check=True, capture_output=True, text=True).stdout


def contents(folder: Path, name: str) -> set[str]:
    lines = dpkg_deb("--contents", package(folder, name)).splitlines()
    assert all(line.split()[1] == "root/root" for line in lines)
    return {line.split()[5] for line in lines if not line.endswith("/")}


def test_what_is_in_them(built: Path) -> None:
    server = contents(built, "keycached")
    assert {
        "./usr/sbin/keycached",
        "./usr/lib/systemd/system/keycached.service",
        "./usr/lib/sysusers.d/keycached.conf",
        "./usr/lib/udev/rules.d/60-keycached.rules",
        "./usr/share/man/man8/keycached.8.gz",
        "./usr/share/doc/keycached/README.md.gz",
        TA_PATH,
    } <= server
    assert "./usr/bin/keycache" in contents(built, "keycache")
    assert "./usr/lib/aarch64-linux-gnu/libkeycache.so.0" in contents(built, "libkeycache0")
    assert {"./usr/include/keycache.h", "./usr/lib/aarch64-linux-gnu/libkeycache.a"} <= contents(
        built, "libkeycache-dev"
    )


def test_what_they_say_of_themselves(built: Path) -> None:
    for name in NAMES:
        path = package(built, name)
        assert dpkg_deb("--field", path, "Package").strip() == name
        assert dpkg_deb("--field", path, "Architecture").strip() == "arm64"
    needs = dpkg_deb("--field", package(built, "keycached"), "Depends")
    assert all(
        f"{library} " in needs for library in ("libc6", "libhiredis1.1.0", "libssl3t64", "libteec2", "libuv1t64")
    )
    assert "libteec2" not in dpkg_deb("--field", package(built, "keycache"), "Depends")


def test_the_ta_is_the_one_given(built: Path, ta: Path, tmp_path: Path) -> None:
    dpkg_deb("--extract", package(built, "keycached"), tmp_path)
    assert (tmp_path / TA_PATH).read_bytes() == ta.read_bytes()
    assert (tmp_path / TA_PATH).stat().st_mode & 0o777 == 0o644


def test_built_again_they_are_the_same_to_the_byte(built: Path, ta: Path) -> None:
    """Built from nothing, in a cache that is kept, so that only what has other inputs is built a second time."""
    root = keycache.root()
    again = ImageStore(replace(root, cache=fresh_cache(root.cache / "again")))
    folder = again.get(keycache.packages_recipe(ta)).file("packages")
    digests = [{path.name: file_sha256(path) for path in place.iterdir()} for place in (built, folder)]
    assert digests[0] == digests[1]


def test_the_packages_own_tests_pass(tmp_path: Path) -> None:
    """What autopkgtest runs where they are installed, on the same files for the root's own architecture."""
    tmp_path.chmod(0o777)  # what runs in the root is another user
    script = """
    make --directory=/keycache O=/build/objects DESTDIR=/build/installed LIBDIR=/usr/lib install-client
    export PATH=/build/installed/usr/bin:$PATH LD_LIBRARY_PATH=/build/installed/usr/lib
    export CPATH=/build/installed/usr/include LIBRARY_PATH=/build/installed/usr/lib
    for name in tool library; do
        mkdir "/build/$name"
        AUTOPKGTEST_TMP=/build/$name sh /keycache/debian/tests/$name
    done
    """
    keycache.root().run(
        ["bash", "-ec", script],
        binds=[(paths.KEYCACHE, "/keycache", "ro"), (tmp_path, "/build", "rw")],
        timeout=300,
    )


def test_the_unit_keeps_what_the_server_needs(built: Path, tmp_path: Path) -> None:
    """A hardening that takes the TEE's device, its folder or its sockets away shows on a device alone."""
    dpkg_deb("--extract", package(built, "keycached"), tmp_path)
    lines = (tmp_path / "usr/lib/systemd/system/keycached.service").read_text(encoding="utf-8").splitlines()
    assert {
        "Type=notify-reload",
        "DeviceAllow=/dev/tee0 rw",
        "StateDirectory=keycached",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
        "RestrictNamespaces=yes",
        "ProtectClock=yes",
        "SystemCallFilter=~@privileged",
        "MemorySwapMax=0",
        "LimitMEMLOCK=infinity",
    } <= set(lines)
    # With a namespace of its own for users the group of the device would be nobody's.
    assert not [line for line in lines if line.startswith(("PrivateUsers=", "PrivateDevices="))]


@pytest.fixture(scope="module")
def with_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages and the broker's plugin, and without a TA."""
    output = tmp_path_factory.mktemp("packages") / "plugin"
    keycache.packages(output, plugin=True)
    return output


def test_without_a_ta_none_is_in_them(with_plugin: Path) -> None:
    assert not [name for name in contents(with_plugin, "keycached") if name.endswith(".ta")]


def test_the_plugin_of_the_broker(with_plugin: Path) -> None:
    name = "mosquitto-plugin-keycache"
    assert contents(with_plugin, name) >= {
        "./usr/lib/aarch64-linux-gnu/mosquitto/mosquitto_keycache.so",
        f"./usr/share/doc/{name}/README.md.gz",
    }
    needs = dpkg_deb("--field", package(with_plugin, name), "Depends")
    assert all(f"{one} " in needs for one in ("libc6", "libhiredis1.1.0", "libssl3t64", "mosquitto"))
    assert {path.name.partition("_")[0] for path in with_plugin.iterdir()} >= {*NAMES, name}
    # The others are looked at as they are without the plugin.
    _lintian(with_plugin, f"{name}_*")


def test_lintian_has_nothing_to_say(built: Path) -> None:
    _lintian(built)


def _lintian(folder: Path, pattern: str = "*") -> None:
    # The maintainer has no address.
    hidden = "bogus-mail-host,bogus-mail-host-in-debian-changelog"
    keycache.root().run(
        [
            "lintian",
            "--allow-root",
            "--fail-on=error,warning,info",
            "--display-info",
            f"--suppress-tags={hidden}",
            *(f"/packages/{path.name}" for path in sorted(folder.glob(pattern))),
        ],
        binds=[(folder, "/packages", "ro")],
        timeout=600,
    )
