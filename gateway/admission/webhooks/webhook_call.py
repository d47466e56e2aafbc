"""Calls one webhook, reads its response, and handles each way to fail."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from itertools import islice
from time import monotonic

from gateway.admission.matcher import MatchTarget
from gateway.admission.record import Admission
from gateway.admission.webhooks.answer import InvalidAnswer, Undecodable, WebhookVerdict, verdict
from gateway.admission.webhooks.configuration import REVIEW_VERSIONS, Hook
from gateway.admission.webhooks.metrics import Failure, WebhookHalf, fail_open, observe, reject
from gateway.admission.webhooks.review import AdmissionReviews
from gateway.http.deadline import timed_out
from gateway.http.status import StatusError, bad_request, internal_error
from gateway.validation.field import go_quote
from gateway.validation.names import is_qualified_name
from gateway.webhooks.client import WebhookError, Webhooks
from storage.instruments.trace import current, span

LARGEST = 3 << 20  # bytes of a response
_HEADERS = ((b"user-agent", b"kube-apiserver-admission"),)
_LOWEST_DENIAL, _HIGHEST_DENIAL = 400, 999  # HTTP codes have three digits
_LIST_META = ("selfLink", "resourceVersion", "continue", "remainingItemCount")
_MOST_WARNINGS = 4096  # of one response, and as many annotations; more are dropped


class CallFailed(Exception):
    """A webhook could not be called, or its response is invalid. The message has its name and the reason.

    `code` is for metrics.
    """

    def __init__(self, hook: Hook, reason: str, code: int = 503) -> None:
        super().__init__(f"failed calling webhook {go_quote(hook.name)}: {reason}")
        self.code = code


class Denied(Exception):
    """A webhook denied the request: `error` is the answer to the client."""

    def __init__(self, error: StatusError) -> None:
        super().__init__(error.message)
        self.error = error


async def ask(
    client: Webhooks,
    hook: Hook,
    admission: Admission,
    target: MatchTarget,
    reviews: AdmissionReviews,
    half: WebhookHalf,
) -> WebhookVerdict:
    """Calls a webhook and returns its verdict if that allows the request. Adds its warnings and audit annotations.

    Raises CallFailed, Denied, and StatusError 400 for a dry run that the webhook does not support.
    """
    if admission.dry_run and not hook.dry_runs:
        raise bad_request(f"admission webhook {go_quote(hook.name)} does not support dry run")
    if not hook.version:
        known = ", ".join(REVIEW_VERSIONS)
        text = f"webhook does not accept known AdmissionReview versions ({known})"
        raise CallFailed(hook, f"could not create admission objects: {text}", 400)
    uid, body = await reviews.review(hook.version, target)
    try:
        with _span(hook, admission, target, half, uid):
            await _spoiled(client, hook)
            answer = await client.ask(hook.client, body, _seconds(hook, admission), _HEADERS, LARGEST)
        found = await verdict(answer, hook.version, uid, mutating=half is WebhookHalf.MUTATING)
    except InvalidAnswer as error:
        raise CallFailed(hook, f"received invalid webhook response: {error}") from None
    except (WebhookError, Undecodable) as error:
        raise CallFailed(hook, f"failed to call webhook: {error}") from None
    _take_over(hook, found, admission)
    if not found.allowed:
        raise Denied(_denial(hook, found))
    return found


def _span(
    hook: Hook, admission: Admission, target: MatchTarget, half: WebhookHalf, uid: str
) -> AbstractContextManager[object]:
    resource = target.resource
    return span(
        f"Call {half.name.lower()} webhook",
        configuration=hook.configuration,
        webhook=hook.name,
        resource=f"{resource.group}/{resource.version}, Resource={resource.resource}",
        subresource=admission.subresource,
        operation=admission.operation.value,
        UID=uid,
    )


async def _spoiled(client: Webhooks, hook: Hook) -> None:
    """Raises WebhookError if a test has ordered this call to fail."""
    times = current.get()
    if times is not None and times.spoil is not None:
        reason = await times.spoil(hook.name)
        if reason:
            raise WebhookError(f'Post "{client.url(hook.client, hook.timeout)}": {reason}')


def _seconds(hook: Hook, admission: Admission) -> float:
    """The timeout of a call in seconds: the webhook's, or the rest of the client's if this is shorter."""
    if admission.deadline is None:
        return hook.timeout
    return max(0.0, min(hook.timeout, admission.deadline - asyncio.get_running_loop().time()))


def _take_over(hook: Hook, found: WebhookVerdict, admission: Admission) -> None:
    for key, value in islice(found.annotations.items(), _MOST_WARNINGS):
        if "/" not in key and not is_qualified_name(f"{hook.name}/{key}"):
            admission.annotate(f"{hook.name}/{key}", value)
    for text in list(dict.fromkeys(found.warnings))[:_MOST_WARNINGS]:
        admission.warn(text)


def _denial(hook: Hook, found: WebhookVerdict) -> StatusError:
    """The error of a denial, from the Status in the response. A code that is not a failure becomes 400."""
    status = found.status or {}
    code, message = status.get("code"), status.get("message")
    reason = status["reason"] if isinstance(status.get("reason"), str) else ""
    code = code if isinstance(code, int) and _LOWEST_DENIAL <= code <= _HIGHEST_DENIAL else _LOWEST_DENIAL
    text = f"admission webhook {go_quote(hook.name)} denied the request"
    said = message or reason
    text = f"{text}: {said}" if isinstance(said, str) and said else f"{text} without explanation"
    details = status.get("details")
    error = StatusError(code, reason, text, details)
    meta = status.get("metadata")
    error.list_meta = {key: meta[key] for key in _LIST_META if meta.get(key)} if isinstance(meta, dict) else {}
    seconds = (error.details or {}).get("retryAfterSeconds")
    if isinstance(seconds, int) and seconds > 0:
        error.headers = ((b"retry-after", b"%d" % seconds),)
    return error


class WebhookCall:
    """The consequences of one call: counts it in metrics, and applies the failurePolicy of the webhook to a failure."""

    def __init__(self, hook: Hook, admission: Admission, half: WebhookHalf) -> None:
        self._hook, self._admission, self._half = hook, admission, half
        self._began = monotonic()

    def allowed(self) -> None:
        """Counts a call that allowed the write."""
        self._observe(200, rejected=False)

    def failed(self, error: CallFailed | Denied | StatusError, annotation: str) -> StatusError | None:
        """The error for the client; None if the failurePolicy ignores the failure.

        An ignored failure is recorded under the key `annotation`. If the client's deadline has passed by then, the
        error is a time-out.
        """
        hook, operation = self._hook, self._admission.operation
        match error:
            case Denied():
                reject(hook.name, self._half, operation, Failure.NONE, error.error.code)
                self._observe(error.error.code, rejected=True)
                return error.error
            case StatusError():
                reject(hook.name, self._half, operation, Failure.SERVER, 0)
                self._observe(0, rejected=True)
                return error
        if hook.fails:
            reject(hook.name, self._half, operation, Failure.CALL, error.code)
            self._observe(error.code, rejected=True)
            return internal_error(str(error))
        self._observe(error.code, rejected=False)
        fail_open(hook.name, self._half)
        self._admission.annotate(annotation, hook.name)
        deadline = self._admission.deadline
        if deadline is not None and asyncio.get_running_loop().time() >= deadline:
            return timed_out()
        return None

    def _observe(self, code: int, *, rejected: bool) -> None:
        seconds = monotonic() - self._began
        times = current.get()
        if times is not None and times.hear is not None:
            times.hear(self._hook.name, seconds, code, rejected)
        observe(self._hook.name, self._half, self._admission.operation, seconds, code, rejected=rejected)
