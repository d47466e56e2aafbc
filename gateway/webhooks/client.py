"""Calling a webhook: where a client configuration leads, whom it trusts, and what comes back.

A WebhookClientConfig names a URL or a service, and a CA bundle ("Contacting the webhook"). Calls take no threads: those
that are not answered would keep them from everybody else.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from gateway.http.trust import trusting
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.webhooks.exchange import BadAnswer, post

TIMEOUT = 30.0  # seconds

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
    found = find_service(namespace, name)
    if found is None:
        raise WebhookError(f'service "{name}" not found')
    return Target(_address(found, port, name), port, f"{name}.{namespace}.svc", path, bundle)


def _address(service: JsonObject, port: int, name: str) -> str:
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
        status, answer = await post(target.host, target.port, target.name, target.path, dumps(review), trust, timeout)
    except TimeoutError:
        raise WebhookError(f'Post "{target.url}": context deadline exceeded') from None
    except ssl.SSLCertVerificationError as error:
        problem = f"tls: failed to verify certificate: x509: {error.verify_message}"
        raise WebhookError(f'Post "{target.url}": {problem}') from None
    except ConnectionRefusedError:
        problem = f"dial tcp {target.host}:{target.port}: connect: connection refused"
        raise WebhookError(f'Post "{target.url}": {problem}') from None
    except (OSError, BadAnswer, ValueError) as error:
        raise WebhookError(f'Post "{target.url}": {error}') from None
    if status != 200:
        raise WebhookError(_refusal(status, answer))
    try:
        found = loads(answer)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise WebhookError("the answer is no JSON object")
    return found


@lru_cache(64)
def _trusting(bundle: str) -> ssl.SSLContext:
    return trusting(base64.b64decode(bundle).decode("ascii", "replace"))


def _refusal(status: int, answer: bytearray) -> str:
    text = answer[:2048].decode("utf-8", "replace").strip()
    return f"the server responded with the status code {status}" + (f" ({text})" if text else "")
