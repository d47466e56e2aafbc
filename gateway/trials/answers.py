"""The answers of faults by name: kube-apiserver's error statuses, delays, resets, faults of watches, stale reads.

`ANSWERS` has the function that makes each answer. Its parameters are those that a test may give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gateway.access.authorization import forbidden as not_allowed
from gateway.flowcontrol.level import Cause, Refused
from gateway.http import status as statuses
from gateway.http.deadline import timed_out as deadline_exceeded
from gateway.http.exchange import ClientDisconnected, Response
from gateway.http.messages import RESET
from gateway.http.status import MODIFIED, StatusError
from gateway.requests.context import Outcome, RequestContext
from gateway.trials.body_name import name_in
from gateway.trials.stale import read_stale
from gateway.trials.watch_faults import Course
from storage.errors import Unavailable

LONGEST = 600.0  # seconds of a delay
_READS = ("get", "list", "watch")

Do = Callable[[RequestContext], Outcome]


@dataclass(frozen=True, slots=True)
class InjectedAnswer:
    """The effect of a fault on a request.

    The request waits for `delay` seconds. `before` runs before the verb is found, `instead` replaces the verb, and
    `afterwards` runs after it. `watch` is the fault of a watch, `webhook` the reason with which webhooks fail. `pick`
    chooses an answer for each request.
    """

    name: str = ""
    delay: float = 0.0
    before: Do | None = None
    instead: Do | None = None
    afterwards: Do | None = None
    watch: Course | None = None
    webhook: str = ""
    pick: Callable[[RequestContext | None, str], InjectedAnswer | None] | None = None
    concerns: Callable[[RequestContext], bool] | None = None  # None: it concerns all requests


def conflict() -> InjectedAnswer:
    """409: another client has changed the object."""
    return _refusal_of_object(lambda group, resource, name: statuses.conflict(group, resource, name, MODIFIED))


def already_exists() -> InjectedAnswer:
    """409: an object of that name exists."""
    return _refusal_of_object(statuses.already_exists)


def not_found() -> InjectedAnswer:
    """404: no object of that name exists."""
    return _refusal_of_object(statuses.not_found)


def forbidden() -> InjectedAnswer:
    """403, as if no role allowed the request."""
    return _refusal(lambda context: not_allowed(context.attributes, ""))


def unauthorized() -> InjectedAnswer:
    """401, as for an unknown token."""
    return _refusal(lambda context: StatusError(401, "Unauthorized", "Unauthorized"))


def gone() -> InjectedAnswer:
    """410: the resourceVersion or continue token is too old. A watch gets an ERROR event, as from kube-apiserver."""

    def before(context: RequestContext) -> None:
        if context.request.info.verb != "watch":
            raise statuses.expired("The resourceVersion for the provided list is too old.")

    return InjectedAnswer(before=before, watch=Course("gone"))


def too_many_requests(retry_after: int = 1) -> InjectedAnswer:
    """429, as if all seats of a priority level were taken."""

    def before(context: RequestContext) -> None:
        raise Refused(Cause.CONCURRENCY_LIMIT, retry_after)

    return InjectedAnswer(before=before)


def internal_error(message: str = "a test ordered this") -> InjectedAnswer:
    """500: the server failed."""
    return _refusal(lambda context: statuses.internal_error(message))


def server_timeout(retry_after: int = 1) -> InjectedAnswer:
    """500 with the reason ServerTimeout: the operation could not be completed at this time."""

    def make(context: RequestContext) -> StatusError:
        info = context.request.info
        qualified = f"{info.resource}.{info.group}" if info.group else info.resource
        text = f"The {info.verb} operation against {qualified} could not be completed at this time, please try again."
        details = {"group": info.group, "kind": info.resource, "retryAfterSeconds": retry_after}
        given = {key: value for key, value in details.items() if value}
        return StatusError(500, "ServerTimeout", text, given, _retry(retry_after))

    return _refusal(make)


def timed_out() -> InjectedAnswer:
    """504; the request is not carried out."""
    return _refusal(lambda context: deadline_exceeded())


def timed_out_after_write() -> InjectedAnswer:
    """504, although the request is carried out; the client cannot tell the difference."""

    def afterwards(context: RequestContext) -> Outcome:
        raise deadline_exceeded()

    return InjectedAnswer(afterwards=afterwards)


def unavailable(retry_after: int = 0) -> InjectedAnswer:
    """503: the server cannot answer now."""
    text = "the server is currently unable to handle the request"
    details: dict[str, Any] | None = {"retryAfterSeconds": retry_after} if retry_after else None
    return _refusal(lambda context: StatusError(503, "ServiceUnavailable", text, details, _retry(retry_after)))


def status(code: int, reason: str = "", message: str = "", retry_after: int = 0) -> InjectedAnswer:
    """A Status with the given code, from 400 to 599."""
    if not 400 <= code <= 599:
        raise statuses.bad_request(f"a fault's status has a code from 400 to 599, not {code}")
    details: dict[str, Any] | None = {"retryAfterSeconds": retry_after} if retry_after else None
    return _refusal(lambda context: StatusError(code, reason, message, details, _retry(retry_after)))


def quota_exceeded(quota: str = "quota", requested: str = "", used: str = "", limited: str = "") -> InjectedAnswer:
    """403, as if a ResourceQuota were exceeded."""

    def make(group: str, resource: str, name: str) -> StatusError:
        of = f"count/{resource}.{group}" if group else resource if resource == "pods" else f"count/{resource}"
        amounts = f"requested: {requested or of + '=1'}, used: {used or of + '=1'}, limited: {limited or of + '=1'}"
        return statuses.forbidden(group, resource, name, f"exceeded quota: {quota}, {amounts}")

    return _refusal_of_object(make)


def etcd_gone() -> InjectedAnswer:
    """The answers of a server that does not reach etcd. Watches, and reads at resourceVersion=0, still work."""

    def before(context: RequestContext) -> None:
        request = context.request
        cached = request.query_string and request.parameter("resourceVersion") == "0"
        if request.info.verb not in _READS or not (cached or request.info.verb == "watch"):
            raise Unavailable("a test ordered that etcd is gone")

    return InjectedAnswer(before=before)


def latency(seconds: float) -> InjectedAnswer:
    """The request waits before it is carried out."""
    return InjectedAnswer(delay=seconds)


def reset_before() -> InjectedAnswer:
    """The connection is reset, and the request is not carried out."""
    return InjectedAnswer(before=_reset)


def reset_after() -> InjectedAnswer:
    """The request is carried out, and the connection is reset before the answer."""
    return InjectedAnswer(afterwards=_reset)


def stale_reads(changes: int = 0, seconds: float = 0.0) -> InjectedAnswer:
    """GETs and LISTs at resourceVersion=0 lack the last `changes` of the resource, and those of the last `seconds`."""
    if not changes and not seconds:
        changes = 1
    return InjectedAnswer(
        instead=lambda context: read_stale(context, changes, seconds),
        concerns=lambda context: (
            context.request.info.verb in ("get", "list")
            and bool(context.request.query_string)
            and context.request.parameter("resourceVersion") == "0"
        ),
    )


def webhook_fails(reason: str = "context deadline exceeded") -> InjectedAnswer:
    """Calls of admission webhooks fail with that reason, in Go's words. The failurePolicy decides about the request."""
    return InjectedAnswer(webhook=reason)


