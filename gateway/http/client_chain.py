"""The certificates that a TLS client has sent: its own and intermediate ones. They are not verified here."""

from __future__ import annotations

import ssl
from typing import Any

_DER = 2  # _ssl.ENCODING_DER

Verdict = tuple[int, float, float]  # version of the CAs, until when the certificate is valid, when to verify again


class ClientChain:
    """The certificates of one connection in DER, the client's own first. The handshake has proved that the client holds
    the key of its own.

    `verdicts` caches the results of verification by sets of CAs, `expiry` when the client's own certificate expires.
    Both are kept for as long as the connection and not longer, since any client can send certificates.
    """

    __slots__ = ("certificates", "expiry", "verdicts")

    def __init__(self, certificates: tuple[bytes, ...]) -> None:
        self.certificates = certificates
        self.verdicts: dict[Any, Verdict] = {}
        self.expiry: float | None = None

    @property
    def leaf(self) -> bytes:
        """The client's own certificate."""
        return self.certificates[0]


def client_chain(tls: ssl.SSLObject | None) -> ClientChain | None:
    """The client's certificates after the handshake; None without TLS or without a client certificate."""
    own = None if tls is None else tls.getpeercert(binary_form=True)
    if not own:
        return None
    given = getattr(tls, "get_unverified_chain", None)  # public from Python 3.13 on
    if given is None:
        given = getattr(getattr(tls, "_sslobj", None), "get_unverified_chain", None)
    found = (given() if given is not None else None) or ()  # a resumed session has no chain
    others = tuple(each if isinstance(each, bytes) else each.public_bytes(_DER) for each in found)
    return ClientChain((own, *(each for each in others if each != own)))
