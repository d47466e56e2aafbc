"""The first lines of the log: the server's version, where its data is stored, and which features are on."""

from __future__ import annotations

import logging

from gateway.release.minors import GIT_VERSIONS
from gateway.settings.config import Settings
from gateway.settings.flags import FLAGS, SECRET, shown, shown_default
from gateway.settings.runtime_config import UNSERVED_STAGES

logger = logging.getLogger("gateway")

_OPTIONAL = (
    ("encryption_provider_config", "encryption"),
    ("audit_policy_file", "audit"),
    ("tracing_config_file", "tracing"),
    ("authentication_config", "issuers of tokens"),
    ("oidc_issuer_url", "issuers of tokens"),
    ("authentication_token_webhook_config_file", "webhook of tokens"),
    ("enable_bootstrap_token_auth", "bootstrap tokens"),
    ("requestheader_client_ca_file", "front proxies"),
    ("enable_priority_and_fairness", "priority and fairness"),
    ("feature_gates", "feature gates"),
    ("profiling", "profiling"),
    ("testing_api", "testing API"),
)


def say_start(settings: Settings) -> None:
    """Logs the first line, and warnings about the settings. At --v=4 also logs the flags that differ from defaults."""
    on = [name for setting, name in _OPTIONAL if getattr(settings, setting)]
    if settings.audit_policy_file and not (settings.audit_log_path or settings.audit_webhook_config_file):
        on.remove("audit")  # a policy without a log or webhook records nothing
    logger.info("starting", extra={**said_of(settings), "on": ", ".join(dict.fromkeys(on)) or "nothing more"})
    if settings.anonymous_auth and not settings.anonymous_users:
        logger.warning("requests without credentials are refused: --authorization-mode has AlwaysAllow")
    if stages := ", ".join(key for key, on in settings.runtime_config if on and key in UNSERVED_STAGES):
        logger.warning("--runtime-config: this server lacks most alpha and beta versions", extra={"given": stages})
    if logger.isEnabledFor(logging.DEBUG):
        given = {flag.name: shown(getattr(settings, flag.setting)) for flag in FLAGS if flag.setting not in SECRET}
        defaults = {flag.name: shown_default(flag) for flag in FLAGS}
        logger.debug("flags", extra={name: text for name, text in given.items() if text != defaults[name]})


def said_of(settings: Settings) -> dict[str, object]:
    """The version, etcd, authorization and workers of a server, as fields of a log record."""
    data = {"data": str(settings.data_dir or "temporary")} if settings.embedded_etcd else {}
    modes = "by --authorization-config" if settings.authorization_config else ",".join(settings.modes)
    workers = {"workers": settings.workers} if settings.workers > 1 else {}
    etcd = ",".join(settings.etcd_servers) or "embedded"
    return {
        "version": GIT_VERSIONS[settings.kubernetes_version],
        "etcd": etcd,
        **data,
        "authorization": modes,
        **workers,
    }
