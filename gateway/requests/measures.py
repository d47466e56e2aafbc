"""Metrics of requests, with the names and labels of apiserver's `pkg/endpoints/metrics`.

The labelled children of a route's metrics are found once, when the route is made. So counting the answer of a GET takes
less than a microsecond.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping, Sequence
from time import monotonic
from typing import Protocol

from gateway.http.exchange import Request, Response
from gateway.http.request_info import RequestInfo
from storage.instruments import STABLE, Counter, Gauge, Histogram, by, counter, exponential, gauge, histogram, owners

COMPONENT = "apiserver"
_OF_ROUTE = ("verb", "group", "version", "resource", "subresource", "scope", "component")
_OF_RESOURCE = (by("resource", "group", "resource"),)
_DRY = ("verb", "dry_run", *_OF_ROUTE[1:])
_QUICK, _SHORT = 0.005, 0.05  # seconds: the first buckets of DURATION and SLI; most requests need no search for theirs
_SECONDS = (_SHORT, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)

REQUESTS = counter(
    "apiserver_request_total", "Requests that were answered.", *_DRY, "code", level=STABLE, of=_OF_RESOURCE
)
DURATION = histogram(
    "apiserver_request_duration_seconds",
    "Time from a request's arrival to the end of its answer.",
    *_DRY,
    buckets=(_QUICK, 0.025, *_SECONDS),
    level=STABLE,
    of=_OF_RESOURCE,
)
SLI = histogram(
    "apiserver_request_sli_duration_seconds",
    "Request duration without the time in webhooks and in flow control.",
    *_OF_ROUTE,
    buckets=_SECONDS,
    of=_OF_RESOURCE,
)
SIZES = histogram(
    "apiserver_response_sizes",
    "Bytes of the answers of reads.",
    *_OF_ROUTE,
    buckets=exponential(1000, 10, 7),
    level=STABLE,
    of=_OF_RESOURCE,
)
LONG_RUNNING = gauge(
    "apiserver_longrunning_requests",
    "Open long-running requests, such as watches.",
    *_OF_ROUTE,
    level=STABLE,
    of=_OF_RESOURCE,
)
IN_FLIGHT = gauge(
    "apiserver_current_inflight_requests", "Requests that are executing, by kind.", "request_kind", level=STABLE
)
DEPRECATED = gauge(
    "apiserver_requested_deprecated_apis",
    "Deprecated APIs that were requested.",
    "group",
    "version",
    "resource",
    "subresource",
    "removed_release",
    level=STABLE,
    of=_OF_RESOURCE,
    across="max",
)
TERMINATIONS = counter(
    "apiserver_request_terminations_total",
    "Requests that the server ended to protect itself.",
    *_OF_ROUTE,
    "code",
    of=_OF_RESOURCE,
)
ABORTS = counter(
    "apiserver_request_aborts_total",
    "Requests whose connection ended before their answer.",
    *_OF_ROUTE[:-1],
    of=_OF_RESOURCE,
)
SELF_REQUESTS = counter(
    "apiserver_selfrequest_total",
    "Requests that API servers made to themselves.",
    "verb",
    "group",
    "resource",
    "subresource",
    of=_OF_RESOURCE,
)
BODIES = histogram(
    "apiserver_request_body_size_bytes",
    "Bytes of the bodies of writes.",
    "resource",
    "verb",
    "group",
    buckets=tuple(50_000 + 100_000 * step for step in range(31)),
    of=_OF_RESOURCE,
)
FIELDS = histogram(
    "field_validation_request_duration_seconds",
    "Duration of writes, by fieldValidation.",
    "field_validation",
    buckets=_SECONDS,
)
FILTERS = histogram(
    "apiserver_request_filter_duration_seconds",
    "Time that slow requests waited in each stage.",
    "filter",
    buckets=(0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30),
)

_DIRECTIVES = frozenset({"", "Ignore", "Warn", "Strict"})
_METHODS = {"get": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "watch": "WATCH", "list": "LIST"}
_METHODS |= {"delete": "DELETE", "deletecollection": "DELETE"}
_CONNECTS = frozenset({"log", "exec", "portforward", "attach", "proxy"})
_APPLIES = b"application/apply-patch+"
_WRITING = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE"})
_BODIES = {"create": "create", "update": "update", "patch": "patch"}
_BODIES |= {"delete": "delete", "deletecollection": "delete_collection"}
_OF_COLLECTIONS = frozenset({"list", "watch", "deletecollection"})
_SELF = "system:apiserver"
NOT_SERVICE = frozenset({"mutating-webhook", "validating-webhook", "priority-and-fairness"})

_reads, _writes = IN_FLIGHT.labels("readOnly"), IN_FLIGHT.labels("mutating")


class _Traced(Protocol):
    @property
    def id(self) -> str: ...


class MeasuredRequest(Protocol):
    """The members of a request's context that metrics need."""

    @property
    def request(self) -> Request: ...

    @property
    def began(self) -> float: ...

    @property
    def waits(self) -> Sequence[tuple[str, float, float]]: ...

    @property
    def trace(self) -> _Traced | None: ...

    @property
    def route(self) -> object | None: ...


