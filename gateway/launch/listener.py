"""Accepts the connections of a server process, and reloads its certificates when their files change."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

from gateway.access.file_reload import Followed, Following
from gateway.credentials.certificates import authorities_of, context_of
from gateway.http.acceptor import Acceptor, ConnectionQuota, MakeProtocol
from gateway.http.limits import limits_of
from gateway.settings.config import Settings


def accept(
    listeners: Sequence[socket.socket],
    context: ssl.SSLContext,
    make: MakeProtocol,
    settings: Settings,
    files: Following,
) -> list[Acceptor]:
    """Begins to accept connections; `make` makes the protocol of each. To be called on the event loop.

    Connections use the TLS `context` until a certificate file that the settings name changes. `files` follows these
    files.
    """
    certificate, key = _pair(settings)
    if settings.workers > 1:
        # Own session tickets: a resumed session brings the client certificate without its intermediate CAs. Only the
        # process of the first handshake knows these.
        context = context_of(settings, certificate, key)
    quota = ConnectionQuota.for_descriptors(settings.max_connections_per_address)
    limits = limits_of(settings.header_timeout, settings.min_body_rate)
    acceptors = [Acceptor(listener, context, quota, limits, make) for listener in listeners]
    for acceptor in acceptors:
        acceptor.start()

    def renew() -> None:
        renewed = context_of(settings, certificate, key)
        for acceptor in acceptors:
            acceptor.use(renewed)

    if named := _named(settings):
        files.add(Followed("certificates", named, renew))
    return acceptors


def _pair(settings: Settings) -> tuple[Path, Path]:
    """The files of the serving certificate and its key: those of the flags, or those that this server has generated."""
    own = settings.cert_dir / "apiserver.crt", settings.cert_dir / "apiserver.key"
    return settings.tls_cert_file or own[0], settings.tls_private_key_file or own[1]


def _named(settings: Settings) -> tuple[Path, ...]:
    """The certificate files that are not written by this server."""
    given = [*_pair(settings)] if settings.tls_cert_file else []
    given += [path for pair in settings.tls_sni_cert_key for path in (pair.certificate, pair.key)]
    return (*given, *(each for each in authorities_of(settings) if each != settings.cert_dir / "ca.crt"))
