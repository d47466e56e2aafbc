"""Finds permanent errors while a start waits for etcd, such as a wrong password: the start then fails at once."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from apiserver_gateway.trust import judge_as_go
from storage.errors import OtherCluster, PermissionDenied, StorageError, Unauthenticated

if TYPE_CHECKING:
    from storage.etcd import EtcdSettings

TIMEOUT = 2.0  # seconds for a test connection
ALERT = 0.3  # seconds after the handshake in which etcd refuses a client without a certificate
ONCE = 3.0  # the same, for a caller that tries only once: etcd may be busy


def hopeless(error: StorageError | None) -> str:
    """What is wrong with the settings, in one line, if the error proves it; else ""."""
    match error:
        case Unauthenticated():
            return f"etcd refuses the user: {error}; see --etcd-username and --etcd-password"
        case PermissionDenied():
            return f"etcd does not allow its user to use keys under --etcd-prefix: {error}; grant the user a role"
        case OtherCluster():
            return str(error)
    return ""


async def tls_trouble(settings: EtcdSettings, alert: float = ALERT) -> str:
    """Why the first endpoint can't be used, if TLS is the cause at all endpoints; else "".

    gRPC reports only that it is not connected. So this makes a TLS handshake itself. After it, it waits `alert` seconds
    for a refusal.
    """
    found = await asyncio.gather(*(_trouble(endpoint, settings, alert) for endpoint in settings.endpoints))
    return found[0] if all(found) else ""


async def _trouble(endpoint: str, settings: EtcdSettings, alert: float) -> str:
    scheme, separator, _ = endpoint.partition("://")
    if endpoint.startswith("unix:"):
        return ""
    parts = urlsplit(endpoint if separator else f"//{endpoint}")
    host, port = parts.hostname or "", parts.port or 2379
    files = settings.ca_file, settings.cert_file, settings.key_file
    if scheme == "https" if separator else any(files):
        return await _secure_trouble(host, port, settings, alert)
    return await _plain_trouble(host, port)


async def _secure_trouble(host: str, port: int, settings: EtcdSettings, alert: float) -> str:
    context = ssl.create_default_context(cafile=settings.ca_file)
    judge_as_go(context)  # as gRPC does, which makes the real connections
    if settings.cert_file and settings.key_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    where = f"etcd at {host}:{port}"
    try:
        await _shake_hands(host, port, context, alert)
    except ssl.SSLCertVerificationError as error:
        return f"the certificate of {where} is not trusted: {error.verify_message}; see --etcd-cafile"
    except ssl.SSLError as error:
        reason = error.reason or ""
        if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
            given = "refuses the client certificate" if settings.cert_file else "requires a client certificate"
            return f"{where} {given}; see --etcd-certfile and --etcd-keyfile"
    except OSError:
        pass
    if await _speaks_plainly(host, port):
        return f"{where} does not speak TLS; use http:// in --etcd-servers"
    return ""


async def _plain_trouble(host: str, port: int) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        await _shake_hands(host, port, context)
    except ssl.SSLError as error:
        if "ALERT" not in (error.reason or ""):
            return ""
    except OSError:
        return ""
    return f"etcd at {host}:{port} speaks TLS; use https:// in --etcd-servers"


async def _speaks_plainly(host: str, port: int) -> bool:
    """Whether the server answers HTTP without TLS, with more than a demand for HTTPS."""
    try:
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /version HTTP/1.0\r\n\r\n")
            try:
                answer = await reader.read(1000)
            finally:
                await _end(writer)
    except OSError:
        return False
    return answer.startswith(b"HTTP/1.") and b"HTTPS" not in answer


async def _shake_hands(host: str, port: int, context: ssl.SSLContext, alert: float = ALERT) -> None:
    """Makes a TLS handshake and waits `alert` seconds. Raises SSLError, or another OSError without a connection."""
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(alert):
                await reader.read(1)
    finally:
        await _end(writer)


async def _end(writer: asyncio.StreamWriter) -> None:
    """Ends a connection and ignores its errors, which asyncio would print."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()