class Measures:
    """The metrics of one route, with one value of dryRun."""

    def __init__(
        self, labels: tuple[str, ...], dry_run: str, deprecated: str | None, scope: str, body: str = ""
    ) -> None:
        """`labels` are those of `_OF_ROUTE` without the component. `deprecated` is the release that removes the
        version, "" if unknown; None if the version is not deprecated. `scope` is that of the request: a list or watch
        of one name is of the resource, although its route is of a collection. `body` is the verb of a request that may
        have a body.
        """
        verb, group, version, resource, subresource, _ = labels
        whole, own = (*labels, COMPONENT), (*labels[:-1], scope)
        self._labels = (verb, dry_run, *whole[1:])
        self._codes: dict[int, Counter] = {}
        self._seconds = DURATION.labels(*self._labels)
        self._sli = None if dry_run else SLI.labels(*whole)
        self._sizes = SIZES.labels(*whole) if verb in ("GET", "LIST") else None
        self.long: Gauge | None = LONG_RUNNING.labels(*own, COMPONENT) if verb in ("WATCH", "CONNECT") else None
        self.in_flight = _writes if verb in _WRITING else _reads
        self.bodies = BODIES.labels(resource, body, group) if body and verb in _WRITING else None
        self._deletes = verb == "DELETE"
        self._self = (verb, group, resource, subresource)
        self._deprecated = None if deprecated is None else (group, version, resource, subresource, deprecated)
        self.aborts = own

    def answered(self, context: MeasuredRequest, response: Response) -> float:
        """Counts a request that has been answered; returns the seconds that it took."""
        status = response.status
        if status == 504:
            turned_away(context, status)
        code = self._codes.get(status)
        if code is None:
            code = self._codes[status] = REQUESTS.labels(*self._labels, str(status))
        code.value += 1
        seconds = served = monotonic() - context.began
        for name, began, ended in context.waits:
            if name in NOT_SERVICE:
                served -= ended - began
        durations, sli = self._seconds, self._sli
        durations.counts[0 if seconds <= _QUICK else bisect_left(durations.bounds, seconds)] += 1
        durations.total += seconds
        if sli is not None:
            sli.counts[0 if served <= _SHORT else bisect_left(_SECONDS, served)] += 1
            sli.total += served
        if context.trace is not None and context.trace.id:
            durations.exemplify(seconds, context.trace.id)
        if self._sizes is not None:
            body = response.body
            self._sizes.observe(len(body) if isinstance(body, bytes) else _size(body))
        if self._deprecated is not None:
            DEPRECATED.labels(*self._deprecated).set(1)
        if context.request.user.name == _SELF:
            SELF_REQUESTS.labels(*self._self).inc()
        if self.bodies is not None:
            self._sent(context.request, self.bodies, status, seconds)
        return seconds

    def _sent(self, request: Request, bodies: Histogram, status: int, seconds: float) -> None:
        sent = request.read_body
        if self._deletes:
            if sent is not None or status < 400:  # without a body a refusal may have come before the attempt to read it
                bodies.observe(len(sent or b""))
        elif sent is not None:
            bodies.observe(len(sent))
            given = request.parameter("fieldValidation") if request.query_string else ""
            known = FIELDS.labels(given if given in _DIRECTIVES else "invalid")
            known.counts[0 if seconds <= _SHORT else bisect_left(_SECONDS, seconds)] += 1
            known.total += seconds


