"""Metrics of match conditions, under kube-apiserver's names."""

from __future__ import annotations

from typing import NamedTuple

from storage.instruments import by, counter, histogram

_FAMILY, _LABELS = "apiserver_admission_match_condition", ("name", "kind", "type", "operation")
_OF = (by("", "kind", "name"),)  # a webhook or a policy
_ERRORS = counter(
    f"{_FAMILY}_evaluation_errors_total",
    "Match conditions that could not be evaluated, by owner.",
    *_LABELS,
    of=_OF,
)
_EXCLUSIONS = counter(
    f"{_FAMILY}_exclusions_total",
    "Requests for which match conditions excluded a webhook.",
    *_LABELS,
    of=_OF,
)
_SECONDS = histogram(
    f"{_FAMILY}_evaluation_seconds",
    "Duration of match conditions that were not all true, by owner.",
    *_LABELS,
    buckets=(0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
    of=_OF,
)


class ConditionOwner(NamedTuple):
    """The owner of match conditions: the name of a webhook or policy, its kind, and its half of admission."""

    name: str
    kind: str  # "webhook", "policy"
    half: str  # "admit", "validate"


def observe(asker: ConditionOwner, operation: str, errors: int, seconds: float) -> None:
    """Counts an evaluation whose conditions were not all true; `errors` of them could not be evaluated."""
    if errors:
        _ERRORS.labels(*asker, operation).inc(errors)
    _SECONDS.labels(*asker, operation).observe(seconds)


def exclude(asker: ConditionOwner, operation: str) -> None:
    """Counts a request for which a webhook is not called because of its match conditions."""
    _EXCLUSIONS.labels(*asker, operation).inc()
