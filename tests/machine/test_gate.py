# SPDX-License-Identifier: BSD-2-Clause
"""The gate on real runs: one instruction more is caught, the same source built elsewhere and on another day is not."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from machines import Tool, fresh_cache, note
from nothing import example_library
from suite_texts import suite_text
from worldwise.base import paths
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import Lab
from worldwise.libraries.own_library import own_libraries
from worldwise.plan.case import Case
from worldwise.targets.all_targets import EMULATED

BOARD = "nucleo-f446re"
VARIANT = "my-micro-ecc-O2"
SUITE = suite_text("gate", "TARGET / sign verify / micro-ecc / O2 / curves secp256r1 / sizes 32B", samples=5, warmup=1)
# In the adapter: what ops_sign does first.
BEFORE = "\t(void)public_key;\n"
# Whatever else the compiler may put into a program of where and when it ran.
TRACES = """
__attribute__((used)) static const char traces[] = __DATE__ __TIME__ __TIMESTAMP__ __FILE__ __BASE_FILE__;
"""
# A clock that is seven years ahead, for all that the build starts.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>
#define LATER (7L * 365 * 86400 + 12345)
int clock_gettime(clockid_t id, struct timespec *now)
{
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int status = real(id, now);
	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
		now->tv_sec += LATER;
	return status;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &precise);
	now->tv_sec = precise.tv_sec;
	now->tv_usec = precise.tv_nsec / 1000;
	return 0;
}
time_t time(time_t *now)
{
	struct timespec precise;
	clock_gettime(CLOCK_REALTIME, &precise);
	if (now)
		*now = precise.tv_sec;
	return precise.tv_sec;
}
"""


@pytest.fixture
def tool(tmp_path: Path, lab: Lab) -> Tool:
    """The command line; what it runs on a board needs no OP-TEE."""
    del lab
    return Tool(tmp_path)


def library(folder: Path, nops: int = 1, after: str = "") -> Path:
    """The second example of docs/use/own.md, complete, with some `nop` in ops_sign, and `after` at the adapter's end.

    There is always one: around the first the compiler may find another order for the rest, which can save the very
    instruction that was added. A second one changes nothing else.
    """
    example_library(folder)
    path = folder / "adapter.c"
    text = path.read_text()
    assert text.count(BEFORE) == 1
    statement = f'__asm__ volatile("{"; ".join(["nop"] * nops)}");'
    path.write_text(text.replace(BEFORE, f"{BEFORE}\t{statement}\n") + after)
    return folder


def measure(tool: Tool, folder: Path, cache: Path | None = None, target: str = BOARD) -> Path:
    """Signs on the target, and gives the run's directory."""
    suite = tool.directory / "suite.toml"
    suite.write_text(SUITE.replace("TARGET", target))
    result = tool.run(
        *("run", str(suite), "--implementation", str(folder), "--variant", VARIANT),
        WORLDWISE_CACHE=str(cache or paths.cache_directory()),
    )
    assert result.returncode == 0, result.stderr
    return sorted((tool.directory / "runs").iterdir())[-1]


def images_of(cache: Path) -> dict[str, dict[str, str]]:
    """Image with its address -> file -> SHA-256, of all images of a cache."""
    return {path.parent.name: json.loads(path.read_text())["files"] for path in (cache / "images").glob("*/image.json")}


def files_with_traces(directory: Path, texts: set[str]) -> list[str]:
    """Files below a directory with one of some texts in them, in ASCII."""
    found = []
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name != "image.json":
            content = path.read_bytes()
            found += [f"{path.name}: {text}" for text in sorted(texts) if text.encode() in content]
    return found


def dates(now: datetime) -> set[str]:
    """A day as programs write it."""
    return {now.strftime(form) for form in ("%b %d %Y", "%b %e %Y", "%Y-%m-%d", "%Y%m%d", "%d/%m/%Y", "%m/%d/%y")}


