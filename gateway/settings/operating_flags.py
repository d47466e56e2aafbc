"""The flags of operation: shutdown, TLS, logs, profiles and traces."""

from __future__ import annotations

from pathlib import Path

from gateway.settings.flag import Flag
from gateway.settings.flag_values import (
    LOG_FORMATS,
    boolean,
    decimal,
    domain,
    log_format,
    names,
    networks,
    number,
    seconds,
)
from gateway.settings.tls_choices import CIPHER_SUITES, TLS_VERSIONS
from gateway.settings.verbosity import patterns

OPERATING: tuple[tuple[str, tuple[Flag, ...]], ...] = (
    (
        "Control planes",
        (
            Flag(
                "control-planes",
                boolean,
                "serve more control planes below /clusters/NAME, which ControlPlane objects describe",
                "BOOL",
            ),
            Flag(
                "control-planes-domain",
                domain,
                "serve each control plane as NAME.DOMAIN too, for clients that cannot use a path; these names must "
                "lead to the server",
                "DOMAIN",
            ),
            Flag(
                "control-planes-metrics",
                number,
                "how many control planes have series of their own at /metrics; all others are counted together",
                "N",
            ),
            Flag(
                "control-planes-reach",
                networks,
                "networks of this host or link-local networks that control planes may call, such as "
                "127.0.0.0/8 for webhooks of a test",
                "CIDRS",
            ),
        ),
    ),
    (
        "Shutdown",
        (
            Flag(
                "shutdown-delay-duration",
                seconds,
                "after SIGTERM, how long the server still answers, so that load balancers notice: /readyz fails, each "
                "answer ends its connection, watches end one after the other",
                "DURATION",
            ),
            Flag(
                "shutdown-send-retry-after",
                boolean,
                "after that delay, answer new requests with 429 and Retry-After until running requests are done",
                "BOOL",
            ),
            Flag(
                "shutdown-timeout",
                seconds,
                "after that delay, time until a server that has not stopped is killed",
                "DURATION",
            ),
        ),
    ),
    (
        "Connections",
        (
            Flag(
                "tls-min-version",
                str,
                "the oldest version of TLS that is accepted",
                "VERSION",
                choices=TLS_VERSIONS,
            ),
            Flag(
                "tls-cipher-suites",
                names,
                "cipher suites of TLS 1.2, by IANA's names; those of TLS 1.3 cannot be chosen",
                "NAMES",
                choices=CIPHER_SUITES,
            ),
            Flag(
                "goaway-chance",
                decimal,
                "share of answers that close their connection, to spread clients over replicas; at most 0.02",
                "SHARE",
            ),
        ),
    ),
    (
        "Logs",
        (
            Flag("log-format", log_format, "text or json", "FORMAT", choices=LOG_FORMATS),
            Flag(
                "v",
                number,
                "verbosity of the log, also as -v: 3 logs each request, 4 and more everything",
                "N",
            ),
            Flag(
                "vmodule",
                patterns,
                "verbosity of single modules, by name or by path: request_log=3,gateway/controllers/*=4",
                "PATTERN=N",
            ),
        ),
    ),
    (
        "Looking inside",
        (
            Flag(
                "profiling",
                boolean,
                "serve /debug/pprof/profile (where the time goes) and /debug/pprof/heap to administrators",
                "BOOL",
            ),
            Flag(
                "etcd-db-metric-poll-interval",
                seconds,
                "how often the metric of the size of etcd's database is updated; 0: never",
                "DURATION",
            ),
            Flag(
                "tracing-config-file",
                Path,
                "a TracingConfiguration: where OpenTelemetry spans are sent, and of which share of requests",
                "FILE",
            ),
        ),
    ),
)
