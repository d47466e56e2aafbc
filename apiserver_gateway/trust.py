"""Verifies certificates as Go's crypto/x509 does, with all versions of Python."""

from __future__ import annotations

import ssl


def judge_as_go(context: ssl.SSLContext) -> None:
    """Makes a client's context accept each of its CA certificates as a trust anchor, also one that is not self-signed,
    and require no X.509 extensions.

    Python 3.13 makes strict contexts (RFC 5280): they refuse a CA without an authority key identifier, which etcd,
    kubectl and kube-apiserver accept (crypto/x509).
    """
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
