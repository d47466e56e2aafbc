"""PEM blocks of certificates and of requests for them (RFC 7468), read as Go reads them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from gateway.pem import blocks
from gateway.validation.field import go_quote

_header = re.compile(rb"[^\n:]+:[^\n]*\n").match


def pem_blocks(data: bytes) -> Iterator[tuple[str, bool, bytes]]:
    """The blocks' types, whether they have headers, and their contents; what is no block is skipped."""
    for kind, body, _ in blocks(data):
        at = 0
        while header := _header(body, at):
            at = header.end()
        try:
            content = base64.b64decode(b"".join(body[at:].split()), validate=True)
        except binascii.Error:
            continue
        yield kind.decode("utf-8", "replace"), at > 0, content


def request_problem(data: bytes) -> str:
    """Why it is no certificate request that is signed with its own key; empty if it is."""
    block = next(pem_blocks(data), None)
    if block is None or block[0] != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        request = x509.load_der_x509_csr(block[2])
        return "" if request.is_signature_valid else "x509: ECDSA verification failure"
    except UnsupportedAlgorithm:
        return "x509: cannot verify signature: algorithm unimplemented"
    except ValueError:
        return _asn1_problem(block[2])


def _asn1_problem(der: bytes) -> str:
    if not der:
        return "asn1: syntax error: sequence truncated"
    if len(der) < 2 or (der[1] < 0x80 and len(der) < der[1] + 2) or der[1] >= 0x80:
        return "asn1: syntax error: data truncated"
    return "asn1: structure error: tags don't match"


def certificates_problem(data: bytes) -> str:
    """Why it is no sequence of certificates; empty if it is, or if there is nothing."""
    if not data:
        return ""
    count = 0
    for kind, headers, content in pem_blocks(data):
        if kind != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {go_quote(kind)}"
        if headers:
            return "no PEM block headers are permitted"
        count += 1
        try:
            x509.load_der_x509_certificate(content)
        except ValueError:
            return "x509: malformed certificate"
    return "" if count else "must contain at least one CERTIFICATE PEM block"
