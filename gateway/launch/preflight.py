"""Checks files and addresses before anything is started; each error is one line."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from gateway.files import check_writable, look_writable, words
from gateway.settings.config import InvalidSettings, Settings


def check_files(settings: Settings, *, touch: bool = True) -> None:
    """Checks the files that the settings name: reads the input files, and opens the output files for writing.

    With `touch` false, output files are not opened; only their permissions are checked. Raises InvalidSettings, with
    the name of the first flag that is wrong.
    """
    with _wrong("--token-auth-file", settings.token_auth_file):
        if settings.token_auth_file:
            from gateway.access.token_file import read_token_file

            read_token_file(settings.token_auth_file)
    _check_keys(settings)
    _check_access(settings)
    _check_encryption(settings)
    _check_audit(settings, touch)
    _check_tracing(settings)
    _check_apis(settings)
    with _wrong("--cluster-signing-cert-file", settings.cluster_signing_cert_file):
        if settings.cluster_signing_cert_file and settings.cluster_signing_key_file:
            from gateway.access.signing_authority import read_authority

            read_authority(settings.cluster_signing_cert_file, settings.cluster_signing_key_file)
    with _wrong("--identity-key-file", settings.identity_key_file):
        if settings.identity_key_file and len(identity_secret(settings.identity_key_file)) < 16:
            raise ValueError("the secret must have at least 16 bytes, such as of `openssl rand -hex 32`")
    with _wrong("--kubeconfig-out", settings.kubeconfig_out):
        if settings.kubeconfig_out:
            (check_writable if touch else look_writable)(settings.kubeconfig_out)


def _check_keys(settings: Settings) -> None:
    """Checks the certificates and keys of TLS, and the key that signs service account tokens."""
    if settings.tls_cert_file and settings.tls_private_key_file:
        _check_pair("--tls-cert-file", settings.tls_cert_file, settings.tls_private_key_file, ssl.PROTOCOL_TLS_SERVER)
    for pair in settings.tls_sni_cert_key:
        _check_pair("--tls-sni-cert-key", pair.certificate, pair.key, ssl.PROTOCOL_TLS_SERVER)
    if settings.etcd_certfile and settings.etcd_keyfile:
        _check_pair("--etcd-certfile", settings.etcd_certfile, settings.etcd_keyfile, ssl.PROTOCOL_TLS_CLIENT)
    with _wrong("--etcd-cafile", settings.etcd_cafile):
        if settings.etcd_cafile:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(settings.etcd_cafile)
    with _wrong("--service-account-signing-key-file", settings.service_account_signing_key_file):
        if settings.service_account_signing_key_file:
            from gateway.access.keys import signing_key

            try:
                signing_key(settings)
            except (ValueError, TypeError) as error:
                ours = str(settings.service_account_signing_key_file) in str(error)
                raise ValueError(str(error) if ours else "it is not a private key in PEM without a password") from None


def _check_apis(settings: Settings) -> None:
    if settings.etcd_servers_overrides:
        from gateway.kinds.builtin import builtin_registry
        from gateway.launch.etcd_placement import servers_apart
        from gateway.settings.release import chosen_release

        servers_apart(settings, builtin_registry(release=chosen_release(settings, gates=False)))
    if settings.feature_gates:
        from gateway.release.gates import InvalidGates
        from gateway.settings.release import chosen_release

        try:
            chosen_release(settings)
        except InvalidGates as error:
            raise InvalidSettings(f"--feature-gates: {error}") from None
    if settings.runtime_config:
        from gateway.kinds.builtin import builtin_registry
        from gateway.kinds.enablement import UnknownApi, switched_off, switched_on
        from gateway.settings.release import chosen_release

        try:
            release = chosen_release(settings, gates=False)
            on = switched_on(release, settings.runtime_config)
            switched_off(builtin_registry(release=release, early=on), settings.runtime_config)
        except UnknownApi as error:
            raise InvalidSettings(f"--runtime-config: {error}") from None


def _check_access(settings: Settings) -> None:
    for flag, path in (
        ("--client-ca-file", settings.client_ca_file),
        ("--requestheader-client-ca-file", settings.requestheader_client_ca_file),
    ):
        with _wrong(flag, path):
            if path:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    _check_issuers(settings)
    _check_deciders(settings)
    for path in settings.service_account_key_file:
        with _wrong("--service-account-key-file", path):
            from gateway.access.keys import read_keys

            read_keys(path)


def _check_issuers(settings: Settings) -> None:
    with _wrong("--oidc-ca-file", settings.oidc_ca_file):
        if settings.oidc_ca_file:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(settings.oidc_ca_file)
    with _wrong("--authentication-config", settings.authentication_config):
        if settings.authentication_config:
            from gateway.access.issuers.configuration import read_authentication
            from gateway.settings.release import chosen_release

            enabled = chosen_release(settings).gates.enabled
            found = read_authentication(settings.authentication_config, settings.service_account_issuer, enabled)
            if found.anonymous is not None and not settings.anonymous_auth:
                raise ValueError("it configures anonymous users, and so does --anonymous-auth: use one of them")
    _check_place("--authentication-token-webhook-config-file", settings.authentication_token_webhook_config_file)


def _check_deciders(settings: Settings) -> None:
    with _wrong("--authorization-config", settings.authorization_config):
        if settings.authorization_config:
            from gateway.access.authorization_configuration import read_authorizers
            from gateway.access.remote import read_place
            from gateway.settings.release import chosen_release

            for each in read_authorizers(settings.authorization_config, chosen_release(settings).gates.enabled):
                if each.webhook:
                    read_place(each.webhook.kubeconfig)
    _check_place("--authorization-webhook-config-file", settings.authorization_webhook_config_file)
    path = settings.admission_control_config_file
    if path or settings.enable_admission_plugins:
        from gateway.admission.plugins import configure
        from gateway.launch.kinds import registry_of

        plugins = settings.enable_admission_plugins, settings.disable_admission_plugins
        with _wrong("--admission-control-config-file", path):
            configure(path, *plugins, partial(registry_of, replace(settings, feature_gates=(), runtime_config=())))


def _check_encryption(settings: Settings) -> None:
    with _wrong("--encryption-provider-config", settings.encryption_provider_config):
        if settings.encryption_provider_config:
            from gateway.encryption.configuration import read_rules

            read_rules(settings.encryption_provider_config)


def _check_audit(settings: Settings, touch: bool) -> None:
    with _wrong("--audit-policy-file", settings.audit_policy_file):
        if settings.audit_policy_file:
            from gateway.audit.policy import read_policy

            read_policy(settings.audit_policy_file)
    path = Path(settings.audit_log_path)
    with _wrong("--audit-log-path", path):
        if settings.audit_policy_file and settings.audit_log_path not in ("", "-"):
            (_open_log if touch else look_writable)(path)
    _check_place("--audit-webhook-config-file", settings.audit_webhook_config_file)


def _check_tracing(settings: Settings) -> None:
    with _wrong("--tracing-config-file", settings.tracing_config_file):
        if settings.tracing_config_file:
            from gateway.tracing.configuration import read_tracing

            read_tracing(settings.tracing_config_file)
            try:
                from gateway.tracing import tracer  # noqa: F401
            except ImportError as error:
                raise ValueError(
                    f"pip install 'apiserver-gateway[tracing]' installs the modules for traces: {error}"
                ) from None


def _open_log(path: Path) -> None:
    from gateway.audit.rotation import Keeping, RotatedFile

    file = RotatedFile(path, Keeping())
    file.open()
    file.close()


def _check_place(flag: str, path: Path | None) -> None:
    with _wrong(flag, path):
        if path:
            from gateway.access.remote import read_place

            read_place(path)


def identity_secret(path: Path) -> bytes:
    """The secret in a file, without the white space around it. Raises OSError."""
    return path.read_bytes().strip()


def resolved(host: str) -> str:
    """The address of a host name, IPv4 if it has one. An address is returned unchanged. Raises InvalidSettings."""
    if not host:
        return host
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidSettings(f"--advertise-address={host}: {reason}") from None
    return str(min(found, key=lambda each: each[0] != socket.AF_INET)[4][0])


def _check_pair(flag: str, certificate: Path, key: Path, protocol: int) -> None:
    with _wrong(flag, certificate):
        try:
            ssl.SSLContext(protocol).load_cert_chain(certificate, key, password=_no_password)
        except ssl.SSLError as error:
            reason = f": {error.reason.replace('_', ' ').lower()}" if error.reason else ""
            raise ValueError(f"{certificate} and {key} are not a certificate and its key in PEM{reason}") from None


def _no_password() -> str:
    raise ValueError("its key is encrypted: give a key without a password")


@contextmanager
def _wrong(flag: str, path: Path | None) -> Iterator[None]:
    """Turns errors of the block into InvalidSettings with the names of the flag and its file."""
    from gateway.access.token_file import InvalidTokenFile

    try:
        yield
    except ssl.SSLError:
        raise InvalidSettings(f"{flag}: {path} has no certificate in PEM") from None
    except UnicodeDecodeError as error:
        raise InvalidSettings(f"{flag}: {path} is not UTF-8: byte {error.start} is wrong") from None
    except OSError as error:
        raise InvalidSettings(f"{flag}: cannot use {words(error, path)}") from None
    except (InvalidTokenFile, ValueError) as error:
        said = " ".join(str(error).split())
        raise InvalidSettings(f"{flag}: {said if str(path) in said else f'{path}: {said}'}") from None
