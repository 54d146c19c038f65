# SPDX-License-Identifier: BSD-2-Clause
"""Container images in the archive format of the Open Container Initiative, written without a container program.

An archive is a tar file with an image layout: `oci-layout`, `index.json`, and blobs by SHA-256, of which one is the
manifest, one the configuration, and the others are layers (gzipped tar files). The same files give the same bytes.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from worldwise.base.errors import WorldwiseError
from worldwise.lab.sandbox.bubblewrap import SOURCE_DATE_EPOCH

_KIND = "application/vnd.oci.image"
_INDEX, _MANIFEST = f"{_KIND}.index.v1+json", f"{_KIND}.manifest.v1+json"
_CONFIG, _LAYER = f"{_KIND}.config.v1+json", f"{_KIND}.layer.v1.tar+gzip"
# The lowest compresses a lab to less than the half, and takes a third of the default's time.
_COMPRESSION = 1
_PIECE = 1 << 20


@dataclass(frozen=True)
class Blob:
    """A file of an image by its digest, its size and its kind."""

    digest: str
    size: int
    kind: str

    def describe(self) -> dict[str, Any]:
        """As a manifest names it."""
        return {"mediaType": self.kind, "digest": f"sha256:{self.digest}", "size": self.size}


class _Hashed(io.RawIOBase):
    """Passes on what is written, and hashes it."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self.sha256 = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.sha256.update(data)
        self.size += len(data)
        self._target.write(data)
        return len(data)


class Layer:
    """A layer while it is written; `blob` and `content` (the SHA-256 of what is in it) are known at its end.

    Every file belongs to root, and none is younger than the lab's date, so that two machines write the same bytes.
    """

    def __init__(self, blobs: Path, title: str) -> None:
        self.title = title
        self.blob: Blob | None = None
        self.content = ""
        self._blobs = blobs
        self._partial = blobs / f".partial-{len(list(blobs.iterdir()))}"
        self._file = self._partial.open("xb")
        self._packed = _Hashed(self._file)
        self._gzip = gzip.GzipFile("", "wb", _COMPRESSION, self._packed, mtime=0)
        self._plain = _Hashed(self._gzip)  # type: ignore[arg-type] # as above
        # __exit__ closes it.
        kind = tarfile.PAX_FORMAT
        self._tar = tarfile.open(fileobj=self._plain, mode="w|", format=kind, bufsize=_PIECE)  # noqa: SIM115
        self._folders: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tar.close()
        self._gzip.close()
        self._file.close()
        if kind is None:
            self.content = self._plain.sha256.hexdigest()
            self.blob = Blob(self._packed.sha256.hexdigest(), self._packed.size, _LAYER)
            self._partial.replace(self._blobs / self.blob.digest)

    def folder(self, name: str, mode: int = 0o755) -> None:
        """Add a folder, and those above it that are not there."""
        above = name.rpartition("/")[0]
        if above:
            self.folder(above)
        if name not in self._folders:
            self._folders.add(name)
            member = _member(name, mode)
            member.type = tarfile.DIRTYPE
            self._tar.addfile(member)

    def text(self, name: str, content: str, mode: int = 0o644) -> None:
        """Add a file of this text."""
        self.folder(name.rpartition("/")[0])
        member = _member(name, mode)
        member.size = len(data := content.encode())
        self._tar.addfile(member, io.BytesIO(data))

    def file(self, source: Path, name: str) -> None:
        """Add a file."""
        self.folder(name.rpartition("/")[0])
        self._regular(source, name, source.stat())

    def _regular(self, source: Path, name: str, entry: os.stat_result) -> None:
        member = _member_of(name, entry)
        member.size = entry.st_size
        with source.open("rb") as file:
            self._tar.addfile(member, file)

    def tree(self, source: Path, name: str, skip: Callable[[str], bool] = lambda _: False) -> None:
        """Add a folder's files, links and folders below `name`; `skip` is asked by the path within the folder.

        Raises WorldwiseError for any other name.
        """
        if name:
            self.folder(name)
        first: dict[tuple[int, int], str] = {}
        for inside, entry in _entries(source):
            if skip(inside):
                continue
            path, target = source / inside, f"{name}/{inside}" if name else inside
            if stat.S_ISDIR(entry.st_mode):
                self.folder(target, stat.S_IMODE(entry.st_mode))
            elif stat.S_ISLNK(entry.st_mode):
                self._link(tarfile.SYMTYPE, os.readlink(path), target, entry)  # noqa: PTH115 -- as it is written
            elif not stat.S_ISREG(entry.st_mode):
                raise WorldwiseError(f"{path}: an image takes only files, links and folders.")
            elif (twin := first.setdefault((entry.st_dev, entry.st_ino), target)) != target:
                self._link(tarfile.LNKTYPE, twin, target, entry)
            else:
                self._regular(path, target, entry)

    def _link(self, kind: bytes, to: str, name: str, entry: os.stat_result) -> None:
        member = _member_of(name, entry)
        member.type, member.linkname = kind, to
        self._tar.addfile(member)