@pytest.mark.parametrize("target", [BOARD, "linux-armv8"])
def test_one_added_instruction_is_caught(tool: Tool, target: str) -> None:
    """In every call of the operation that has it, and in no other's."""
    before = measure(tool, library(tool.directory / "before"), target=target)
    after = measure(tool, library(tool.directory / "after", nops=2), target=target)
    words = ("compare", before.name, after.name)
    result = tool.run(*words, "--fail-above", "0%", "--format", "json", "--write", "junit=gate.xml")
    assert result.returncode == 3, result.stderr
    comparison: dict[str, Any] = json.loads(result.stdout)
    rows = {row["measure"]: row for row in comparison["rows"] if "size=32B" in row["parameters"]}
    sign, verify = rows["sign"], rows["verify"]
    assert sign["same_inputs"]
    assert (sign["difference"], sign["verdict"], sign["exceeds"]) == (1.0, "slower", True)
    assert sign["calls_differ"] == 1 + sign["a"]["warmup"] + sign["a"]["n"]
    assert sign["worst"]["b"] - sign["worst"]["a"] == 1
    assert (verify["difference"], verify["verdict"], verify["exceeds"]) == (0.0, "same", False)
    assert any("1 of its files differ: adapter.c" in text for text in comparison["notes"])
    assert "<failure" in (tool.directory / "gate.xml").read_text()

    # One in millions is within 0.1 %, and the other way round it is faster.
    assert tool.run(*words, "--fail-above", "0.1%").returncode == 0
    result = tool.run("compare", after.name, before.name, "--fail-above", "0%")
    assert result.returncode == 0, result.stdout
    assert "faster" in result.stdout


def test_the_same_source_elsewhere_is_not(tool: Tool, tmp_path: Path) -> None:
    """Another folder with other times of its files, another cache, another run of every compiler."""
    here = library(tool.directory / "here", after=TRACES)
    before = measure(tool, here, fresh_cache(tmp_path / "cache"))
    there = tmp_path / "quite" / "another place" / "copy"
    shutil.copytree(here, there)
    for path in there.iterdir():
        os.utime(path, (1, 1))
    elsewhere = fresh_cache(tmp_path / "elsewhere" / "worldwise")
    after = measure(tool, there, elsewhere)
    result = tool.run("compare", before.name, after.name, "--fail-above", "0%")
    assert result.returncode == 0, result.stderr
    assert "Gate: passed" in result.stdout
    assert "2 of 2 cases have the same records, to the byte." in result.stdout

    built = images_of(elsewhere)
    names = [f"frame-{BOARD}", f"{BOARD}-{VARIANT}", "unpacked-bearssl"]
    assert sorted(name.rpartition("-")[0] for name in built) == names
    assert images_of(tmp_path / "cache") == built
    texts = {str(tmp_path), str(paths.REPOSITORY), str(paths.cache_directory()), str(Path.home()), *dates(_today())}
    assert files_with_traces(elsewhere / "images", texts) == []


@pytest.fixture
def later(tmp_path: Path, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """The lab with another cache, and with a clock years ahead for all that it runs."""
    (tmp_path / "clock.c").write_text(CLOCK)
    tmp_path.chmod(0o755)  # what runs in the lab is another user
    lab.run(
        ["gcc", "-shared", "-fPIC", "-o", "/clock/clock.so", "/clock/clock.c", "-ldl"],
        binds=[(tmp_path, "/clock", "rw")],
    )
    place = replace(lab, cache=fresh_cache(tmp_path / "another"))
    real = place.run

    def run(argv: Any, **options: Any) -> Any:
        options["env"] = {**(options.get("env") or {}), "LD_PRELOAD": "/clock/clock.so"}
        options["binds"] = [*options.get("binds", ()), (tmp_path, "/clock", "ro")]
        return real(argv, **options)

    monkeypatch.setattr(place, "run", run)
    yield place
    own_libraries.forget()


@pytest.mark.parametrize("target", [BOARD, "linux-armv7", "linux-armv8"])
def test_the_same_source_on_another_day_is_the_same(
    target: str, images: ImageStore, later: Lab, tmp_path: Path
) -> None:
    """Every file of every image of a machine, built under a clock that says another year."""
    # The compiler sees that clock, and would tell.
    said = later.run(["sh", "-c", "echo __DATE__ | env -u SOURCE_DATE_EPOCH gcc -E -P -"]).stdout
    assert int(said.strip().strip('"').split()[-1]) > _today().year + 5
    own_libraries.bring([library(tmp_path / "library", after=TRACES)])
    case = Case(target, "my-micro-ecc", "O2", "sign", 2, 0, (("curve", "secp256r1"), ("size", "32B")))
    for each in (images, ImageStore(later, note)):
        EMULATED[target].machine(case, each)
    built, known = images_of(later.cache), images_of(images.lab.cache)
    assert [name for name in built if VARIANT in name]
    assert all(files == known[name] for name, files in built.items())
    assert files_with_traces(later.cache / "images", dates(_today())) == []


def _today() -> datetime:
    return datetime.now(UTC)
