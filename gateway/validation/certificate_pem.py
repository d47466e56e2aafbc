"""Checks PEM with certificates, or with a certificate request. Messages are Go's."""

from __future__ import annotations

from gateway.certificate_reader import (
    REQUEST,
    TooLong,
    UnsupportedCurve,
    UnsupportedKey,
    certificate_of,
    request_of,
    signature_problem,
)
from gateway.pem import blocks
from gateway.validation.field import go_quote


def request_problem(data: bytes) -> str:
    """Why PEM bytes do not begin with a certificate request that is signed by its own key; "" if they do."""
    block = next(blocks(data), None)
    if block is None or block.kind != REQUEST:
        return f"PEM block type must be {REQUEST}"
    try:
        return signature_problem(request_of(block.content))
    except UnsupportedKey:
        return "x509: cannot verify signature: algorithm unimplemented"
    except (TooLong, UnsupportedCurve) as error:
        return str(error)
    except ValueError:
        return _asn1_problem(block.content)


def _asn1_problem(der: bytes) -> str:
    if not der:
        return "asn1: syntax error: sequence truncated"
    if len(der) < 2 or (der[1] < 0x80 and len(der) < der[1] + 2) or der[1] >= 0x80:
        return "asn1: syntax error: data truncated"
    return "asn1: structure error: tags don't match"


def certificates_problem(data: bytes) -> str:
    """Why PEM bytes are not a sequence of certificates; "" if they are, or are empty."""
    if not data:
        return ""
    count = 0
    for kind, headers, content, _ in blocks(data):
        if kind != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {go_quote(kind)}"
        if headers:
            return "no PEM block headers are permitted"
        count += 1
        try:
            certificate_of(content)
        except TooLong as error:
            return str(error)
        except ValueError:
            return "x509: malformed certificate"
    return "" if count else "must contain at least one CERTIFICATE PEM block"
