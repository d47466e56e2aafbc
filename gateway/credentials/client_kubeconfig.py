"""Makes a kubeconfig for any user and groups, with a client certificate. Needs the CA's key: for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from gateway.access.signing import SigningError, new_request, now, read_authority
from gateway.credentials.kubeconfig import certificate_of, kubeconfig_of
from gateway.http.deadline import parse_duration
from gateway.settings.config import InvalidSettings


def client_kubeconfig(
    user: str, groups: Sequence[str], authority: tuple[Path, Path], trusted: bytes, server: str, expiration: str
) -> str:
    """Its text. `authority` is the certificate and key to sign with, `trusted` the server's CA.

    Raises OSError, ValueError, InvalidSettings.
    """
    signer = read_authority(*authority)
    lifetime = timedelta(seconds=parse_duration(expiration))
    if lifetime <= timedelta(0):
        raise InvalidSettings("--expiration must be more than 0")
    request, key = new_request(user, list(groups))
    try:
        certificate = signer.sign(request, ("digital signature", "client auth"), lifetime, now())
    except SigningError as error:
        raise InvalidSettings(str(error)) from None
    return kubeconfig_of(server, trusted, user, certificate_of(certificate, key))
