"""Whom a call out trusts."""

from __future__ import annotations

import ssl


def trusting(authorities: str) -> ssl.SSLContext:
    """A context that trusts certificates, PEM, and what they signed; the host's CAs where there are none.

    As in Go, each of them is an end of the chain, whoever signed it: what is given may be the server's own certificate,
    as envtest of controller-runtime does. Raises ValueError (ssl.SSLError) for what is no certificate.
    """
    context = ssl.create_default_context(cadata=authorities or None)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
