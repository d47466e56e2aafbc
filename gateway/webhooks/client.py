"""Calling a webhook: where a client configuration leads, whom it trusts, and what comes back.

A WebhookClientConfig names a URL or a service, and a CA bundle ("Contacting the webhook"). Calls take no threads: those
that are not answered would keep them from everybody else.
"""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlsplit

from gateway.http.trust import trusting
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.webhooks.exchange import BadAnswer, post
from gateway.webhooks.refusals import refusal

TIMEOUT = 30.0  # seconds
_UNKNOWN_AUTHORITY = frozenset({18, 19, 20, 21})  # OpenSSL's codes for a chain that ends at nobody who is trusted

FindService = Callable[[str, str], JsonObject | None]  # (namespace, name) -> the service


class WebhookError(Exception):
    """A webhook could not be asked, or gave no answer that can be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a webhook is: the address to connect to, and the name that its certificate has to be for."""

    host: str
    port: int
    name: str
    path: str
    ca_bundle: str

    @property
    def url(self) -> str:
        """As messages name it."""
        port = "" if self.port == 443 else f":{self.port}"
        return f"https://{self.name}{port}{self.path}"


def target_of(config: JsonObject, find_service: FindService) -> Target:
    """Where a client configuration leads. Raises WebhookError."""
    bundle = config.get("caBundle") or ""
    if url := config.get("url"):
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        host = parts.hostname or ""
        return Target(host, parts.port or 443, host, path, bundle)
    service = config.get("service") or {}
    namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
    path = "/" + (service.get("path") or "").removeprefix("/")
    there = Target("", port, f"{name}.{namespace}.svc", path, bundle)
    try:
        return replace(there, host=_address(find_service(namespace, name), port, name))
    except WebhookError as error:
        raise _failed(there, TIMEOUT, str(error)) from None


def _address(service: JsonObject | None, port: int, name: str) -> str:
    if service is None:
        raise WebhookError(f'service "{name}" not found')
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if not any(each.get("port") == port for each in spec.get("ports") or ()):
        raise WebhookError(f'no service port {port} found for service "{name}"')
    address = spec.get("clusterIP") or "None"
    if address == "None":
        raise WebhookError(f'no cluster IP for service "{name}"')
    return str(address)


async def call(target: Target, review: JsonObject, timeout: float = TIMEOUT) -> JsonObject:
    """What a webhook answers to a review. Raises WebhookError."""
    try:
        trust = _trusting(target.ca_bundle)
        path = f"{target.path}{'&' if '?' in target.path else '?'}timeout={timeout:g}s"
        status, answer = await post(target.host, target.port, target.name, path, dumps(review), trust, timeout)
    except TimeoutError:
        raise _failed(target, timeout, "context deadline exceeded") from None
    except (OSError, BadAnswer, ValueError) as error:
        raise _failed(target, timeout, _problem(target, error)) from None
    if not 200 <= status <= 206:
        raise WebhookError(refusal(status, answer))
    if not answer:
        raise WebhookError(f"0-length response with status code: {status} and content type: application/json")
    try:
        found = loads(answer)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise WebhookError("couldn't get version/kind; json parse error: the answer is no JSON object")
    return found


def _failed(target: Target, timeout: float, problem: str) -> WebhookError:
    return WebhookError(f'Post "{target.url}?timeout={timeout:g}s": {problem}')


def _problem(target: Target, error: Exception) -> str:
    """What went wrong, as Go says it."""
    match error:
        case ssl.SSLCertVerificationError(verify_code=code) if code in _UNKNOWN_AUTHORITY:
            return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        case ssl.SSLCertVerificationError():
            return f"tls: failed to verify certificate: x509: {error.verify_message}"
        case ConnectionRefusedError():
            return f"dial tcp {target.host}:{target.port}: connect: connection refused"
        case socket.gaierror():
            return f"dial tcp: lookup {target.host}: no such host"
        case _:
            return str(error) or "EOF"


@lru_cache(64)
def _trusting(bundle: str) -> ssl.SSLContext:
    return trusting(base64.b64decode(bundle).decode("ascii", "replace"))
