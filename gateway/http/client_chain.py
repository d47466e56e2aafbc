"""The certificate that a TLS client has shown, with those that it has sent beside. None of them is judged yet."""

from __future__ import annotations

import ssl
from typing import Any

_DER = 2  # _ssl.ENCODING_DER

Verdict = tuple[int, float, float]  # of which content of a pool it is, until when it is good, when to judge anew


class ClientChain:
    """The certificates of one connection in DER, the client's own first: it has shown that it holds that one's key.

    `verdicts` has what pools of CAs have found, `expiry` when the client's own ends where that is known; both live as
    long as the connection, so that what strangers show is kept no longer.
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
    """What the client of a finished handshake has shown; None where it has shown nothing."""
    own = None if tls is None else tls.getpeercert(binary_form=True)
    if not own:
        return None
    given = getattr(tls, "get_unverified_chain", None)  # public from Python 3.13 on
    if given is None:
        given = getattr(getattr(tls, "_sslobj", None), "get_unverified_chain", None)
    found = (given() if given is not None else None) or ()  # nothing of a session that was resumed
    others = tuple(each if isinstance(each, bytes) else each.public_bytes(_DER) for each in found)
    return ClientChain((own, *(each for each in others if each != own)))