def _entries(top: Path, inside: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Everything below a folder, each folder before what is in it, by name."""
    for name in sorted(os.listdir(top / inside)):  # noqa: PTH208 -- names, not paths
        path = f"{inside}/{name}" if inside else name
        entry = (top / path).lstat()
        yield path, entry
        if stat.S_ISDIR(entry.st_mode):
            yield from _entries(top, path)


def _member(name: str, mode: int, time: int = SOURCE_DATE_EPOCH) -> tarfile.TarInfo:
    # All else that it says of itself is as TarInfo has it: root's, without a name.
    member = tarfile.TarInfo(name)
    member.mode, member.mtime = mode, time
    return member


def _member_of(name: str, entry: os.stat_result) -> tarfile.TarInfo:
    return _member(name, stat.S_IMODE(entry.st_mode), int(min(entry.st_mtime, SOURCE_DATE_EPOCH)))


def write_image(
    target: Path,
    work: Path,
    layers: Sequence[Layer],
    settings: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> str:
    """Write the archive of an image whose layers are in `work`. Returns the SHA-256 of its manifest.

    `settings` are the configuration's for those who run it (Env, Cmd, ...), `annotations` say of the image what it is.
    """
    created = datetime.datetime.fromtimestamp(SOURCE_DATE_EPOCH, datetime.UTC).isoformat().replace("+00:00", "Z")
    config = {
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {**settings, "Labels": dict(annotations)},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.content}" for layer in layers]},
        "history": [{"created": created, "created_by": layer.title} for layer in layers],
    }
    blobs = [layer.blob for layer in layers if layer.blob]
    configured = _keep(work, config, _CONFIG)
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": configured.describe(),
        "layers": [blob.describe() for blob in blobs],
        "annotations": dict(annotations),
    }
    described = _keep(work, manifest, _MANIFEST)
    named = described.describe() | {
        "annotations": {"org.opencontainers.image.ref.name": annotations["org.opencontainers.image.version"]},
        "platform": {"architecture": "amd64", "os": "linux"},
    }
    index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [named]}
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for name, document in (("oci-layout", {"imageLayoutVersion": "1.0.0"}), ("index.json", index)):
            member = _member(name, 0o644)
            member.size = len(text := _text(document))
            archive.addfile(member, io.BytesIO(text))
        for blob in (described, configured, *blobs):
            member = _member(f"blobs/sha256/{blob.digest}", 0o644)
            member.size = blob.size
            with (work / blob.digest).open("rb") as file:
                archive.addfile(member, file)
    return described.digest


def write_artefact(target: Path, files: Mapping[str, tuple[Path, int]], kind: str, title: str) -> str:
    """Write the archive of an artefact whose blobs are files, each by its SHA-256: a registry has each alone.

    Args:
        target: the archive.
        files: the path and the bytes of each file, by its SHA-256, which the caller has verified.
        kind: the media type of the artefact and of its files.
        title: what it is, in words.

    Returns the SHA-256 of its manifest. The same files give the same bytes. Raises OSError.
    """
    empty = Blob(hashlib.sha256(b"{}").hexdigest(), 2, "application/vnd.oci.empty.v1+json")
    blobs = [Blob(sha256, size, kind) for sha256, (_, size) in sorted(files.items())]
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "artifactType": kind,
        "config": empty.describe(),
        "layers": [blob.describe() for blob in blobs],
        "annotations": {"org.opencontainers.image.title": title},
    }
    text = _text(manifest)
    described = Blob(hashlib.sha256(text).hexdigest(), len(text), _MANIFEST)
    named = described.describe() | {"annotations": {"org.opencontainers.image.ref.name": "lab"}}
    index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": [named]}
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        small = {
            "oci-layout": _text({"imageLayoutVersion": "1.0.0"}),
            "index.json": _text(index),
            f"blobs/sha256/{described.digest}": text,
            f"blobs/sha256/{empty.digest}": b"{}",
        }
        for name, content in small.items():
            member = _member(name, 0o644)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for blob in blobs:
            member = _member(f"blobs/sha256/{blob.digest}", 0o644)
            member.size = blob.size
            with files[blob.digest][0].open("rb") as file:
                archive.addfile(member, file)
    return described.digest


def _text(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _keep(work: Path, document: Mapping[str, Any], kind: str) -> Blob:
    text = _text(document)
    blob = Blob(hashlib.sha256(text).hexdigest(), len(text), kind)
    (work / blob.digest).write_bytes(text)
    return blob
