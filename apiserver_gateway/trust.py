"""How clients judge certificates: as Go's do, on each Python."""

from __future__ import annotations

import ssl


def judge_as_go(context: ssl.SSLContext) -> None:
    """Has a client's context trust each certificate that it is given, whoever signed it, and ask for no extensions.

    Python 3.13 makes contexts that are strict (RFC 5280): they refuse a CA without an authority key identifier, which
    etcd, kubectl and kube-apiserver take (crypto/x509).
    """
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
