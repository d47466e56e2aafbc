"""The context of one request: what its stages find out, and what it holds until it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gateway.http.exchange import Request, Response
from gateway.http.sending import Send
from storage.instruments.timing import Times

if TYPE_CHECKING:
    from gateway.audit.auditing import Record
    from gateway.endpoints.endpoint import Endpoint
    from gateway.flowcontrol.limiting import Held
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
    """What is known of a request from its path and query alone."""

    info: RequestInfo
    endpoint: Endpoint
    verb: Verb
    media: Negotiator
    query: dict[str, list[str]]
    timeout: float | None
    measures: Measures
    problem: StatusError | None = None  # why the resource can have no object under this path


class RequestContext(Times):
    """What the stages share. Each says which of the members it sets; what is not known yet is None.

    `user` is who asks, `request.user` as whom the request is carried out. `response` is a verb's, before it is brought
    into the representation that was negotiated.
    """

    # what hardly any request has takes no time of the others: these are the class's until they are set
    route: Route | None = None  # where it is remembered from an earlier request, or once it is found
    timeout: float | None = None  # seconds that the client gives it
    user: User | None = None
    attributes: Attributes
    record: Record | None = None  # for the audit log
    seats: Held | None = None
    watch: Held | None = None
    response: Response
    long: Gauge | None = None  # what counts it while it is under way, of watches and the like
    trace: RequestTrace | None = None  # where traces are configured, once it is known who asks
    faults: Sequence[Fault] = ()  # that it has met, of those that tests ordered
    recording: Recording | None = None  # where what happens is recorded, for tests
    asked: Any  # what that keeps of it
    measures: Measures | None = None  # what it is counted by, from the stage on that it is served by

    def __init__(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        self.request, self.scope, self.receive, self.send = request, scope, receive, send
        self.began, self.waits = monotonic(), []  # as Times begins, without another call

    def give_back(self) -> None:
        """Returns what it holds of the server. To be called once, when it is over.

        Tasks and timers that it has begun keep it in their contexts for as long as they last: not so its answer.
        """
        self.response = ANSWERED
        if self.seats is not None:
            self.seats.give_back()
        if self.watch is not None:
            self.watch.give_back()
        if self.long is not None:
            self.long.value -= 1


Outcome = Response | Awaitable[Response | None] | Awaitable[None] | None
"""What a stage comes to: None has the request go on, a Response is its answer; either may have to be waited for."""

Run = Callable[[RequestContext], Outcome]


class Fault(Protocol):
    """What a test ordered to go wrong, as far as it concerns a request that is under way."""

    def instead(self, context: RequestContext) -> Outcome:
        """What is answered in place of what the verb would; None where that is carried out."""

    def afterwards(self, context: RequestContext) -> Outcome:
        """What is answered once the verb is carried out; None where that is its own answer."""


class Recording(Protocol):
    """Records requests, for tests."""

    def answered(self, context: RequestContext, response: Response) -> None:
        """The request is about to be answered."""

    def over(self, context: RequestContext) -> None:
        """The request is over, answered or not."""


class Stage(NamedTuple):
    """One step of a request's way, and the name under which it is timed."""

    name: str
    run: Run
    by_path: bool = False  # whether it has nothing to do where the request's route is remembered
    of_others: bool = False  # whether it has nothing to do for a request for a resource
    of_writes: bool = False  # whether it has nothing to do for a GET


ANSWERED = Response(0)
"""The outcome of a stage that has sent the answer itself."""
