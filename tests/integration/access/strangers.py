"""An OIDC issuer and the webhooks that a server calls, in this process: over TLS, with their own CA."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.access.keys import SigningKey, _verification_key
from gateway.credentials.certificates import issue, new_authority

Json = dict[str, Any]


def new_key() -> SigningKey:
    private = ec.generate_private_key(ec.SECP256R1())
    return SigningKey(private, _verification_key(Path("issuer"), private.public_key()))


class Strangers:
    """`answers` maps a path to a function that makes the answer to a POST: (review) -> status. `asked` has the requests
    by path.
    """

    def __init__(self, directory: Path) -> None:
        authority = new_authority()
        certificate, key = issue(authority, ["127.0.0.1"])
        (directory / "strangers.crt").write_bytes(certificate)
        (directory / "strangers.key").write_bytes(key)
        self.directory, self.authority = directory, authority.certificate.decode()
        self.answers: dict[str, Callable[[Json], Json]] = {}
        self.asked: dict[str, list[Json]] = {}
        self.fetched = 0
        self.keys = [new_key()]
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "strangers.crt", directory / "strangers.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, path: str) -> Path:
        """A kubeconfig file for a path of this server."""
        file = self.directory / f"{path.strip('/')}.kubeconfig"
        cluster = {"server": self.url + path, "certificate-authority": "strangers-ca.crt"}
        (self.directory / "strangers-ca.crt").write_text(self.authority)
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "me", "user": {"token": "secret"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "me"}}],
            "current-context": "it",
        }
        file.write_text(json.dumps(content))
        return file

    def token(self, claims: Json, key: SigningKey | None = None, **more: Any) -> str:
        """A token of the issuer for the audience `us`."""
        key = key or self.keys[0]
        now = int(time.time())
        said = {"iss": self.url, "aud": "us", "exp": now + 600, "iat": now, **claims, **more}
        return jwt.encode(said, key.key, algorithm="ES256", headers={"kid": key.public.identity})

    def _documents(self, path: str) -> Json | None:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        if path == "/keys":
            self.fetched += 1
            return {"keys": [key.public.jwk() for key in self.keys]}
        return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        strangers = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                found = strangers._documents(self.path)
                self._answer(404 if found is None else 200, found or {})

            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.headers.get("Authorization") != "Bearer secret" or self.path not in strangers.answers:
                    self._answer(401, {})
                    return
                strangers.asked.setdefault(self.path, []).append(review)
                self._answer(201, {**review, "status": strangers.answers[self.path](review)})

            def _answer(self, status: int, content: Json) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                return None

        return Handler
