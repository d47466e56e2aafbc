"""TLS contexts of calls: trusted CAs, client certificate, and sessions that are resumed."""

from __future__ import annotations

import ssl
import tempfile
from functools import lru_cache
from typing import Any

from apiserver_gateway.trust import judge_as_go

_MOST_SESSIONS = 256  # names that a context remembers a session of


class Context(ssl.SSLContext):
    """A client's context. Its user compares the certificate with the name, see `gateway.outbound.names`."""

    sessions: dict[str, ssl.SSLSession]

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """As SSLContext has it; goes on with the last session that was kept for the name."""
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
        """Whether it looks at certificates at all."""
        return self.verify_mode is ssl.CERT_REQUIRED


def trusting(authorities: str, *, insecure: bool = False) -> Context:
    """A context that trusts certificates, PEM, and what they signed; the host's CAs where there are none.

    As in Go, each of them is an end of the chain, whoever signed it: what is given may be the server's own certificate,
    as envtest of controller-runtime does. Raises ValueError (ssl.SSLError) for what is no certificate.
    """
    context = Context(ssl.PROTOCOL_TLS_CLIENT)
    context.sessions = {}
    context.check_hostname = False
    if insecure:
        context.verify_mode = ssl.CERT_NONE
    elif authorities:
        context.load_verify_locations(cadata=authorities)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    judge_as_go(context)
    return context


def identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Makes a context present a client certificate (PEM). Raises ValueError for what is none, or an encrypted key."""
    with tempfile.NamedTemporaryFile() as file:  # of this user alone; ssl reads files only
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name, password=_no_password)


@lru_cache(256)
def context_of(authorities: str, certificate: bytes = b"", key: bytes = b"", insecure: bool = False) -> Context:
    """The one context of some CAs, PEM, and of a client's certificate; as `trusting` and `identify` make it."""
    context = trusting(authorities, insecure=insecure)
    if certificate:
        identify(context, certificate, key)
    return context


def _no_password() -> Any:
    raise ValueError("the key is encrypted")
