"""Metrics of admission webhooks, under kube-apiserver's names."""

from __future__ import annotations

from enum import Enum

from gateway.kinds.attributes import Operation
from storage.instruments import by, counter, histogram

_TYPES = ("name", "type", "operation")
_OF_WEBHOOK = (by("webhook", "name"),)
_DURATION = histogram(
    "apiserver_admission_webhook_admission_duration_seconds",
    "How long admission webhooks take.",
    *_TYPES,
    "rejected",
    buckets=(0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0),
    level="STABLE",
    of=_OF_WEBHOOK,
)
_REJECTIONS = counter(
    "apiserver_admission_webhook_rejection_count",
    "Requests that were rejected because of a webhook, by code and error type.",
    *_TYPES,
    "error_type",
    "rejection_code",
    of=_OF_WEBHOOK,
)
_REQUESTS = counter(
    "apiserver_admission_webhook_request_total",
    "Calls of webhooks, by the code of the outcome.",
    *_TYPES,
    "code",
    "rejected",
    of=_OF_WEBHOOK,
)
_FAILED_OPEN = counter(
    "apiserver_admission_webhook_fail_open_count",
    "Failures of webhooks that were ignored.",
    "name",
    "type",
    of=_OF_WEBHOOK,
)
_HIGHEST = 600  # codes from here on are counted as one


class WebhookHalf(Enum):
    """The half of admission that a webhook takes part in, as metrics name it."""

    MUTATING = "admit"
    VALIDATING = "validating"


class Failure(Enum):
    """Why a request was rejected because of a webhook, as metrics name it."""

    CALL = "calling_webhook_error"
    SERVER = "apiserver_internal_error"
    NONE = "no_error"  # the webhook denied the request


def observe(name: str, half: WebhookHalf, operation: Operation, seconds: float, code: int, *, rejected: bool) -> None:
    """Counts a call and how long it took."""
    labels = (name, half.value, operation.value)
    _DURATION.labels(*labels, _text(rejected)).observe(seconds)
    _REQUESTS.labels(*labels, str(min(code, _HIGHEST)), _text(rejected)).inc()


def reject(name: str, half: WebhookHalf, operation: Operation, failure: Failure, code: int) -> None:
    """Counts a request that is refused."""
    _REJECTIONS.labels(name, half.value, operation.value, failure.value, str(min(code, _HIGHEST))).inc()


def fail_open(name: str, half: WebhookHalf) -> None:
    """Counts a failure that is ignored."""
    _FAILED_OPEN.labels(name, half.value).inc()


def _text(value: bool) -> str:
    return "true" if value else "false"
