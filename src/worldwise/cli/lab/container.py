# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise lab image`: a container image with worldwise, the lab, and what the cache has warm."""

import json
import re
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import click

from worldwise.base import files
from worldwise.base.disk import directory_size, require_space, space_text
from worldwise.base.errors import WorldwiseError
from worldwise.base.output import safe_text
from worldwise.cli.cache import age_seconds
from worldwise.cli.common.help_screen import Command
from worldwise.cli.common.options import check_output
from worldwise.lab.build_root import MARKER
from worldwise.lab.debian.lock import parse_lock
from worldwise.lab.lab import Lab, open_lab
from worldwise.lab.oci import Layer, write_image
from worldwise.lab.roots import RECIPE

# Where the image has the cache, and where its Python finds packages.
CACHE = "var/cache/worldwise"
_PACKAGES = "usr/local/lib/{python}/dist-packages"
_PROGRAM = "#!/usr/bin/python3 -P\nfrom worldwise.cli import main\n\nmain()\n"
_CARRIED = "worldwise/repository"
# Of a file that is read from a wheel: the lock, the largest, has less than a tenth.
_MOST_FILE = 16 * 2**20
_WHEEL = "make one with `release/wheel`"
# The C libraries whose wheels run on the image's own, by PEP 600.
_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(41, 4, -1)] + ["manylinux2014_x86_64"]


@click.command(cls=Command, name="image")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--wheel",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The wheel of worldwise that the image has: see `release/wheel`.",
)
@click.option(
    "--used",
    "age",
    callback=age_seconds,
    metavar="AGE",
    help="Take images and saved machines that were used within AGE: 12h, 30d, 2w.  [default: all]",
)
def image_command(file: Path, wheel: Path, age: float | None) -> None:
    """Write a container image (an OCI archive): worldwise, the lab, what this cache built.

    A command in the image finds the lab made, and images and saved machines as warm as they are here: measure once
    what the jobs will measure, then make the image. It has no results, so that the jobs measure. pip fetches the
    Python packages, by SHA-256. No container program is needed; podman, skopeo and umoci take the file.

    \b
      worldwise run mcu --target nucleo-f446re
      worldwise lab image worldwise-image.tar --wheel worldwise-0.1.0-py3-none-any.whl --used 1h
    """
    check_output(file)
    lab, base = open_lab(), open_lab(name="container")
    version, revision = _described(wheel, lab)
    for place in (lab, base):
        place.ensure()
    labs = [lab] + [place for place in (open_lab(name="render"),) if not place.outline_problem()]
    warm = [path for name in ("images", "snapshots") for path in _warm(lab.cache / name, age)]
    kept = list(_downloads(lab))
    size = sum(directory_size(path) for path in (base.root, *(place.root for place in labs), *warm))
    require_space(file.absolute().parent, size + sum(path.stat().st_size for path in kept), str(file))
    python = next(one.name for one in base.lock.lab if re.fullmatch(r"python3\.\d+", one.name))
    with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=f".{file.name}-") as name:
        work = Path(name, "blobs")
        work.mkdir()
        packages = Path(name, "packages")
        install_wheel(wheel, packages, python.removeprefix("python"))
        layers = [
            _system(work, base),
            _program(work, packages, _PACKAGES.format(python=python), f"worldwise {version}, revision {revision}"),
            *(_lab(work, place) for place in labs),
            _cache(work, lab.cache, [*warm, *kept]),
        ]
        said = {
            "title": "worldwise",
            "version": version,
            "revision": revision,
            "licenses": "BSD-2-Clause AND GPL-2.0-or-later",
            "description": f"worldwise with its lab {lab.digest[:12]}, {len(warm)} images and saved machines",
        }
        settings = {
            "Env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LANG=C.UTF-8",
                f"WORLDWISE_CACHE=/{CACHE}",
            ],
            "Cmd": ["bash"],
            "WorkingDir": "/work",
        }
        named = {f"org.opencontainers.image.{key}": value for key, value in said.items()}
        whole = Path(name, "image")
        digest = write_image(whole, work, layers, settings, named)
        whole.replace(file)
    safe_text.echo(f"{file}: {space_text(file.stat().st_size)}, {len(layers)} layers, manifest sha256:{digest}")


