"""A registry that nodes pull images from, as a program whose arguments are directories.

Each directory is an OCI image layout. An image is found by its repository and tag, whichever host its name has: nodes
ask this registry in the place of all.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.upstream.node.control_plane import ADDRESS as HOST

PORT = 5000
ADDRESS = f"{HOST}:{PORT}"
NAME = "io.containerd.image.name"


class Registry(BaseHTTPRequestHandler):
    """GET and HEAD of manifests and blobs."""

    protocol_version = "HTTP/1.1"
    directories: tuple[Path, ...] = ()

    def do_GET(self) -> None:
        """Answers with the bytes."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answers without the bytes."""
        self._answer(with_body=False)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _answer(self, *, with_body: bool) -> None:
        words = self.path.partition("?")[0].strip("/").split("/")
        match words:
            case ["v2"]:
                self._send(200, b"{}", "application/json", "", with_body)
            case ["v2", *repository, "manifests", reference]:
                found = self._manifest("/".join(repository), reference)
                self._blob(found, "application/vnd.oci.image.manifest.v1+json", with_body)
            case ["v2", *_, "blobs", digest]:
                self._blob(digest, "application/octet-stream", with_body)
            case _:
                self._send(404, b"{}", "application/json", "", with_body)

    def _manifest(self, repository: str, reference: str) -> str:
        """The digest of a manifest; "" if there is none."""
        if reference.startswith("sha256:"):
            return reference
        for directory in self.directories:
            for each in json.loads((directory / "index.json").read_text())["manifests"]:
                if each["annotations"][NAME].endswith(f"/{repository}:{reference}"):
                    return str(each["digest"])
        return ""

    def _blob(self, digest: str, media_type: str, with_body: bool) -> None:
        name = Path(digest.removeprefix("sha256:")).name
        files = (directory / "blobs" / "sha256" / name for directory in self.directories)
        file = next((each for each in files if name and each.is_file()), None)
        if file is None:
            errors = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "not found"}]}
            return self._send(404, json.dumps(errors).encode(), "application/json", "", with_body)
        return self._send(200, file.read_bytes(), media_type, digest, with_body)

    def _send(self, status: int, data: bytes, media_type: str, digest: str, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        if digest:
            self.send_header("Docker-Content-Digest", digest)
        self.end_headers()
        if with_body:
            self.wfile.write(data)


if __name__ == "__main__":
    Registry.directories = tuple(map(Path, sys.argv[1:]))
    ThreadingHTTPServer((HOST, PORT), Registry).serve_forever()
