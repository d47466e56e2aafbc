"""Chooses the server certificate by the host name that the client sends in the TLS handshake (SNI)."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path

from gateway.settings.named_pairs import NamedPair


def choose_by_name(context: ssl.SSLContext, named: Mapping[str, ssl.SSLContext]) -> None:
    """Makes handshakes of `context` use the context of the requested name. As in Go, the name itself is looked up
    first, then the name with "*" as its first label; without either, `context` itself is used.
    """

    def choose(handshake: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        if name:
            name = name.lower().rstrip(".")
            found = named.get(name) or named.get(f"*.{name.partition('.')[2]}")
            if found is not None:
                handshake.context = found

    context.sni_callback = choose


def by_name(made: Iterable[tuple[NamedPair, ssl.SSLContext]]) -> dict[str, ssl.SSLContext]:
    """The contexts by host name. Names in the flag take precedence over those in certificates, and earlier pairs over
    later ones. Raises OSError, and ValueError for an invalid certificate.
    """
    explicit: dict[str, ssl.SSLContext] = {}
    own: dict[str, ssl.SSLContext] = {}
    for pair, context in made:
        names, known = (pair.names, explicit) if pair.names else (names_of(pair.certificate), own)
        for name in names:
            known.setdefault(name, context)
    return own | explicit


def names_of(path: Path) -> list[str]:
    """The host names in a certificate: its common name, if that is a valid host name, and its DNS names. Raises
    OSError, ValueError.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    from gateway.certificate_reader import subject_of
    from gateway.settings.flag_values import host

    certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    found: list[str] = []
    for common in subject_of(certificate).get_attributes_for_oid(NameOID.COMMON_NAME):
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
