"""Annotations with the times of a slow request's parts, for its last event.

As in apiserver's `pkg/endpoints/filters/audit.go` and `pkg/endpoints/request/webhook_duration.go`. Parts that take no
time in a request here, such as decoding of etcd's values, are left out.
"""

from __future__ import annotations

import time

from storage.instruments.trace import Times

_PREFIX = "apiserver.latency.k8s.io/"
_SLOW = 0.5  # seconds; faster requests have no such annotations
_UNITS = ((1_000, 1, "ns"), (1_000_000, 1_000, "µs"), (1_000_000_000, 1_000_000, "ms"))
_OF_STAGES = {
    "authentication": "authentication",
    "impersonation": "impersonation",
    "priority-and-fairness": "apf-queue-wait",
    "authorization": "authorization",
    "representation": "serialize-response-object",
}
_AT_LEAST = {"apf-queue-wait": 0.001, "impersonation": 0.0001}  # seconds; less means there was no wait, only a check
_WITHIN = ("etcd", "mutating-webhook", "validating-webhook", "response-write")


def latencies(times: Times) -> dict[str, str]:
    """The annotations of a request that has just ended; {} if it was not slow."""
    total = time.monotonic() - times.began
    if total <= _SLOW:
        return {}
    found = {told: times.seconds(stage) for stage, told in _OF_STAGES.items()}
    found |= {name: times.seconds(name) for name in _WITHIN} | {"total": total}
    return {_PREFIX + name: duration(took) for name, took in found.items() if took > _AT_LEAST.get(name, 0.0)}


def duration(seconds: float) -> str:
    """A time in the format of Go's Duration: 1m0.5s, 12.3ms."""
    nanos = round(seconds * 1e9)
    for below, unit, name in _UNITS:
        if nanos < below:
            return f"{_decimal(nanos, unit)}{name}"
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000_000)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def _decimal(nanos: int, unit: int) -> str:
    whole, fraction = divmod(nanos, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{fraction:0{digits}d}".rstrip("0").rstrip(".") if fraction else str(whole)
