"""The server's settings: one frozen object, read from flags and environment by `gateway.cli`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class InvalidSettings(Exception):
    """Settings that contradict each other or miss something; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What `apiserver-gateway serve` was told. Names are those of the flags."""

    bind_address: str = "0.0.0.0"
    secure_port: int = 6443
    cert_dir: Path = Path(".apiserver-gateway/certificates")
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    etcd_servers: tuple[str, ...] = ()
    etcd_prefix: str = "/registry"
    etcd_cafile: Path | None = None
    etcd_certfile: Path | None = None
    etcd_keyfile: Path | None = None
    etcd_username: str = ""
    etcd_password: str = ""
    etcd_compaction_interval: float = 300.0
    etcd_compaction_retention: float = 300.0
    embedded_etcd: bool = False
    data_dir: Path | None = None
    token_auth_file: Path | None = None
    anonymous_auth: bool = True
    authorization_mode: tuple[str, ...] = ("AlwaysAllow",)
    service_cluster_ip_range: str = "10.0.0.0/24"
    service_node_port_range: tuple[int, int] = (30000, 32767)
    service_account_issuer: str = "https://kubernetes.default.svc.cluster.local"
    service_account_signing_key_file: Path | None = None
    allow_privileged: bool = True
    enable_admission_plugins: frozenset[str] = frozenset()
    disable_admission_plugins: frozenset[str] = frozenset()
    kubeconfig_out: Path | None = None
    workers: int = 1
