"""Users by client certificates, and by the headers of a proxy that shows one ("Authenticating", "X509 client
certificates" and "Authenticating Proxy").

TLS has verified that one of the authorities signed the certificate; here is decided which one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.access.authentication import Headers, InvalidCredentials
from gateway.access.following import Followed
from gateway.http.escapes import text_of, unescaped, valid_escapes
from gateway.http.user import User, extra_of
from gateway.settings.config import Settings

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_UID = "1.3.6.1.4.1.57683.2"


class Authorities:
    """The certificates of a CA file. Raises OSError, and ValueError for one that has none."""

    def __init__(self, path: Path, *, alone: bool) -> None:
        """`alone` says that TLS trusts nobody else: what it has verified is of these."""
        self._path, self._alone = path, alone
        self._issued = lru_cache(1024)(self._has_issued)
        self._certificates = () if alone else self._read()

    def vouch_for(self, der: bytes) -> bool:
        """Whether a certificate that TLS has verified is one of theirs, and still valid."""
        return (self._alone or self._issued(der)) and time.time() < expiry_of(der)

    def reload(self) -> None:
        """Reads the file anew: whom others have vouched for is unknown from now on. Raises OSError, ValueError."""
        self._certificates = self._read()
        self._alone = False  # a connection may be older than the file
        self._issued.cache_clear()

    def _read(self) -> Sequence[Certificate]:
        from cryptography.x509 import load_pem_x509_certificates

        return load_pem_x509_certificates(self._path.read_bytes())

    def _has_issued(self, der: bytes) -> bool:
        return any(_has_issued(each, der) for each in self._certificates)


class ClientCertificates:
    """The common name is the user, the organizations are the groups."""

    def __init__(self, authorities: Authorities) -> None:
        self._authorities = authorities

    def authenticate(self, certificate: bytes, headers: Headers) -> User | None:
        """The certificate's user; None for one without a common name. Raises InvalidCredentials."""
        if not self._authorities.vouch_for(certificate):
            raise InvalidCredentials("x509: certificate signed by unknown authority")
        return _user_of(certificate)


class FrontProxy:
    """The user that a proxy names in headers, for proxies with a certificate of their own authority."""

    def __init__(
        self,
        authorities: Authorities,
        *,
        names: Sequence[str],
        uids: Sequence[str],
        groups: Sequence[str],
        prefixes: Sequence[str],
        allowed: Sequence[str],
    ) -> None:
        """Header names are those of the --requestheader flags; `allowed` common names, any where there are none."""
        self._authorities, self._allowed = authorities, frozenset(allowed)
        self._names, self._uids, self._groups = _lower(names), _lower(uids), _lower(groups)
        self._prefixes = _lower(prefixes)

    def authenticate(self, certificate: bytes, headers: Headers) -> User | None:
        """The user that the headers name; None where they name none. Raises InvalidCredentials."""
        if not self._authorities.vouch_for(certificate):
            raise InvalidCredentials("x509: certificate signed by unknown authority")
        name = _common_name(certificate)
        if self._allowed and name not in self._allowed:
            raise InvalidCredentials(f"x509: subject with cn={name} is not in the allowed list")
        user = _first(headers, self._names)
        if not user:
            return None
        groups = tuple(value for each in self._groups for value in _all(headers, each) if value)
        return User(user, groups, _first(headers, self._uids), extra_of(self._extra(headers)))

    def _extra(self, headers: Headers) -> dict[str, list[str]]:
        extra: dict[str, list[str]] = {}
        for prefix in self._prefixes:
            for header, value in headers:
                if header.startswith(prefix):
                    encoded = header[len(prefix) :]
                    key = unescaped(encoded) if valid_escapes(encoded) else text_of(encoded)
                    extra.setdefault(key, []).append(text_of(value))
        return extra


def certificate_authenticators(settings: Settings) -> tuple[list[ClientCertificates | FrontProxy], list[Followed]]:
    """The authenticators that the settings ask for, in order, and their files. Raises OSError, ValueError."""
    found: list[ClientCertificates | FrontProxy] = []
    followed: list[Followed] = []

    def authorities(flag: str, path: Path) -> Authorities:
        made = Authorities(path, alone=alone)
        if path != settings.cert_dir / "ca.crt":  # the server's own CA stays what it is
            followed.append(Followed(flag, (path,), made.reload))
        return made

    proxies, clients = settings.requestheader_client_ca_file, settings.client_ca_file
    alone = proxies is None or clients is None or proxies == clients
    if proxies is not None:
        found.append(
            FrontProxy(
                authorities("--requestheader-client-ca-file", proxies),
                names=settings.requestheader_username_headers,
                uids=settings.requestheader_uid_headers,
                groups=settings.requestheader_group_headers,
                prefixes=settings.requestheader_extra_headers_prefix,
                allowed=settings.requestheader_allowed_names,
            )
        )
    if clients is not None:
        found.append(ClientCertificates(authorities("--client-ca-file", clients)))
    return found, followed


def _has_issued(authority: Certificate, der: bytes) -> bool:
    try:
        _parsed(der).verify_directly_issued_by(authority)
    except Exception:  # whatever kind of key or signature it is that does not fit
        return False
    return True


def _parsed(der: bytes) -> Certificate:
    from cryptography.x509 import load_der_x509_certificate

    return load_der_x509_certificate(der)


def _attributes(der: bytes, dotted: str) -> list[str]:
    from cryptography.x509 import ObjectIdentifier

    found = _parsed(der).subject.get_attributes_for_oid(ObjectIdentifier(dotted))
    return [each.value if isinstance(each.value, str) else text_of(each.value) for each in found]


@lru_cache(1024)
def expiry_of(der: bytes) -> float:
    """When a certificate expires, in seconds since the epoch."""
    return _parsed(der).not_valid_after_utc.timestamp()


@lru_cache(1024)
def _common_name(der: bytes) -> str:
    names = _attributes(der, "2.5.4.3")
    return names[-1] if names else ""


@lru_cache(1024)
def _user_of(der: bytes) -> User | None:
    name = _common_name(der)
    if not name:
        return None
    uids = _attributes(der, _UID)
    if len(uids) > 1:
        raise InvalidCredentials(f"expected 1 UID, but found multiple: {uids}")
    if uids == [""]:
        raise InvalidCredentials("UID cannot be an empty string")
    identity = f"X509SHA256={sha256(der).hexdigest()}"
    groups = tuple(_attributes(der, "2.5.4.10"))
    return User(name, groups, uids[0] if uids else "", ((CREDENTIAL_ID, (identity,)),))


def _lower(names: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(name.strip().lower().encode() for name in names)


def _all(headers: Headers, name: bytes) -> list[str]:
    return [text_of(value) for header, value in headers if header == name]


def _first(headers: Headers, names: Sequence[bytes]) -> str:
    for name in names:
        values = _all(headers, name)
        if values and values[0]:
            return values[0]
    return ""
