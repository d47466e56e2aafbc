"""Which certificate a client is shown: that of the name that it asks for in the TLS handshake (SNI)."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path

from gateway.settings.named_pairs import NamedPair


def choose_by_name(context: ssl.SSLContext, named: Mapping[str, ssl.SSLContext]) -> None:
    """Makes handshakes of `context` use that of the requested name, as Go does: the name, else with a wildcard for
    its first label, else `context` itself.
    """

    def choose(handshake: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        if name:
            name = name.lower().rstrip(".")
            found = named.get(name) or named.get(f"*.{name.partition('.')[2]}")
            if found is not None:
                handshake.context = found

    context.sni_callback = choose


def by_name(made: Iterable[tuple[NamedPair, ssl.SSLContext]]) -> dict[str, ssl.SSLContext]:
    """The contexts by the names for which they are. Names that a flag says win over those of certificates, and what is
    given first over what comes later. Raises OSError, ValueError for files that are no certificate.
    """
    explicit: dict[str, ssl.SSLContext] = {}
    own: dict[str, ssl.SSLContext] = {}
    for pair, context in made:
        names, known = (pair.names, explicit) if pair.names else (names_of(pair.certificate), own)
        for name in names:
            known.setdefault(name, context)
    return own | explicit


def names_of(path: Path) -> list[str]:
    """The names that a certificate says of itself: its common name where that is one of a host, and its DNS names."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    from gateway.settings.flag_values import host

    certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    found: list[str] = []
    for common in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
        try:
            found.append(host(str(common.value)))
        except ValueError:
            continue
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        found += extension.value.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        pass
    return [name.lower() for name in found]
