"""The context of one request: the results of its stages, and the resources that it holds until it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gateway.http.exchange import Request, Response
from gateway.http.send import Send
from storage.instruments.trace import Times

if TYPE_CHECKING:
    from gateway.audit.audit import Record
    from gateway.endpoints.endpoint import Endpoint
    from gateway.flowcontrol.limiter import Held
    from gateway.http.negotiation import Negotiator
    from gateway.http.request_info import RequestInfo
    from gateway.http.status import StatusError
    from gateway.http.user import User
    from gateway.kinds.attributes import Attributes
    from gateway.requests.measures import Measures
    from gateway.tracing.tracer import RequestTrace
    from gateway.verbs import Verb
    from storage.instruments import Gauge

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]


class Route(NamedTuple):
    """The properties of a request that follow from its method, path and query alone."""

    info: RequestInfo
    endpoint: Endpoint
    verb: Verb
    media: Negotiator
    query: dict[str, list[str]]
    timeout: float | None
    measures: Measures
    problem: StatusError | None = None  # the error if the path's name or namespace is impossible for the resource


class RequestContext(Times):
    """The data that stages share. The docstring of a stage says which members it sets; before that they are None.

    No other stage sets them (tests/unit/requests/test_stages.py).

    `user` is the authenticated user, `request.user` the impersonated one if there is one. `response` is the verb's,
    before it is converted to the negotiated representation.
    """

    # class attributes until they are set, so that rare members take no time in other requests
    route: Route | None = None  # set from the cache of routes, or by the stage routing
    timeout: float | None = None  # seconds of the request's deadline
    user: User | None = None
    attributes: Attributes
    record: Record | None = None  # for the audit log
    seats: Held | None = None
    watch: Held | None = None
    response: Response
    long: Gauge | None = None  # counts the open long-running requests, such as watches
    trace: RequestTrace | None = None  # set after authentication if tracing is configured
    faults: Sequence[RequestFault] = ()  # the faults that tests ordered for this request
    recording: RequestRecorder | None = None  # records the request, in tests
    asked: Any  # data of `recording` about this request
    measures: Measures | None = None  # the metrics of the route, set by the stage negotiation

    def __init__(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        self.request, self.scope, self.receive, self.send = request, scope, receive, send
        self.began, self.waits = monotonic(), []  # the same as in Times.__init__, without the call

    def give_back(self) -> None:
        """Gives back seats and counts that the request holds. Must be called once, at the end of the request.

        It also drops the answer: tasks and timers that the request has started may keep the context alive for longer.
        """
        self.response = ANSWERED
        if self.seats is not None:
            self.seats.give_back()
        if self.watch is not None:
            self.watch.give_back()
        if self.long is not None:
            self.long.value -= 1


Outcome = Response | Awaitable[Response | None] | Awaitable[None] | None
"""The result of a stage: None for the next stage, or the answer, or an awaitable of either."""

Run = Callable[[RequestContext], Outcome]


Steps = Sequence[tuple[str, Run]]
"""Stages as they are run: their names and functions."""


class RequestFault(Protocol):
    """A fault that a test ordered for a request."""

    def instead(self, context: RequestContext) -> Outcome:
        """The answer that replaces the verb's, so that the verb does not run; None to run the verb."""

    def afterwards(self, context: RequestContext) -> Outcome:
        """The answer after the verb has run; None for the verb's own answer."""


class RequestRecorder(Protocol):
    """Records requests, for tests."""

    def answered(self, context: RequestContext, response: Response) -> None:
        """Called before the answer is sent."""

    def over(self, context: RequestContext) -> None:
        """Called at the end of the request, whether it was answered or not."""


class Stage(NamedTuple):
    """One step in handling a request, and its name in metrics and traces."""

    name: str
    run: Run
    by_path: bool = False  # whether a request with a cached route skips the stage
    of_others: bool = False  # whether a resource request skips the stage
    of_writes: bool = False  # whether a GET skips the stage
    again: bool = False  # whether a read that waited for its objects to be readable passes the stage once more


ANSWERED = Response(0)
"""The outcome of a stage that has sent the answer itself."""
