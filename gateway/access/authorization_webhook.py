"""--authorization-mode=Webhook: another service decides (page "Webhook Mode").

As kube-apiserver's `plugin/pkg/authorizer/webhook`: answers are cached for some time, keyed by the review's spec.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from gateway.access.authorization import NO_OPINION, Decision, Verdict
from gateway.access.remote import Remote, RemoteError
from gateway.access.selection import field_requirements, label_requirements
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.memo import Memory
from gateway.time_limits import soon_or_in_thread
from storage.instruments import counter, histogram

if TYPE_CHECKING:
    from gateway.cel.program import Program

EVALUATIONS = counter(
    "apiserver_authorization_webhook_evaluations_total", "Calls of authorization webhooks.", "name", "result"
)
FAILED_OPEN = counter(
    "apiserver_authorization_webhook_evaluations_fail_open_total",
    "Calls of authorization webhooks that failed, so that others decided.",
    "name",
    "result",
)
DURATION = histogram(
    "apiserver_authorization_webhook_duration_seconds", "Time that authorization webhooks take.", "name", "result"
)
CONDITIONS_TOOK = histogram(
    "apiserver_authorization_match_condition_evaluation_seconds",
    "Time to evaluate the match conditions of an authorization webhook.",
    *("name", "type"),
    buckets=(0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
)
CONDITIONS_FAILED = counter(
    "apiserver_authorization_match_condition_evaluation_errors_total",
    "Requests for which a match condition of an authorization webhook had an error.",
    *("name", "type"),
)
EXCLUDED = counter(
    "apiserver_authorization_match_condition_exclusions_total",
    "Requests that match conditions kept from an authorization webhook.",
    *("name", "type"),
)

GROUP = "authorization.k8s.io"
VARIABLE = "request"
_TYPE = "Webhook"  # as metrics call this type of authorizer
_VERDICT = 300  # bytes of a cache entry besides its texts
_LONGEST_REMEMBERED = 10_000  # characters in those parts of a request that the client chooses
_TEXTS = ("namespace", "verb", "group", "version", "resource", "subresource", "name")


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The settings of one webhook; times are in seconds, a ttl of 0 turns the cache off."""

    kubeconfig: Path
    version: str
    timeout: float
    authorized_ttl: float
    unauthorized_ttl: float
    denies_on_failure: bool = False
    conditions: tuple[str, ...] = ()
    name: str = "default"


