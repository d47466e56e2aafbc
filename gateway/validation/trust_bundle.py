"""Trust anchors as PEM, and the names of the objects that hold them (KEP-3257, API reference ClusterTrustBundle)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from cryptography import x509

from gateway.certificate_reader import UnsupportedKey, certificate_of, extensions_of, public_key_of
from gateway.pem import blocks
from gateway.validation.field import FieldError, invalid, too_long
from gateway.validation.names import byte_length, name_is_dns_subdomain
from gateway.validation.objectmeta import NameRule

MAX_TRUST_BUNDLE = 1024 * 1024
_OMITTED = "<value omitted>"


def name_rule(signer: str) -> NameRule:
    """The name rule of ClusterTrustBundles of a signer: a name begins with that of the signer. "" is not a signer."""
    prefix = signer.replace("/", ":") + ":"

    def rule(name: str, generated: bool) -> Sequence[str]:
        if not signer:
            without = 'ClusterTrustBundle without signer name must not have ":" in its name'
            return (without,) if ":" in name else name_is_dns_subdomain(name, generated)
        if not name.startswith(prefix):
            return (f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}",)
        return name_is_dns_subdomain(name.removeprefix(prefix), generated)

    return rule


def validate_anchors(text: str, path: str) -> list[FieldError]:
    """The PEM text must have at least one certificate, only CA certificates, and none twice.

    Its size is checked before it is parsed.
    """
    if byte_length(text) > MAX_TRUST_BUNDLE:
        return [too_long(path, MAX_TRUST_BUNDLE)]
    found, places = list[FieldError](), dict[bytes, list[int]]()
    for i, (kind, headers, content, _) in enumerate(blocks(text.encode())):
        if problem := _problem(kind, headers, content):
            found.append(invalid(path, _OMITTED, f"entry {i} {problem}"))
        else:
            places.setdefault(content, []).append(i)
    if found:
        return found
    if not places:
        return [invalid(path, _OMITTED, "at least one trust anchor must be provided")]
    twice = [" ".join(map(str, each)) for each in places.values() if len(each) > 1]
    return [invalid(path, _OMITTED, f"duplicate trust anchor (indices [{each}])") for each in twice]


def _problem(kind: str, headers: bool, content: bytes) -> str:
    """Why a PEM block is not a trust anchor; "" if it is one."""
    if kind != "CERTIFICATE":
        return f"has bad block type: {kind}"
    if headers:
        return "has PEM block headers"
    try:
        certificate = certificate_of(content)
        with suppress(
            UnsupportedKey
        ):  # Go reads a certificate with a key of an unknown algorithm, but of no other curve
            public_key_of(certificate)
        constraints = extensions_of(certificate).get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return "does not have the CA bit set"
    except ValueError:
        return "does not parse as X.509"
    return "" if constraints.value.ca else "does not have the CA bit set"