def _size(body: Sequence[bytes] | AsyncIterator[bytes]) -> int:
    return 0 if isinstance(body, AsyncIterator) else sum(map(len, body))


_known: dict[tuple[str, ...], dict[tuple[tuple[str, ...], str], Measures]] = {}  # by group and resource


def _forget(owner: tuple[str, ...]) -> None:
    _known.pop(owner, None)


owners.on_leave(_forget)


def measures_of(request: Request, deprecated: str | None = None) -> Measures:
    """The metrics for a request, whose resource must be served. `deprecated` is as in `Measures`."""
    info = request.info
    owner = ("resource", info.group, info.resource)
    scope = scope_of(info)
    routed = _scope_of_collection(info) if scope == "resource" and info.verb in _OF_COLLECTIONS else scope
    labels = (reported_verb(request), info.group, info.version, info.resource, info.subresource, routed, scope)
    key = labels, _dry_run(request.query) if request.query_string else ""
    known = _known.get(owner)
    found = None if known is None else known.get(key)
    if found is None:
        found = Measures(labels[:-1], key[1], deprecated, scope, _BODIES.get(info.verb, ""))
        if not owners.have_gone([owner]):
            _known.setdefault(owner, {})[key] = found
    return found


def reported_verb(request: Request) -> str:
    """The verb of a request in metrics."""
    info = request.info
    if info.subresource in _CONNECTS:
        return "CONNECT"
    if info.verb == "patch" and is_apply(request):
        return "APPLY"
    return _METHODS.get(info.verb, "OTHER")


def is_apply(request: Request) -> bool:
    """Whether the body of a PATCH is a configuration to apply."""
    return request.headers.get(b"content-type", b"").startswith(_APPLIES)


def scope_of(info: RequestInfo) -> str:
    """The scope of a request in metrics: "resource" for one object, or "namespace", or "cluster"."""
    return "resource" if info.name or info.verb == "create" else _scope_of_collection(info)


def _scope_of_collection(info: RequestInfo) -> str:
    return "namespace" if info.namespace else "cluster"


def _dry_run(query: Mapping[str, Sequence[str]]) -> str:
    values = query.get("dryRun")
    if not values:
        return ""
    return "All" if set(values) == {"All"} else "invalid"


def aborted(measures: Measures) -> None:
    """Counts a request whose client closed the connection before the answer."""
    ABORTS.labels(*measures.aborts).inc()


def turned_away(context: MeasuredRequest, status: int) -> None:
    """Counts a request that the server refused or ended to protect itself."""
    request = context.request
    info = request.info
    if info.is_resource:
        labels = (reported_verb(request), info.group, info.version, info.resource, info.subresource, scope_of(info))
        if context.route is None:  # the resource may not exist: clients could make up any number of labels
            labels = (labels[0], "", "", "", "", labels[5])
    else:
        labels = (request.method, "", "", "", "", "")
    TERMINATIONS.labels(*labels, COMPONENT, str(status)).inc()
    if status == 429:
        REQUESTS.labels(labels[0], "", *labels[1:], COMPONENT, str(status)).inc()