def watch_ends(after: float = 0.0) -> InjectedAnswer:
    """Watches end cleanly, `after` seconds from now, or from their start."""
    return InjectedAnswer(watch=Course("ends", after))


def watch_silent(after: float = 0.0) -> InjectedAnswer:
    """Watches stay open and send nothing; the events come when the fault is removed."""
    return InjectedAnswer(watch=Course("silent", after))


def watch_gone(after: float = 0.0) -> InjectedAnswer:
    """Watches get an ERROR event with status 410, and end."""
    return InjectedAnswer(watch=Course("gone", after))


def watch_late(seconds: float) -> InjectedAnswer:
    """Watches send each event `seconds` late."""
    return InjectedAnswer(watch=Course("late", seconds))


def watch_reset(after: float = 0.0) -> InjectedAnswer:
    """The connections of watches are reset in the middle of the answer."""
    return InjectedAnswer(watch=Course("reset", after))


def bookmark_twice() -> InjectedAnswer:
    """Watches with allowWatchBookmarks get a bookmark at once, and each bookmark twice."""
    return InjectedAnswer(watch=Course("twice"))


ANSWERS: Mapping[str, Callable[..., InjectedAnswer]] = {
    make.__name__: make
    for make in (
        *(already_exists, bookmark_twice, conflict, etcd_gone, forbidden, gone, internal_error, latency, not_found),
        *(quota_exceeded, reset_after, reset_before, server_timeout, stale_reads, status, timed_out),
        *(timed_out_after_write, too_many_requests, unauthorized, unavailable, watch_ends, watch_gone, watch_late),
        *(watch_reset, watch_silent, webhook_fails),
    )
}


def made(name: str, **given: Any) -> InjectedAnswer:
    """An answer by its name. Raises KeyError, TypeError."""
    return replace(ANSWERS[name](**given), name=name)


def _refusal(make: Callable[[RequestContext], StatusError]) -> InjectedAnswer:
    def before(context: RequestContext) -> None:
        raise make(context)

    return InjectedAnswer(before=before)


def _refusal_of_object(make: Callable[[str, str, str], StatusError]) -> InjectedAnswer:
    """An answer whose error has the group, resource and name of the object. For a create, the name is in the body."""

    async def before(context: RequestContext) -> None:
        info, name = context.request.info, context.request.info.name
        if info.verb == "create" and not name:
            name = await name_in(context.request)
        raise make(info.group, info.resource, name)

    return InjectedAnswer(before=before)


def _retry(seconds: int) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"retry-after", b"%d" % seconds),) if seconds else ()


async def _reset(context: RequestContext) -> Response:
    await context.send({"type": RESET})
    raise ClientDisconnected
