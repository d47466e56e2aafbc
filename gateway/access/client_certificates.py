"""Authentication by client certificates, and by the headers of a front proxy with a client certificate
("Authenticating", "X509 client certificates" and "Authenticating Proxy").

The TLS handshake proves only that the client holds the key of its certificate. Here the certificate is verified against
the CAs of --client-ca-file and --requestheader-client-ca-file (certificate_chains.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.access.authentication import Headers, InvalidCredentials
from gateway.access.file_reload import Followed
from gateway.http.client_chain import ClientChain
from gateway.http.escapes import text_of, unescaped, valid_escapes
from gateway.http.user import User, extra_of
from gateway.memo import Recent
from gateway.settings.config import Settings

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from gateway.access.certificate_chains import CertificatePool

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_UID = "1.3.6.1.4.1.57683.2"
_JUDGED_ANEW = 10.0  # seconds after which a refused certificate of a connection is verified again
_MOST_VERDICTS = 32  # for one connection


class Authorities:
    """The CAs of a PEM file, or of a text that never changes. Raises OSError if the file cannot be read."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read, self._content = read, read()
        self._pool: CertificatePool | None = None  # parsed when the first client shows a certificate
        self._version, self._place = 0, object()  # a connection keeps this key, and so not the CAs

    def vouch_for(self, chain: ClientChain) -> bool:
        """Whether one of the CAs has signed the client's certificate, and it is valid now. Raises InvalidCredentials if
        no CA can be read.
        """
        now = time.time()
        version, good_until, anew_at = chain.verdicts.get(self._place, (-1, 0.0, 0.0))
        if version == self._version and (now < good_until or now < anew_at):
            return now < good_until
        if self._pool is None:
            try:
                self._pool = _pool(self._content)
            except ValueError as error:
                raise InvalidCredentials("x509: the CAs of clients cannot be read") from error
        good_until = self._pool.good_until(chain.certificates)
        if len(chain.verdicts) >= _MOST_VERDICTS:  # a client that visits many control planes
            chain.verdicts.clear()
        chain.verdicts[self._place] = self._version, good_until, now + _JUDGED_ANEW
        return now < good_until

    def reload(self) -> None:
        """Reads the file again; all certificates are verified again after that. Raises OSError, ValueError."""
        content = self._read()
        self._pool, self._content = _pool(content), content
        self._version += 1


def _pool(content: bytes) -> CertificatePool:
    from cryptography.x509 import load_pem_x509_certificates

    from gateway.access.certificate_chains import CertificatePool

    return CertificatePool(load_pem_x509_certificates(content))


class ClientCertificates:
    """Authenticates by client certificate: the common name is the user, the organizations are the groups."""

    def __init__(self, authorities: Authorities) -> None:
        self._authorities = authorities

    def authenticate(self, chain: ClientChain, headers: Headers) -> User | None:
        """The certificate's user; None for one without a common name. Raises InvalidCredentials."""
        if not self._authorities.vouch_for(chain):
            raise InvalidCredentials("x509: certificate signed by unknown authority")
        return _user_of(chain.leaf)


class FrontProxy:
    """Authenticates by the headers in which a front proxy names the user. The proxy needs a certificate of the CAs of
    --requestheader-client-ca-file.
    """

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
        """`names`, `uids`, `groups` and `prefixes` are the header names of the --requestheader flags. `allowed` are the
        common names that proxies may have; if empty, any name is allowed.
        """
        self._authorities, self._allowed = authorities, frozenset(allowed)
        self._names, self._uids, self._groups = _lower(names), _lower(uids), _lower(groups)
        self._prefixes = _lower(prefixes)

    def authenticate(self, chain: ClientChain, headers: Headers) -> User | None:
        """The user that the headers name; None if they name none. Raises InvalidCredentials."""
        if not self._authorities.vouch_for(chain):
            raise InvalidCredentials("x509: certificate signed by unknown authority")
        name = _common_name(chain.leaf)
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
    """The authenticators that the settings name, in order, and their CA files to follow. Raises OSError, ValueError."""
    found: list[ClientCertificates | FrontProxy] = []
    followed: list[Followed] = []

    def authorities(flag: str, path: Path) -> Authorities:
        made = Authorities(path.read_bytes)
        if path != settings.cert_dir / "ca.crt":  # the server's own CA never changes while it runs
            followed.append(Followed(flag, (path,), made.reload))
        return made

    proxies, clients = settings.requestheader_client_ca_file, settings.client_ca_file
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
    if settings.client_authority:
        found.append(ClientCertificates(Authorities(settings.client_authority.encode)))
    return found, followed


def _parsed(der: bytes) -> Certificate:
    from gateway.certificate_reader import certificate_of

    return certificate_of(der)


def _attributes(der: bytes, dotted: str) -> list[str]:
    from cryptography.x509 import ObjectIdentifier

    from gateway.certificate_reader import subject_of

    try:
        found = subject_of(_parsed(der)).get_attributes_for_oid(ObjectIdentifier(dotted))
    except ValueError as error:
        raise InvalidCredentials(f"x509: the subject cannot be read: {error}") from None
    return [each.value if isinstance(each.value, str) else text_of(each.value) for each in found]


def expiry_of(chain: ClientChain) -> float:
    """When a client's certificate expires, in seconds since the epoch; 0.0 if it cannot be parsed."""
    if chain.expiry is None:
        try:
            chain.expiry = _parsed(chain.leaf).not_valid_after_utc.timestamp()
        except Exception:  # an invalid certificate raises errors of many kinds
            chain.expiry = 0.0
    return chain.expiry


_named: Recent[bytes, str] = Recent(1024, 4 << 20)
_users: Recent[bytes, User] = Recent(1024, 8 << 20)  # a certificate may have 100 kB: the handshake's bound


def _common_name(der: bytes) -> str:
    found = _named.find(der)
    if found is None:
        names = _attributes(der, "2.5.4.3")
        found = names[-1] if names else ""
        _named.keep(der, found, len(der) + len(found))
    return found


def _user_of(der: bytes) -> User | None:
    found = _users.find(der)
    if found is None and (found := _read_user(der)) is not None:
        _users.keep(der, found, len(der) + found.size)
    return found


def _read_user(der: bytes) -> User | None:
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
