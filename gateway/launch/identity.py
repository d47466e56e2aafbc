"""The identity of a server: its certificate, its keys, and the token of its administrator."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import urlsplit

from gateway.credentials.certificates import CertificateFiles, ensure_certificates
from gateway.credentials.front_proxy import ensure_front_proxy, is_own
from gateway.launch.errors import LaunchError
from gateway.launch.ports import ANY_ADDRESS
from gateway.launch.preflight import identity_secret
from gateway.settings.config import Settings


def identity_of(settings: Settings, advertised: str) -> tuple[CertificateFiles, str]:
    """The serving certificate, given by flags or generated, and the administrator's token ("" if none is needed).

    Missing files are created in --cert-dir. `advertised` is the value of --advertise-address before it was resolved.
    Raises LaunchError, OSError, ValueError.
    """
    if settings.identity_key_file:
        from gateway.credentials.identity import IdentityError, take_shared

        try:
            take_shared(settings, identity_secret(settings.identity_key_file))
        except IdentityError as error:
            raise LaunchError(str(error)) from None
    if settings.tls_cert_file and settings.tls_private_key_file:
        made = CertificateFiles(settings.tls_cert_file, settings.tls_cert_file, settings.tls_private_key_file)
    else:
        external = urlsplit(settings.kubeconfig_server).hostname or ""
        names = {settings.bind_address, advertised, settings.advertise_address, _service_address(settings), external}
        if settings.control_planes_domain:
            names.add(f"*.{settings.control_planes_domain}")
        made = ensure_certificates(settings.cert_dir, {*names, *settings.tls_san} - ANY_ADDRESS)
    if is_own(settings):
        with suppress(OSError):  # with all keys given by flags, the directory may be read-only
            ensure_front_proxy(settings.cert_dir)
    token = settings.admin_token
    if not token and (settings.kubeconfig_out or not settings.token_auth_file):
        from gateway.credentials.identity import kept_token

        token = kept_token(settings.cert_dir)
    if settings.service_account_signing_key_file is None:
        _check_own_key(settings)
    return made, token


def _check_own_key(settings: Settings) -> None:
    """Creates the key that signs service account tokens if it is missing, so that no request waits for it.

    Raises OSError, ValueError.
    """
    from gateway.access.keys import KEY_FILE, signing_key

    try:
        signing_key(settings)
    except (TypeError, ValueError) as error:  # TypeError: the key has a password
        raise ValueError(f"{settings.cert_dir / KEY_FILE}: {error}") from None


def _service_address(settings: Settings) -> str:
    """The cluster IP of the service `kubernetes`: the first address of the range."""
    from ipaddress import ip_network

    return str(ip_network(settings.service_cluster_ip_range.partition(",")[0])[1])
