"""TLS contexts for calls: trusted CAs, client certificate, and session resumption."""

from __future__ import annotations

import ssl
import tempfile
from typing import Any

from apiserver_gateway.trust import judge_as_go
from gateway.memo import Recent, memory_of
from gateway.outbound.named_curves import has_unnamed_curve, require_named_curves
from gateway.pem import blocks

MOST_AUTHORITIES = 500  # in a bundle: OpenSSL sorts all of them for each, 2800 hold the event loop for 0.8 s
CONTEXT = 50_000  # bytes that a context takes beside its CAs
_BEGIN = "-----BEGIN "
_MOST_SESSIONS = 256  # server names whose session a context remembers
_CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
"""Python's ciphers for TLS 1.2 without DHE, which Go does not have either: the server of a webhook, which a user names,
chooses the group, and the handshake computes on the event loop: 0.14 s for 6 000 bits, and OpenSSL takes up to 10 000.
"""


class TlsContext(ssl.SSLContext):
    """A TLS client's context. The caller has to check the certificate's name (`gateway.outbound.names`)."""

    sessions: dict[str, ssl.SSLSession]

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """As SSLContext.wrap_bio, but it resumes the last session that was kept for the name."""
        if session is None and isinstance(server_hostname, str):
            session = self.sessions.get(server_hostname)
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)

    def keep_session(self, name: str, connection: ssl.SSLObject) -> None:
        """Remembers a connection's session for the next one to the same name."""
        if (session := connection.session) is not None and session.has_ticket:
            if len(self.sessions) >= _MOST_SESSIONS:
                self.sessions.clear()
            self.sessions[name] = session

    @property
    def verifies(self) -> bool:
        """Whether it verifies certificates."""
        return self.verify_mode is ssl.CERT_REQUIRED


def trusting(authorities: str, *, insecure: bool = False) -> TlsContext:
    """A context that trusts the certificates `authorities` (PEM) and those that they signed; for "", the host's CAs.

    As in Go, each of them ends a chain, even if another CA signed it. So it may be the server's own certificate, which
    controller-runtime's envtest uses. With `insecure` it trusts all servers. Raises ValueError or ssl.SSLError for an
    invalid certificate.
    """
    context = TlsContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sessions = {}
    context.check_hostname = False
    context.set_ciphers(_CIPHERS)
    if insecure:
        context.verify_mode = ssl.CERT_NONE
    elif authorities:
        context.load_verify_locations(cadata=_readable(authorities))
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    judge_as_go(context)
    require_named_curves(context)
    return context


def _readable(authorities: str) -> bytes:
    """The certificates in DER, as Go's AppendCertsFromPEM finds them. OpenSSL gets the same bytes that are looked at
    here: its own reader of PEM could find others.
    """
    found = (each for each in blocks(authorities.encode()) if each.kind == "CERTIFICATE" and not each.has_headers)
    return b"".join(each.content for each in found if not has_unnamed_curve(each.content))


def identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Makes a context present a client certificate (PEM). Raises ValueError or ssl.SSLError for an invalid certificate
    or an encrypted key.
    """
    with tempfile.NamedTemporaryFile() as file:  # readable for this user only; ssl reads only files
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name, password=_no_password)


_contexts: Recent[tuple[str, bytes, bytes, bool], TlsContext] = Recent(256, 32 << 20, 8 << 20)


def context_of(authorities: str, certificate: bytes = b"", key: bytes = b"", insecure: bool = False) -> TlsContext:
    """The context of `trusting` and `identify` for some CAs and a client certificate (PEM); cached by its arguments.

    Raises as these do, and ValueError for more than `MOST_AUTHORITIES` CAs: objects name them, such as webhooks'.
    """
    arguments = authorities, certificate, key, insecure
    if (found := _contexts.find(arguments)) is None:
        if authorities.count(_BEGIN) > MOST_AUTHORITIES:
            raise ValueError(f"x509: the bundle of CAs has more than {MOST_AUTHORITIES} certificates")
        found = trusting(authorities, insecure=insecure)
        if certificate:
            identify(found, certificate, key)
        _contexts.keep(arguments, found, CONTEXT + memory_of(arguments) + 3 * len(authorities))
    return found


def _no_password() -> Any:
    raise ValueError("the key is encrypted")
