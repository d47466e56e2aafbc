"""Admission webhooks written in Python: a function that looks at a request, served with a certificate and registered.

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
_DAYS = 2  # that a certificate is good for

Verdict = bool | str | Mapping[str, Any] | None
"""None or True allows a request, False refuses it, and so does a text, which says why; an object takes the place of the
request's, if the webhook is a mutating one.
"""

Review = Callable[[dict[str, Any]], Verdict]
"""Looks at an AdmissionRequest, as JSON: `request["object"]`, `request["operation"]`, `request["userInfo"]`, …"""


@dataclass(slots=True)
class Webhook:
    """A webhook that is served: where, by which CA (PEM), and what it was asked so far."""

    url: str
    authority: bytes
    requests: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)  # the Authorization header of each, "" where it had none
    headers: list[dict[str, str]] = field(default_factory=list)  # all that each came with, names in lower case

    @property
    def client_config(self) -> dict[str, str]:
        """As a webhook's configuration has it."""
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
    """A webhook that `review` answers for, in force in the block.

    `resources` are plurals of any group ("pods", "pods/status", "*"); `fields` are others of a webhook's configuration,
    or take the place of those made here: `rules`, `failurePolicy`, `namespaceSelector`, `matchConditions`.
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
    """A consistent read is answered once the server goes by all that was written before it."""
    ask(server, "GET", f"{PATH}/{plural}")


@contextmanager
def serve(review: Review, host: str = LOCAL) -> Iterator[Webhook]:
    """Serves the webhook without registering it: a test writes the configuration itself, with `client_config`.

    `host` is this machine's name or address as the server sees it; with another one than the default, it can be reached
    from other machines.
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
            """Says nothing."""

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
    except Exception as error:  # the test's own function: what it raises is what the client is told
        found = f"{type(error).__name__}: {error}"
    response: dict[str, Any] = {"uid": request["uid"], "allowed": found is None or found is True}
    if isinstance(found, str):
        response["status"] = {"message": found, "code": 403}
    elif isinstance(found, Mapping):
        patch = json.dumps([{"op": "replace", "path": "", "value": found}]).encode()
        response |= {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return response


def _certified(host: str = LOCAL) -> tuple[ssl.SSLContext, bytes]:
    """A context with a certificate for the host, and that certificate, which is its own CA."""
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
