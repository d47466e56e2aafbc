"""The server's settings: one frozen object, made by `settings.flags` from command line, environment and --config."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.release.minors import DEFAULT, check_emulated
from gateway.settings.admission_plugins import PLUGINS
from gateway.settings.named_pairs import NamedPair
from gateway.settings.tls_choices import CIPHER_SUITES, TLS_VERSIONS

if TYPE_CHECKING:
    from gateway.settings.etcd_overrides import EtcdOverride
    from storage.etcd import EtcdSettings

AUTHORIZATION_MODES = ("RBAC", "Node", "Webhook", "AlwaysAllow", "AlwaysDeny")  # the supported modes
AUDIT_MODES = ("batch", "blocking", "blocking-strict")
AUDIT_VERSION = "audit.k8s.io/v1"
REVIEW_VERSIONS = ("v1", "v1beta1")  # versions of the reviews that are sent to webhooks

_AUDIT_FLAGS = (
    "mode", "version", "batch-buffer-size", "batch-max-size", "batch-throttle-enable", "batch-throttle-qps",
    "batch-throttle-burst", "truncate-max-batch-size", "truncate-max-event-size",
)  # fmt: skip


class InvalidSettings(Exception):
    """The settings are wrong, incomplete or contradictory; the message says what to do."""


_FILES = (
    "token_auth_file", "tls_cert_file", "tls_private_key_file", "etcd_cafile", "etcd_certfile", "etcd_keyfile",
    "service_account_signing_key_file", "client_ca_file", "requestheader_client_ca_file", "service_account_key_file",
    "identity_key_file", "cluster_signing_cert_file", "cluster_signing_key_file", "authentication_config",
    "authentication_token_webhook_config_file", "oidc_ca_file", "authorization_config",
    "authorization_webhook_config_file", "admission_control_config_file", "encryption_provider_config",
    "audit_policy_file", "audit_webhook_config_file", "tracing_config_file",
)  # fmt: skip
"""The settings that name files that must exist, in the order of the checks."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `apiserver-gateway serve`. Each has the name of its flag. Durations are in seconds."""

    bind_address: str = "0.0.0.0"
    secure_port: int = 6443
    advertise_address: str = ""
    cert_dir: Path = Path("certificates")
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    tls_san: tuple[str, ...] = ()
    tls_sni_cert_key: tuple[NamedPair, ...] = ()
    external_hostname: str = ""
    permit_port_sharing: bool = False
    cors_allowed_origins: tuple[str, ...] = ()
    strict_transport_security_directives: tuple[str, ...] = ()
    request_timeout: float = 60.0
    min_request_timeout: int = 1800  # seconds; a watch lasts between this and twice this
    identity_key_file: Path | None = None
    etcd_servers: tuple[str, ...] = ()
    etcd_servers_overrides: tuple[EtcdOverride, ...] = ()
    etcd_prefix: str = "/registry"
    etcd_cafile: Path | None = None
    etcd_certfile: Path | None = None
    etcd_keyfile: Path | None = None
    etcd_username: str = ""
    etcd_password: str = ""
    etcd_compaction_interval: float = 300.0
    etcd_compaction_retention: float = 300.0
    consistency_check_interval: float = 300.0
    etcd_db_metric_poll_interval: float = 30.0
    embedded_etcd: bool = False
    data_dir: Path | None = None
    token_auth_file: Path | None = None
    admin_token: str = ""  # a token of system:masters besides those of the file
    anonymous_auth: bool = True
    authentication_config: Path | None = None
    authentication_token_webhook_config_file: Path | None = None
    authentication_token_webhook_version: str = "v1beta1"
    authentication_token_webhook_cache_ttl: float = 120.0
    oidc_issuer_url: str = ""
    oidc_client_id: str = ""
    oidc_ca_file: Path | None = None
    oidc_username_claim: str = "sub"
    oidc_username_prefix: str = ""
    oidc_groups_claim: str = ""
    oidc_groups_prefix: str = ""
    oidc_required_claim: tuple[str, ...] = ()  # "claim=value"
    oidc_signing_algs: tuple[str, ...] = ("RS256",)
    authorization_mode: tuple[str, ...] = ()  # empty: RBAC, unless --authorization-config is given
    authorization_config: Path | None = None
    authorization_webhook_config_file: Path | None = None
    authorization_webhook_version: str = "v1beta1"
    authorization_webhook_cache_authorized_ttl: float = 300.0
    authorization_webhook_cache_unauthorized_ttl: float = 30.0
    service_cluster_ip_range: str = "10.0.0.0/24"
    service_node_port_range: tuple[int, int] = (30000, 32767)
    client_ca_file: Path | None = None
    requestheader_client_ca_file: Path | None = None
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    requestheader_allowed_names: tuple[str, ...] = ()
    proxy_client_cert_file: Path | None = None
    proxy_client_key_file: Path | None = None
    enable_aggregator_routing: bool = False
    kubelet_certificate_authority: Path | None = None
    kubelet_client_certificate: Path | None = None
    kubelet_client_key: Path | None = None
    kubelet_port: int = 10250
    kubelet_preferred_address_types: tuple[str, ...] = (
        "Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP",
    )  # fmt: skip
    enable_bootstrap_token_auth: bool = False
    api_audiences: tuple[str, ...] = ()
    service_account_issuer: tuple[str, ...] = ("https://kubernetes.default.svc.cluster.local",)
    service_account_key_file: tuple[Path, ...] = ()
    service_account_lookup: bool = True
    service_account_extend_token_expiration: bool = True
    service_account_max_token_expiration: float = 0.0
    service_account_jwks_uri: str = ""
    service_account_signing_key_file: Path | None = None
    shown_prefix: str = ""  # of keys in messages, if not that in etcd: of a control plane below /clusters
    service_account_key: str = ""  # in PEM: of a control plane below /clusters, in place of all files
    client_authority: str = ""  # in PEM: the CA of a control plane below /clusters, which signs for its clients alone
    client_authority_key: str = ""  # in PEM
    allow_privileged: bool = True
    enable_admission_plugins: frozenset[str] = frozenset()
    disable_admission_plugins: frozenset[str] = frozenset()
    admission_control_config_file: Path | None = None
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    encryption_provider_config: Path | None = None
    encryption_provider_config_automatic_reload: bool = False
    event_ttl: float = 3600.0
    delete_collection_workers: int = 8
    enable_garbage_collector: bool = True
    controllers: tuple[str, ...] = ("*",)
    cluster_signing_cert_file: Path | None = None
    cluster_signing_key_file: Path | None = None
    cluster_signing_duration: float = 365 * 24 * 3600.0
    kubernetes_version: str = DEFAULT  # a minor of GIT_VERSIONS
    emulated_version: str = ""  # a minor before that; "": none
    min_compatibility_version: str = ""  # "": follows from those
    feature_gates: tuple[tuple[str, bool], ...] = ()
    runtime_config: tuple[tuple[str, bool], ...] = ()
    kubeconfig_out: Path | None = None
    kubeconfig_server: str = ""
    workers: int = 1
    shared_cache: bool = False
    enable_priority_and_fairness: bool = True
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    max_watches_per_user: int = 20000
    header_timeout: float = 32.0
    min_body_rate: int = 240
    max_connections_per_address: int = 10_000
    shutdown_delay_duration: float = 0.0
    shutdown_send_retry_after: bool = False
    shutdown_timeout: float = 15.0
    tls_min_version: str = "VersionTLS12"
    tls_cipher_suites: tuple[str, ...] = ()
    goaway_chance: float = 0.0
    log_format: str = "text"
    v: int = 2
    vmodule: tuple[tuple[str, int], ...] = ()
    profiling: bool = False
    tracing_config_file: Path | None = None
    audit_policy_file: Path | None = None
    audit_log_path: str = ""  # "-" is standard output
    audit_log_format: str = "json"
    audit_log_mode: str = "blocking"
    audit_log_version: str = AUDIT_VERSION
    audit_log_batch_buffer_size: int = 10_000
    audit_log_batch_max_size: int = 1
    audit_log_batch_max_wait: float = 0.0
    audit_log_batch_throttle_enable: bool = False
    audit_log_batch_throttle_qps: float = 0.0
    audit_log_batch_throttle_burst: int = 0
    audit_log_truncate_enabled: bool = False
    audit_log_truncate_max_batch_size: int = 10 << 20
    audit_log_truncate_max_event_size: int = 100 << 10
    audit_log_maxsize: int = 100
    audit_log_maxbackup: int = 100
    audit_log_maxage: int = 366
    audit_log_compress: bool = False
    audit_webhook_config_file: Path | None = None
    audit_webhook_mode: str = "batch"
    audit_webhook_version: str = AUDIT_VERSION
    audit_webhook_initial_backoff: float = 10.0
    audit_webhook_batch_buffer_size: int = 10_000
    audit_webhook_batch_max_size: int = 400
    audit_webhook_batch_max_wait: float = 30.0
    audit_webhook_batch_throttle_enable: bool = True
    audit_webhook_batch_throttle_qps: float = 10.0
    audit_webhook_batch_throttle_burst: int = 15
    audit_webhook_truncate_enabled: bool = False
    audit_webhook_truncate_max_batch_size: int = 10 << 20
    audit_webhook_truncate_max_event_size: int = 100 << 10
    testing_api: bool = False
    recorder: bool = False
    control_planes: bool = False
    control_planes_domain: str = ""
    control_planes_metrics: int = 0
    control_planes_reach: tuple[str, ...] = ()

    def check(self) -> None:
        """Raises InvalidSettings for values that are not allowed, or not together."""
        try:
            check_emulated(self.emulated_version, self.kubernetes_version, self.min_compatibility_version)
        except ValueError as error:
            flag = "min-compatibility" if str(error).startswith("minComp") else "emulated"
            raise InvalidSettings(f"--{flag}-version: {error}") from None
        self._check_etcd()
        self._check_files()
        if self.testing_api and self.workers > 1:
            raise InvalidSettings("--testing-api works with one process only: remove --workers")
        if self.recorder and self.workers > 1:
            raise InvalidSettings("--recorder works with one process only: add --recorder=false, or remove --workers")
        self._check_admission_plugins()
        self._check_authorization()
        self._check_authentication()
        self._check_limits()
        self._check_audit()

    def _check_etcd(self) -> None:
        if not self.embedded_etcd and not self.etcd_servers:
            raise InvalidSettings(
                "no etcd to store in: give its endpoints, such as --etcd-servers=http://127.0.0.1:2379, "
                "or --embedded-etcd to run one for development"
            )
        if self.embedded_etcd and self.etcd_servers:
            raise InvalidSettings("--embedded-etcd and --etcd-servers exclude each other: give one of them")
        if self.etcd_servers_overrides and (self.testing_api or self.recorder):
            flag = "testing-api" if self.testing_api else "recorder"
            raise InvalidSettings(f"--{flag} works with one etcd only: remove --etcd-servers-overrides")
        if self.data_dir and not self.embedded_etcd:
            raise InvalidSettings("--data-dir is the data directory of --embedded-etcd: give both, or neither")

    def _check_files(self) -> None:
        _pair("--tls-cert-file", self.tls_cert_file, "--tls-private-key-file", self.tls_private_key_file)
        signing = self.cluster_signing_cert_file, self.cluster_signing_key_file
        _pair("--cluster-signing-cert-file", signing[0], "--cluster-signing-key-file", signing[1])
        _pair("--etcd-certfile", self.etcd_certfile, "--etcd-keyfile", self.etcd_keyfile)
        for name in _FILES:
            given = getattr(self, name)
            for path in given if isinstance(given, tuple) else (given,):
                if path is not None and not path.is_file():
                    raise InvalidSettings(f"--{name.replace('_', '-')}: there is no file {path}")
        if self.identity_key_file and self.embedded_etcd:
            raise InvalidSettings("--identity-key-file is for replicas on one etcd; --embedded-etcd has no replicas")

    @property
    def modes(self) -> tuple[str, ...]:
        """The authorization modes, if there is no --authorization-config."""
        return self.authorization_mode or ("RBAC",)

    @property
    def anonymous_users(self) -> bool:
        """Whether requests without credentials are system:anonymous; never with AlwaysAllow, as in kube-apiserver."""
        return self.anonymous_auth and "AlwaysAllow" not in self.authorization_mode

    def _check_authorization(self) -> None:
        for mode in self.authorization_mode:
            if mode not in AUTHORIZATION_MODES:
                raise InvalidSettings(
                    f"--authorization-mode={mode} is not known; give {', '.join(AUTHORIZATION_MODES)}"
                )
            if self.authorization_mode.count(mode) > 1:
                raise InvalidSettings(f"--authorization-mode names {mode} more than once")
        if self.authorization_config and (self.authorization_mode or self.authorization_webhook_config_file):
            raise InvalidSettings(
                "--authorization-config excludes --authorization-mode and --authorization-webhook-config-file: "
                "write all of it in the file"
            )
        if ("Webhook" in self.authorization_mode) != (self.authorization_webhook_config_file is not None):
            raise InvalidSettings(
                "--authorization-mode=Webhook and --authorization-webhook-config-file belong together: "
                "give both or neither"
            )
        _one_of("--authorization-webhook-version", self.authorization_webhook_version, REVIEW_VERSIONS)

    def _check_authentication(self) -> None:
        _one_of("--authentication-token-webhook-version", self.authentication_token_webhook_version, REVIEW_VERSIONS)
        if bool(self.oidc_issuer_url) != bool(self.oidc_client_id):
            raise InvalidSettings("--oidc-issuer-url and --oidc-client-id belong together: give both or neither")
        if self.authentication_config and self.oidc_issuer_url:
            raise InvalidSettings("--authentication-config excludes --oidc-*: name the issuer in the file")
        if not self.oidc_issuer_url and (self.oidc_ca_file or self.oidc_groups_claim or self.oidc_required_claim):
            raise InvalidSettings("the --oidc-* flags need --oidc-issuer-url, which is not given")
        if (longest := self.service_account_max_token_expiration) and not 3600 <= longest <= 1 << 32:
            raise InvalidSettings("--service-account-max-token-expiration: give 1h at least and 4294967296s at most")

    def _check_limits(self) -> None:
        for flag, value in (
            ("--header-timeout", self.header_timeout),
            ("--request-timeout", self.request_timeout),
            ("--min-request-timeout", self.min_request_timeout),
            ("--shutdown-timeout", self.shutdown_timeout),
            ("--max-connections-per-address", self.max_connections_per_address),
            ("--cluster-signing-duration", self.cluster_signing_duration),
        ):
            if value <= 0:
                raise InvalidSettings(f"{flag} must be more than 0")
        if self.shutdown_delay_duration < 0:
            raise InvalidSettings("--shutdown-delay-duration must not be negative")
        if self.tls_min_version not in TLS_VERSIONS:
            raise InvalidSettings(
                f"--tls-min-version: {self.tls_min_version} is not known; give one of {', '.join(TLS_VERSIONS)}"
            )
        for suite in self.tls_cipher_suites:
            if suite not in CIPHER_SUITES:
                raise InvalidSettings(
                    f"--tls-cipher-suites: {suite} is not known; give one of {', '.join(CIPHER_SUITES)}"
                )
        if not 0 <= self.goaway_chance <= 0.02:
            raise InvalidSettings("--goaway-chance must be between 0 and 0.02")
        if self.event_ttl < 0:
            raise InvalidSettings("--event-ttl must not be negative; 0 keeps events until they are deleted")
        most = self.max_requests_inflight + self.max_mutating_requests_inflight
        if self.enable_priority_and_fairness and not most:
            raise InvalidSettings(
                "--enable-priority-and-fairness needs --max-requests-inflight and --max-mutating-requests-inflight to "
                "be more than 0 together"
            )
        if self.min_body_rate < 0:
            raise InvalidSettings("--min-body-rate must not be negative")

    def _check_audit(self) -> None:
        kept = [
            flag
            for flag, given in (
                ("--audit-log-path", self.audit_log_path),
                ("--audit-webhook-config-file", self.audit_webhook_config_file),
            )
            if given
        ]
        if bool(kept) != bool(self.audit_policy_file):
            lone, other = (kept[0], "--audit-policy-file") if kept else ("--audit-policy-file", "--audit-log-path")
            raise InvalidSettings(f"{lone} alone records nothing: give {other} too")
        _one_of("--audit-log-format", self.audit_log_format, ("json", "legacy"))
        for kind, used in (("log", self.audit_log_path), ("webhook", self.audit_webhook_config_file)):
            said = {flag: getattr(self, f"audit_{kind}_{flag.replace('-', '_')}") for flag in _AUDIT_FLAGS}
            _one_of(f"--audit-{kind}-mode", said["mode"], AUDIT_MODES)
            _one_of(f"--audit-{kind}-version", said["version"], (AUDIT_VERSION,))
            if not used:
                continue
            above_zero = ["truncate-max-event-size"]
            if said["mode"] == "batch":
                above_zero += ["batch-buffer-size", "batch-max-size"]
                if said["batch-throttle-enable"]:
                    above_zero += ["batch-throttle-qps", "batch-throttle-burst"]
            for flag in above_zero:
                if said[flag] <= 0:
                    raise InvalidSettings(f"--audit-{kind}-{flag} must be more than 0")
            if said["truncate-max-batch-size"] < said["truncate-max-event-size"]:
                at_least = f"--audit-{kind}-truncate-max-event-size"
                raise InvalidSettings(f"--audit-{kind}-truncate-max-batch-size must be at least {at_least}")

    def _check_admission_plugins(self) -> None:
        for flag, names in (
            ("--enable-admission-plugins", self.enable_admission_plugins),
            ("--disable-admission-plugins", self.disable_admission_plugins),
        ):
            if unknown := sorted(names - PLUGINS.keys()):
                similar = get_close_matches(unknown[0], PLUGINS, 1)
                hint = f" (do you mean {similar[0]}?)" if similar else ""
                raise InvalidSettings(f"{flag}: kube-apiserver has no admission plug-in {unknown[0]}{hint}")
        if both := sorted(self.enable_admission_plugins & self.disable_admission_plugins):
            raise InvalidSettings(f"{both[0]} is in both --enable-admission-plugins and --disable-admission-plugins")

    def etcd(self, servers: tuple[str, ...] = ()) -> EtcdSettings:
        """The settings of the client of the main etcd, or of another etcd with these servers."""
        from storage.etcd import EtcdSettings

        return EtcdSettings(
            endpoints=servers or self.etcd_servers,
            ca_file=self.etcd_cafile,
            cert_file=self.etcd_certfile,
            key_file=self.etcd_keyfile,
            username=self.etcd_username,
            password=self.etcd_password,
        )


def _one_of(flag: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidSettings(f"{flag}={value}: give {' or '.join(allowed)}")


def _pair(one_flag: str, one: Path | None, other_flag: str, other: Path | None) -> None:
    if (one is None) != (other is None):
        raise InvalidSettings(f"{one_flag} and {other_flag} belong together: give both or neither")
