"""Flags of kube-apiserver that this server does not have, and why.

Some of them are accepted with the one value that describes this server (`FIXED`). All others are refused with a reason
(`REFUSED`): a user would rely on a flag that is accepted without effect.
"""

from __future__ import annotations

ALIASES = {"logging-format": "log-format"}
"""kube-apiserver's names of flags that are named differently here."""

_NO_HTTP2 = "this server speaks HTTP/1.1 only"
_EMULATION = "an emulated minor has only its own APIs"
_BY_BYTES = "the watch cache holds all objects, and its history is bounded by bytes and age"
_LEADERSHIP = "coordinated leader election is an alpha feature that is not served"
_PEERS = "requests are not forwarded to peers, because all replicas serve the same APIs"
_UNBUFFERED = "each log line is written to standard error at once"
_PICKED = "drop or relabel metrics in Prometheus, with metric_relabel_configs"

FIXED: dict[str, tuple[tuple[str, ...], str]] = {
    "watch-cache": (("true",), "reads, watches and admission need the watch cache"),
    "storage-backend": (("etcd3",), "etcd is the only database"),
    "storage-media-type": (("application/json",), "objects are stored as JSON"),
    "disable-http2-serving": (("true",), _NO_HTTP2),
    "endpoint-reconciler-type": (("lease",), "replicas announce themselves by keys with a lease"),
    "aggregator-reject-forwarding-redirect": (
        ("true",),
        "a redirection would send the client's credentials to another server",
    ),
    "permit-address-sharing": (("true",), "the server takes a port whose old connections have not ended yet"),
    "kubernetes-service-node-port": (("0",), "the service kubernetes is of type ClusterIP"),
    "etcd-healthcheck-timeout": (("2s",), "the time is fixed"),
    "etcd-readycheck-timeout": (("2s",), "the time is fixed"),
    "enable-logs-handler": (("false",), "the API never gives files of the host"),
    "contention-profiling": (("false",), "an event loop has no locks; --profiling shows where the time goes"),
    "emulation-forward-compatible": (("false",), _EMULATION),
    "runtime-config-emulation-forward-compatible": (("false",), _EMULATION),
    "log-json-split-stream": (("false",), _UNBUFFERED),
    "log-text-split-stream": (("false",), _UNBUFFERED),
}
"""The accepted values of each flag, which describe what this server does, and why no other value is accepted."""

REFUSED: dict[str, str] = {
    "livez-grace-period": "use a startup probe, which can wait longer than a liveness probe",
    "shutdown-watch-termination-grace-period": "watches end one after the other within --shutdown-delay-duration",
    "storage-initialization-timeout": "a start waits for etcd without a limit, and logs that it waits",
    "etcd-count-metric-poll-period": "objects are counted in the watch cache, at each scrape",
    "lease-reuse-duration-seconds": "how long events share a lease follows from --event-ttl",
    "watch-cache-sizes": _BY_BYTES,
    "http2-max-streams-per-connection": _NO_HTTP2,
    "tls-curve-preferences": "the order of OpenSSL is used",
    "debug-socket-path": "--profiling serves profiles to administrators",
    "authorization-policy-file": "ABAC is not supported: use RBAC, Node or Webhook",
    "egress-selector-config-file": "other servers are called directly",
    "admission-control": "use --enable-admission-plugins and --disable-admission-plugins",
    "allow-metric-labels": _PICKED,
    "allow-metric-labels-manifest": _PICKED,
    "disabled-metrics": _PICKED,
    "show-hidden-metrics-for-version": "no metrics are hidden",
    "log-flush-frequency": _UNBUFFERED,
    "log-json-info-buffer-size": _UNBUFFERED,
    "log-text-info-buffer-size": _UNBUFFERED,
    "coordinated-leadership-lease-duration": _LEADERSHIP,
    "coordinated-leadership-renew-deadline": _LEADERSHIP,
    "coordinated-leadership-retry-period": _LEADERSHIP,
    "kubelet-timeout": "a call of a kubelet has the time limit of the client's request",
    "max-connection-bytes-per-sec": "limit bandwidth in a proxy or in the network",
    "peer-advertise-ip": _PEERS,
    "peer-advertise-port": _PEERS,
    "peer-ca-file": _PEERS,
    "service-account-signing-endpoint": "tokens are signed by the key of --service-account-signing-key-file",
}
"""The reason why each flag is refused."""


def why_not(name: str, value: str) -> str:
    """The message that refuses a flag of kube-apiserver; "" if the value is accepted, or the flag is not listed."""
    if name in FIXED:
        allowed, why = FIXED[name]
        return "" if value in allowed else f"--{name} can only be {' or '.join(allowed)} here: {why}"
    reason = REFUSED.get(name)
    return f"--{name} is a flag of kube-apiserver that this server does not have: {reason}" if reason else ""
