"""Admission webhooks as Python functions; they are served over HTTPS and registered on the server.

`with webhook(api, lambda request: "no more of these", "configmaps"): ...` refuses; see `webhook`.
"""

from __future__ import annotations

import base64
import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apiserver_gateway.testing.requests import ask
from apiserver_gateway.testing.server import LOCAL, ApiServer

if TYPE_CHECKING:
    import ssl

PATH = "/apis/admissionregistration.k8s.io/v1"
_DAYS = 2  # the validity of certificates

Verdict = bool | str | Mapping[str, Any] | None
"""None or True allows a request. False refuses it, and so does a text, which is the reason. An object replaces the
object of the request, if the webhook is a mutating one.
"""

Review = Callable[[dict[str, Any]], Verdict]
"""Decides about an AdmissionRequest as JSON: `request["object"]`, `request["operation"]`, `request["userInfo"]`, …"""


@dataclass(slots=True)
class Webhook:
    """A served webhook: its URL, its CA (PEM), and the requests that it has received."""

    url: str
    authority: bytes
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)  # the Authorization header of each, "" for none
    headers: list[dict[str, str]] = field(default_factory=list)  # the HTTP headers of each, names in lower case

    @property
    def client_config(self) -> dict[str, str]:
        """The `clientConfig` for a webhook configuration."""
        return {"url": self.url, "caBundle": base64.b64encode(self.authority).decode()}


@contextmanager
def webhook(
    server: ApiServer,
    review: Review,
    *resources: str,
    operations: Sequence[str] = ("CREATE", "UPDATE"),
    mutating: bool = False,
    **fields: Any,
) -> Iterator[Webhook]:
    """Serves and registers a webhook for the duration of the block; `review` decides about its requests.

    `resources` are plural names of any group ("pods", "pods/status", "*"). `fields` add fields to the webhook
    configuration, or replace those made here: `rules`, `failurePolicy`, `namespaceSelector`, `matchConditions`.
    """
    __tracebackhide__ = True
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": list(resources), "operations": list(operations)}
    plural = f"{'mutating' if mutating else 'validating'}webhookconfigurations"
    name = f"test-{uuid.uuid4().hex[:8]}"
    with serve(review, server.callback_host) as served:
        hook = {
            "name": f"{name}.example.org",
            "clientConfig": served.client_config,
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }
        ask(server, "POST", f"{PATH}/{plural}", {"metadata": {"name": name}, "webhooks": [hook]})
        _settle(server, plural)
        try:
            yield served
        finally:
            ask(server, "DELETE", f"{PATH}/{plural}/{name}")
            _settle(server, plural)


def _settle(server: ApiServer, plural: str) -> None:
    """Waits until the server uses the new configuration, by a consistent read, which waits for all writes before it."""
    ask(server, "GET", f"{PATH}/{plural}")


@contextmanager
def serve(review: Review, host: str = LOCAL) -> Iterator[Webhook]:
    """Serves a webhook without registering it: a test creates the configuration itself, with `client_config`.

    `host` is the name or address by which the server reaches this machine. With any other than the default, the webhook
    listens on all addresses.
    """
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    context, authority = _certified(host)
    served = Webhook("", authority)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = asked["request"]
            served.requests.append(request)
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            served.authorizations.append(self.headers.get("Authorization", ""))
            answer = {"kind": asked["kind"], "apiVersion": asked["apiVersion"], "response": _response(review, request)}
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    listening = ThreadingHTTPServer((LOCAL if host == LOCAL else "", 0), Handler)
    listening.daemon_threads = True
    listening.socket = context.wrap_socket(listening.socket, server_side=True, do_handshake_on_connect=False)
    served.url = f"https://{host}:{listening.server_port}/"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def _response(review: Review, request: dict[str, Any]) -> dict[str, Any]:
    try:
        found = review(request)
    except Exception as error:  # the exception of the test's function becomes the message of the refusal
        found = f"{type(error).__name__}: {error}"
    response: dict[str, Any] = {"uid": request["uid"], "allowed": found is None or found is True}
    if isinstance(found, str):
        response["status"] = {"message": found, "code": 403}
    elif isinstance(found, Mapping):
        patch = json.dumps([{"op": "replace", "path": "", "value": found}]).encode()
        response |= {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return response


def _certified(host: str = LOCAL) -> tuple[ssl.SSLContext, bytes]:
    """A TLS context with a self-signed certificate for the host, and that certificate in PEM."""
    import ssl
    import tempfile
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    try:
        named: x509.GeneralName = x509.IPAddress(ip_address(host))
    except ValueError:
        named = x509.DNSName(host)
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName([named]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryFile() as one, tempfile.TemporaryFile() as other:  # ssl reads files; these have no names
        for file, content in ((one, pem), (other, secret)):
            file.write(content)
            file.seek(0)
        context.load_cert_chain(f"/dev/fd/{one.fileno()}", f"/dev/fd/{other.fileno()}")
    return context, pem
