"""The client certificate for calls of extension API servers, if the flags name neither one nor CAs of front proxies.

A CA is made for this certificate only, and its key is not stored. Extension API servers find the CAs of all replicas in
the ConfigMap `extension-apiserver-authentication`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from gateway.access.signing_authority import load_authority, new_request, now
from gateway.credentials.certificates import VALIDITY, new_authority
from gateway.files import exclusive, replace_file
from gateway.outbound.identity import ClientIdentity
from gateway.settings.config import Settings

NAME = "front-proxy-client"  # the common name
CA_FILE, CERTIFICATE_FILE, KEY_FILE = "front-proxy-ca.crt", "front-proxy-client.crt", "front-proxy-client.key"


def is_own(settings: Settings) -> bool:
    """Whether the server makes a certificate of its own. With --requestheader-client-ca-file alone it makes none:
    kube-apiserver tells extension API servers of that file's CAs only, and shows them no certificate.
    """
    return settings.proxy_client_cert_file is None and settings.requestheader_client_ca_file is None


def front_proxy_identity(settings: Settings) -> ClientIdentity:
    """The client certificate of --proxy-client-cert-file, or else that of `ensure_front_proxy`; an empty identity if
    that could not be made, or is not wanted (`is_own`).
    """
    if not is_own(settings):
        return ClientIdentity(settings.proxy_client_cert_file, settings.proxy_client_key_file)
    own = settings.cert_dir / CERTIFICATE_FILE, settings.cert_dir / KEY_FILE
    return ClientIdentity(*own) if all(path.is_file() for path in own) else ClientIdentity(None, None)


def ensure_front_proxy(directory: Path) -> None:
    """Makes CA, certificate and key if one is missing or half the lifetime is over. Raises OSError."""
    paths = [directory / name for name in (CA_FILE, CERTIFICATE_FILE, KEY_FILE)]
    if all(path.is_file() for path in paths):
        made = datetime.fromtimestamp(paths[1].stat().st_mtime, UTC)
        if datetime.now(UTC) - made < VALIDITY / 2:
            return

    directory.mkdir(parents=True, exist_ok=True)
    with exclusive(directory):
        authority = new_authority()
        request, key = new_request(NAME, [])
        signer = load_authority(authority.certificate, authority.key)
        certificate = signer.sign(request, ("digital signature", "client auth"), VALIDITY, now())
        replace_file(paths[0], authority.certificate, 0o644)
        replace_file(paths[2], key, 0o600)
        replace_file(paths[1], certificate, 0o644)
