"""What --control-planes needs of the other flags, and the settings of a control plane below /clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.release.minors import GIT_VERSIONS
from gateway.settings.config import InvalidSettings, Settings

COMMON = "-clusters"
"""After the prefix of the root's keys: the prefix of those of all control planes."""
_CONFIGURED = frozenset({"ImagePolicyWebhook"})  # plug-ins that need a file, which only the root has
_OWN = "control-planes"  # below --cert-dir: nothing is ever there, so no control plane uses the server's own keys

_OF_ROOT: dict[str, Any] = dict.fromkeys((
    "tls_private_key_file",
    "identity_key_file",
    "token_auth_file",
    "authentication_config",
    "authentication_token_webhook_config_file",
    "oidc_ca_file",
    "authorization_config",
    "authorization_webhook_config_file",
    "client_ca_file",
    "requestheader_client_ca_file",
    "proxy_client_cert_file",
    "proxy_client_key_file",
    "kubelet_certificate_authority",
    "kubelet_client_certificate",
    "kubelet_client_key",
    "service_account_signing_key_file",
    "cluster_signing_cert_file",
    "cluster_signing_key_file",
    "admission_control_config_file",
    "audit_policy_file",
    "tracing_config_file",
))  # fmt: skip
"""Files of the root that a control plane does not read."""


def check_beside(settings: Settings) -> None:
    """Raises InvalidSettings for a flag that does not go with --control-planes."""
    for flag, given in (
        ("--etcd-servers-overrides", settings.etcd_servers_overrides),
        ("--encryption-provider-config", settings.encryption_provider_config),
    ):
        if given:
            raise InvalidSettings(f"--control-planes does not go with {flag} yet: leave one of them out")
    _check_domain(settings)


def _check_domain(settings: Settings) -> None:
    """Raises InvalidSettings if a control plane could have the name of this server."""
    domain = settings.control_planes_domain
    own = (urlsplit(settings.kubeconfig_server).hostname or "", *settings.tls_san)
    for name in own if domain else ():
        if name.lower().partition(".")[2] == domain.lower() and not name.startswith("*"):
            raise InvalidSettings(
                f"--control-planes-domain={domain}: {name} would be a control plane, and is a name of this server; "
                "give another domain"
            )


def common_prefix(settings: Settings) -> str:
    """The prefix of the keys of all control planes below /clusters, beside that of the root's keys."""
    return f"{settings.etcd_prefix}{COMMON}"


def with_version(root: Settings, version: str) -> Settings:
    """The settings of the server as those of one of another minor; those of the server itself if `version` is "".

    Its gates and groups are those of a server with no flags for them, since other minors have others. Raises ValueError
    for a minor that this server does not have: a newer version of it has.
    """
    if not version:
        return root
    if version not in GIT_VERSIONS:
        raise ValueError(f"this server does not serve Kubernetes {version}")
    released: dict[str, Any] = {
        "emulated_version": "",
        "min_compatibility_version": "",
        "feature_gates": (),
        "runtime_config": (),
    }
    return replace(root, kubernetes_version=version, **released)


@dataclass(frozen=True, slots=True)
class ClusterCredentials:
    """What belongs to one control plane: the administrator's token, the key (PEM) that signs the tokens of service
    accounts, and the CA (PEM) that signs certificates of its clients, with its key; "" stands for no CA.
    """

    token: str
    key: str
    authority: str = ""
    authority_key: str = ""


def settings_of(
    root: Settings, name: str, uid: str, url: str, credentials: ClusterCredentials, version: str = ""
) -> Settings:
    """The settings of a control plane: those of the server, without its credentials and without its ways to know users.

    `url` is its own, and so are the `credentials`. Its issuer has its uid. It shows no certificate, signs with its own
    CA alone, and reads no file of the root but the CA that its clients trust. `version` is its minor, "" that of the
    server. Raises ValueError for one that the server does not have.
    """
    issuer = f"{root.service_account_issuer[0].rstrip('/')}/clusters/{name}/{uid}"
    return replace(
        with_version(root, version),
        **_OF_ROOT,
        etcd_prefix=f"{common_prefix(root)}/{uid}",
        shown_prefix=root.etcd_prefix,
        cert_dir=root.cert_dir / _OWN,
        tls_cert_file=authority_of(root),
        admin_token=credentials.token,
        anonymous_auth=root.anonymous_auth and root.authentication_config is None,
        enable_admission_plugins=root.enable_admission_plugins - _CONFIGURED,
        oidc_issuer_url="",
        authorization_mode=("RBAC",),
        api_audiences=(),
        service_account_issuer=(issuer,),
        service_account_key_file=(),
        service_account_key=credentials.key,
        client_authority=credentials.authority,
        client_authority_key=credentials.authority_key,
        service_account_jwks_uri=f"{url}/openid/v1/jwks",
        enable_priority_and_fairness=False,
        profiling=False,
        recorder=False,
        control_planes=False,
        control_planes_domain="",
        control_planes_metrics=0,
    )


def authority_of(root: Settings) -> Path:
    """The certificates by which clients trust the server."""
    return root.tls_cert_file or root.cert_dir / "ca.crt"
