"""Makes a kubeconfig for any user and groups, with a client certificate. It needs the CA's key: for administrators."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from gateway.access.signing_authority import SigningError, new_request, now, read_authority
from gateway.credentials.kubeconfig import certificate_of, kubeconfig_of
from gateway.http.deadline import parse_duration
from gateway.settings.config import InvalidSettings


def client_kubeconfig(
    user: str, groups: Sequence[str], authority: tuple[Path, Path], trusted: bytes, server: str, expiration: str
) -> str:
    """The kubeconfig's text. `authority` has the files of the signing CA's certificate and key, `trusted` the server's
    CA in PEM. `expiration` is the lifetime in Go's duration syntax.

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
