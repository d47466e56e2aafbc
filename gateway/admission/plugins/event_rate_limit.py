"""EventRateLimit: limits the rate of events as its configuration says ("Admission Control in Kubernetes").

For events of the core group only, as in kube-apiserver. Each process has its own budgets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from gateway.admission.chain import Plugin, PluginParts, PluginReviews, on
from gateway.admission.configuration import Document, InvalidConfiguration, Leaf, of_kind
from gateway.admission.record import Admission
from gateway.admission.refusal import joined
from gateway.http.status import StatusError
from gateway.kinds.attributes import Operation
from gateway.memo import Recent

NAME = "EventRateLimit"
_VERSIONS = ("eventratelimit.admission.k8s.io/v1alpha1",)
_LIMIT = {"type": Leaf.TEXT, "qps": Leaf.INTEGER, "burst": Leaf.INTEGER, "cacheSize": Leaf.INTEGER}
_BUDGET = 1024  # bytes, at most, of a budget and its key
_LONGEST_KEY = 64  # characters; of a longer key, which a client may choose, only the digest is kept
_REMEMBERED = 4096  # budgets of one limit, unless its cacheSize says otherwise


def _source_and_object(admission: Admission) -> str:
    event = admission.obj or {}
    source, about = event.get("source") or {}, event.get("involvedObject") or {}
    named = [about.get(key, "") for key in ("kind", "namespace", "name", "uid", "apiVersion")]
    return "".join([source.get("component", ""), source.get("host", ""), *named])


_KEYS: dict[str, Callable[[Admission], str]] = {
    "Server": lambda admission: "",
    "Namespace": lambda admission: admission.namespace,
    "User": lambda admission: admission.user.name,
    "SourceAndObject": _source_and_object,
}


@dataclass(slots=True)
class _Budget:
    """A bucket of tokens: `left` of them at the time `since`."""

    left: float
    since: float


class _Limit:
    """One limit, with a budget for each of its keys. The least recently used budgets are dropped."""

    def __init__(self, type_: str, qps: int, burst: int, remembered: int) -> None:
        self.type, self.key = type_, _KEYS[type_]
        self._qps, self._burst = qps, burst
        self._budgets: Recent[str | bytes, _Budget] = Recent(remembered, remembered * _BUDGET)

    def take(self, key: str, now: float) -> bool:
        """Takes a token for one event. Returns False if there is none. `now` is in seconds of a monotonic clock."""
        known = key if len(key) <= _LONGEST_KEY else sha256(key.encode()).digest()
        budget = self._budgets.find(known)
        if budget is None:
            budget = _Budget(self._burst, now)
            self._budgets.keep(known, budget, _BUDGET >> 1)
        budget.left = min(self._burst, budget.left + (now - budget.since) * self._qps)
        budget.since = now
        if budget.left < 1:
            return False
        budget.left -= 1
        return True


class EventLimits:
    """The limits of a configuration. Each event takes a token from every limit, also when another limit refuses it."""

    def __init__(self, limits: list[_Limit]) -> None:
        self._limits = limits

    async def validate(self, admission: Admission) -> None:
        """Raises StatusError 429 if a limit is reached. Dry-run requests are neither limited nor counted."""
        if admission.dry_run:
            return
        now = time.monotonic()
        problems = []
        for limit in self._limits:
            key = limit.key(admission)
            if not limit.take(key, now):
                problems.append(f"limit reached on type {limit.type} for key {key}")
        if problems:
            raise StatusError(429, "TooManyRequests", f"Too many requests: {joined(problems)}")


def configure(document: Document) -> EventLimits:
    """The limits that a Configuration asks for. Raises InvalidConfiguration."""
    limits = of_kind(document, "Configuration", _VERSIONS, {"limits": [_LIMIT]}).get("limits") or []
    errors = [] if limits else ["limits: Invalid value: null: must not be empty"]
    for index, limit in enumerate(limits):
        errors += _problems(f"limits[{index}]", limit)
    if errors:
        raise InvalidConfiguration("; ".join(errors))
    return EventLimits(
        [_Limit(each["type"], each["qps"], each["burst"], each.get("cacheSize") or _REMEMBERED) for each in limits]
    )


def _problems(path: str, limit: dict[str, Any]) -> list[str]:
    errors, type_ = [], limit.get("type", "")
    if type_ not in _KEYS:
        supported = ", ".join(f'"{each}"' for each in sorted(_KEYS))
        errors.append(f'{path}.type: Unsupported value: "{type_}": supported values: {supported}')
    for member in ("burst", "qps"):
        if limit.get(member, 0) <= 0:
            errors.append(f"{path}.{member}: Invalid value: {limit.get(member, 0)}: must be positive")
    if type_ != "Server" and limit.get("cacheSize", 0) < 0:
        errors.append(f"{path}.cacheSize: Invalid value: {limit['cacheSize']}: must not be negative")
    return errors


def _make(parts: PluginParts) -> PluginReviews:
    limits = parts.configured[NAME]
    assert isinstance(limits, EventLimits)
    return PluginReviews(validate=limits.validate)


PLUGIN = Plugin(
    NAME,
    on("/events", operations=(Operation.CREATE, Operation.UPDATE)),
    _make,
    configure=configure,
)
