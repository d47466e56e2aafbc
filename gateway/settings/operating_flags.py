"""The flags by which a server is run: how it stops, what TLS it speaks, what it tells of itself."""

from __future__ import annotations

from gateway.settings.flag import Flag
from gateway.settings.flag_values import LOG_FORMATS, boolean, decimal, log_format, names, number, seconds
from gateway.settings.tls_choices import CIPHER_SUITES, TLS_VERSIONS

OPERATING: tuple[tuple[str, tuple[Flag, ...]], ...] = (
    (
        "Shutdown",
        (
            Flag(
                "shutdown-delay-duration",
                seconds,
                "how long a server that is told to stop goes on answering, so that load balancers learn of it: /readyz "
                "fails, each answer ends its connection, watches end one after the other",
                "DURATION",
            ),
            Flag(
                "shutdown-send-retry-after",
                boolean,
                "after that, answer new requests with 429 and Retry-After until those under way are done",
                "BOOL",
            ),
            Flag(
                "shutdown-timeout", seconds, "time until a server that does not stop is killed, after that", "DURATION"
            ),
        ),
    ),
    (
        "Connections",
        (
            Flag(
                "tls-min-version",
                str,
                "the oldest version of TLS that is spoken",
                "VERSION",
                choices=TLS_VERSIONS,
            ),
            Flag(
                "tls-cipher-suites",
                names,
                "those of TLS 1.2, by the names of IANA; those of TLS 1.3 cannot be chosen",
                "NAMES",
                choices=CIPHER_SUITES,
            ),
            Flag(
                "goaway-chance",
                decimal,
                "share of answers that end their connection, so that clients spread anew; at most 0.02",
                "SHARE",
            ),
        ),
    ),
    (
        "Logs",
        (
            Flag("log-format", log_format, "text or json", "FORMAT", choices=LOG_FORMATS),
            Flag("v", number, "how much is logged: 3 has a line for each request, 4 and more all there is", "N"),
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
        ),
    ),
)