def _described(wheel: Path, lab: Lab) -> tuple[str, str]:
    """The wheel's version and revision. Raises WorldwiseError if it is not a wheel of worldwise, or of another lab."""
    # pip takes the version from there too.
    named = re.fullmatch(r"worldwise-([^-]+)(?:-[^-]+){3}\.whl", wheel.name)
    if not named:
        raise WorldwiseError(f"{wheel}: its name is not that of a wheel of worldwise, which pip needs", _WHEEL)
    try:
        revision = _file_of(wheel, "revision").decode().strip()
        lock = parse_lock(_file_of(wheel, "lab/lock.json"))
    except ValueError as error:
        raise WorldwiseError(f"{wheel}: is not a wheel of worldwise ({files.quoted(str(error))})", _WHEEL) from None
    if lock.digest(RECIPE) != lab.digest:
        raise WorldwiseError(
            f"{wheel}: is of the lab {lock.digest(RECIPE)[:12]}, this worldwise of {lab.digest[:12]}",
            "make the image with the worldwise that made the wheel",
        )
    return named[1], revision


def _file_of(wheel: Path, name: str) -> bytes:
    """A file of the repository that a wheel carries. Raises WorldwiseError, whatever is wrong with the wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(f"{_CARRIED}/{name}") as file:
            # It may say any size, and unpack to another one.
            content = file.read(_MOST_FILE + 1)
    except (OSError, KeyError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise WorldwiseError(f"{wheel}: is not a wheel of worldwise ({files.quoted(str(error))})", _WHEEL) from None
    if len(content) > _MOST_FILE:
        raise WorldwiseError(
            f"{wheel}: is not a wheel of worldwise: its {name} has more than {_MOST_FILE:,} bytes", _WHEEL
        )
    return content


def install_wheel(wheel: Path, target: Path, python: str) -> None:
    """Have pip put the wheel and the packages of its requirements into a folder, for another Python than this one."""
    command = [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-compile", "--target", str(target), "--python-version", python, "--implementation", "cp"]
    command += ["--only-binary", ":all:", *(word for name in _PLATFORMS for word in ("--platform", name))]
    with tempfile.TemporaryDirectory() as name:
        requirements = Path(name, "run.txt")
        # The first line of the one names the other.
        for file in (requirements, Path(name, "base.txt")):
            file.write_bytes(_file_of(wheel, f"requirements/{file.name}"))
        for words in (["--require-hashes", "-r", str(requirements)], ["--no-deps", str(wheel.absolute())]):
            done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise WorldwiseError(
                    "pip could not fetch the Python packages of the image",
                    "check the network and pip's settings; in an environment without pip, install it",
                    done.stderr.strip(),
                )


def _warm(folder: Path, age: float | None) -> Iterator[Path]:
    """Whole images, or saved machines, that were used lately enough."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        done = (path / "image.json").exists() or (path / "snapshot.json").exists()
        if done and not path.name.startswith(".") and (age is None or time.time() - path.stat().st_mtime <= age):
            yield path


def _downloads(lab: Lab) -> Iterator[Path]:
    """What builds take from the downloads; the lab's own packages are in the lab."""
    sources = (file for source in lab.lock.sources for file in source.files)
    yield from sorted(lab.store.path(file) for file in (*lab.lock.target, *sources) if lab.store.has(file))
    crates = lab.store.crate_path("").glob("*")
    yield from sorted(path for path in crates if re.fullmatch("[0-9a-f]{64}", path.name))


def _system(work: Path, base: Lab) -> Layer:
    sources = "etc/apt/sources.list"
    with Layer(work, f"Debian {base.lock.suite}: root container {base.digest[:12]}") as layer:
        # The root's own names the folder that it was made from.
        layer.tree(base.root, "", lambda name: name == sources)
        layer.text(sources, "")
        layer.folder("work")
    return layer


def _program(work: Path, packages: Path, place: str, title: str) -> Layer:
    with Layer(work, title) as layer:
        layer.tree(packages, place, _of_this_machine)
        layer.text("usr/local/bin/worldwise", _PROGRAM, 0o755)
    return layer


def _of_this_machine(name: str) -> bool:
    """Whether pip wrote this file for the machine it ran on: programs, the wheel's place, and digests of both."""
    return name.partition("/")[0] == "bin" or name.rpartition("/")[2] in ("RECORD", "direct_url.json")


def _lab(work: Path, place: Lab) -> Layer:
    name = f"{CACHE}/labs/{place.directory.name}"
    with Layer(work, f"{place.title} {place.digest[:12]}") as layer:
        # How long it took, and when which file was last hashed, is of this machine.
        marker = json.loads(place.manifest.read_text(encoding="utf-8")) | {"seconds": 0.0}
        layer.text(f"{name}/{MARKER}", json.dumps(marker, indent=0) + "\n")
        layer.tree(place.directory, name, lambda path: path in (MARKER, "checked.json"))
    return layer


def _cache(work: Path, cache: Path, warm: list[Path]) -> Layer:
    with Layer(work, f"images, saved machines and downloads: {len(warm)}") as layer:
        for path in warm:
            inside = f"{CACHE}/{path.relative_to(cache)}"
            if path.is_dir():
                layer.tree(path, inside)
            else:
                layer.file(path, inside)
    return layer