class WebhookAuthorizer:
    """Asks a service about each request for which all conditions are true."""

    def __init__(self, remote: Remote, settings: WebhookSettings, conditions: Sequence[Program] = ()) -> None:
        self._remote, self._settings, self._conditions = remote, settings, tuple(conditions)
        self._remembered: Memory[str, tuple[float, Verdict]] = Memory(16 << 20, 64 << 10)

    def known(self, attributes: Attributes) -> Verdict | None:
        """Always None: the answer depends on the whole request, and `authorize` looks in the cache."""
        return None

    async def authorize(self, attributes: Attributes) -> Verdict:
        """The service's verdict; if it cannot be asked, the failure policy's."""
        spec = review_spec(attributes)
        try:
            if self._conditions and not await self._matches(spec):
                return NO_OPINION
            key = json.dumps(spec, sort_keys=True)
            found = self._recall(key)
            if found is None:
                found = await self._ask(spec)
                if not found.error and _size(attributes) < _LONGEST_REMEMBERED:
                    self._remember(key, found)
        except RemoteError as error:
            decision = Decision.DENY if self._settings.denies_on_failure else Decision.NO_OPINION
            return Verdict(decision, error=str(error))
        return found

    async def _matches(self, spec: JsonObject) -> bool:
        """Whether no condition is false. Raises RemoteError if none is, and one of them had an error."""
        labels, began = (self._settings.name, _TYPE), monotonic()
        excluded, errors = await soon_or_in_thread(lambda: self._evaluated(spec))
        CONDITIONS_TOOK.labels(*labels).observe(monotonic() - began)
        if errors:
            CONDITIONS_FAILED.labels(*labels).inc()
        if excluded:
            EXCLUDED.labels(*labels).inc()
        elif errors:
            raise RemoteError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
        return not excluded

    def _evaluated(self, spec: JsonObject) -> tuple[bool, list[str]]:
        """Whether a condition is false, and the errors of the conditions before it."""
        from gateway.access.expressions import ExpressionError, value_of

        shown, errors = _shown(spec), list[str]()
        for program in self._conditions:
            try:
                if not value_of(program, {VARIABLE: shown}):
                    return True, errors
            except ExpressionError as error:
                errors.append(f"cel evaluation error: {error}")
        return False, errors

    async def _ask(self, spec: JsonObject) -> Verdict:
        version = self._settings.version
        sent = dict(spec)
        if version == "v1beta1" and "groups" in sent:
            sent["group"] = sent.pop("groups")  # as that version calls it
        review = {"kind": "SubjectAccessReview", "apiVersion": f"{GROUP}/{version}", "metadata": {}, "spec": sent}
        began, result = monotonic(), "canceled"
        try:
            answer = await self._remote.ask({**review, "status": {"allowed": False}})
            result = "success"
        except RemoteError as error:
            result = "timeout" if error.timed_out else "error"
            if not self._settings.denies_on_failure:
                FAILED_OPEN.labels(self._settings.name, result).inc()
            raise
        finally:
            name = self._settings.name
            EVALUATIONS.labels(name, result).inc()
            DURATION.labels(name, result).observe(monotonic() - began)
        status = answer.get("status")
        status = status if isinstance(status, dict) else {}
        allowed, denied, reason = status.get("allowed") is True, status.get("denied") is True, status.get("reason", "")
        reason = reason if isinstance(reason, str) else ""
        if denied and allowed:
            text = "webhook subject access review returned both allow and deny response"
            return Verdict(Decision.DENY, reason, text)
        return Verdict(Decision.DENY if denied else Decision.ALLOW if allowed else Decision.NO_OPINION, reason)

    def _recall(self, key: str) -> Verdict | None:
        until, verdict = self._remembered.get(key, (0.0, None))
        if verdict is not None and until < time.monotonic():
            del self._remembered[key]
            return None
        return verdict

    def _remember(self, key: str, verdict: Verdict) -> None:
        ttl = self._settings.authorized_ttl if verdict.allowed else self._settings.unauthorized_ttl
        if ttl > 0:
            size = len(key) + len(verdict.reason) + len(verdict.error) + _VERDICT
            self._remembered.keep(key, (time.monotonic() + ttl, verdict), size)


def review_spec(attributes: Attributes) -> JsonObject:
    """The spec of the SubjectAccessReview that asks about a request."""
    user, info = attributes.user, attributes.info
    spec: JsonObject = {}
    if info.is_resource:
        asked: JsonObject = {name: value for name in _TEXTS if (value := getattr(info, name))}
        for name, requirements in (
            ("fieldSelector", field_requirements(info)),
            ("labelSelector", label_requirements(info)),
        ):
            if requirements:
                asked[name] = {"requirements": [each.spec() for each in requirements]}
        spec["resourceAttributes"] = asked
    else:
        spec["nonResourceAttributes"] = {"path": info.path, "verb": info.verb}
    if user.name:
        spec["user"] = user.name
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra}
    if user.uid:
        spec["uid"] = user.uid
    return spec


def _shown(spec: JsonObject) -> JsonObject:
    """The spec as conditions see it: strings that are not set are "" here."""
    shown = {"user": "", "groups": [], "uid": "", "extra": {}, **spec}
    if (asked := spec.get("resourceAttributes")) is not None:
        shown["resourceAttributes"] = {**dict.fromkeys(_TEXTS, ""), **asked}
    return shown


def _size(attributes: Attributes) -> int:
    info = attributes.info
    return sum(len(getattr(info, name)) for name in _TEXTS) + len(info.path)
