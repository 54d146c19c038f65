# SPDX-License-Identifier: BSD-2-Clause
"""A lab's files as an artefact in a registry of the Open Container Initiative, named by the digest of its manifest.

Each file is a blob of its own, and a blob's digest is its SHA-256: the registry has the file under the very digest that
the lock names. `lab export --oci` writes such an artefact. Of a registry that wants a token one is asked for without a
password, as for public images.
"""

import hashlib
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from worldwise.base import files
from worldwise.base.errors import WorldwiseError
from worldwise.base.json_model import parse_json
from worldwise.lab.debian.web import Server

KIND = "application/vnd.worldwise.lab.v1"
MANIFEST_KIND = "application/vnd.oci.image.manifest.v1+json"
_MOST_MANIFEST, _MOST_TOKEN = 16 * 2**20, 2**20
_FORM = re.compile(r"(oci|oci\+http)://([^/@\s]+)/([a-z0-9][a-z0-9._/-]*)@sha256:([0-9a-f]{64})")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


@dataclass
class Artefact:
    """An artefact of a registry.

    Attributes:
        address: as `second_sources` has it: oci://HOST/NAME@sha256:DIGEST; `oci+http:` for a registry without TLS.
        told: called with a line of text when the registry wants a pause.
    """

    address: str
    told: Callable[[str], None] = lambda _: None
    _blobs: frozenset[str] | None = None
    _problem: str = ""
    _headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        match = _FORM.fullmatch(self.address)
        if not match:
            raise WorldwiseError(
                f"{self.address}: is no artefact by digest", "write it as oci://HOST/NAME@sha256:DIGEST, with 64 digits"
            )
        scheme, host, name, self._digest = match.groups()
        self._base = f"{'https' if scheme == 'oci' else 'http'}://{host}/v2/{name}"
        self.server = Server(host, self.told)

    def blobs(self) -> frozenset[str]:
        """The SHA-256 of every file that it has; none if it cannot be read: then `problem` says why."""
        if self._blobs is None:
            self._blobs = frozenset()
            with tempfile.TemporaryDirectory(prefix="worldwise-artefact-") as work:
                path = Path(work, "manifest")
                self._problem = self._fetch(f"manifests/sha256:{self._digest}", path, _MOST_MANIFEST)
                if not self._problem:
                    self._blobs, self._problem = self._listed(path.read_bytes())
        return self._blobs

    def fetch(self, sha256: str, path: Path, most: int) -> str:
        """Fetch a file of a SHA-256, of at most `most` bytes; why that failed, or nothing. It verifies nothing."""
        if sha256 not in self.blobs():
            return self._problem or "404  it is not in the artefact"
        return self._fetch(f"blobs/sha256:{sha256}", path, most)

    def _listed(self, text: bytes) -> tuple[frozenset[str], str]:
        found = hashlib.sha256(text).hexdigest()
        if found != self._digest:
            return frozenset(), f"its manifest has another SHA-256: {found}"
        try:
            layers = parse_json(text)["layers"]
            return frozenset(str(layer["digest"]).removeprefix("sha256:") for layer in layers), ""
        except (ValueError, KeyError, TypeError) as error:
            return frozenset(), f"its manifest cannot be read: {files.quoted(str(error))}"

    def _fetch(self, what: str, path: Path, most: int) -> str:
        headers = {"Accept": MANIFEST_KIND} if what.startswith("manifests/") else {}
        why = self.server.fetch(f"{self._base}/{what}", path, most, headers | self._headers)
        if why.startswith("401") and (challenge := self.server.challenge) and not self._headers:
            if refused := self._token(challenge, path):
                return f"{why}: {refused}"
            why = self.server.fetch(f"{self._base}/{what}", path, most, headers | self._headers)
        return why

    def _token(self, challenge: str, path: Path) -> str:
        """Ask for a token that anybody gets; why there is none, or nothing."""
        said = dict(_CHALLENGE.findall(challenge))
        realm = said.get("realm", "")
        secure = urlsplit(realm).scheme == "https" or self._base.startswith("http:")
        if not challenge.lower().startswith("bearer ") or not realm.startswith("http") or not secure:
            return "the registry wants a password, and worldwise has no password"
        query = urlencode({key: said[key] for key in ("service", "scope") if key in said}, quote_via=quote)
        if why := self.server.fetch(f"{realm}?{query}", path, _MOST_TOKEN):
            return f"no token: {why}"
        try:
            answer = parse_json(path.read_bytes())
            token = str(answer.get("token") or answer["access_token"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return "no token: its answer cannot be read"
        finally:
            path.unlink(missing_ok=True)
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            return "no token: its answer cannot be read"
        self._headers = {"Authorization": f"Bearer {token}"}
        return ""
