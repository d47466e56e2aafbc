"""One request on its way: what its stages find out about it, and what it holds until it is over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from gateway.http.exchange import Request, Response
from gateway.http.sending import Send
from storage.instruments.timing import Times

if TYPE_CHECKING:
    from gateway.audit.auditing import Record
    from gateway.flowcontrol.limiting import Held
    from gateway.http.user import User
    from gateway.kinds.attributes import Attributes
    from gateway.requests.measures import Measures
    from gateway.requests.routes import Route
    from storage.instruments import Gauge

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]


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
    measures: Measures | None = None  # what it is counted by, from the stage on that it is served by

    def __init__(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        self.request, self.scope, self.receive, self.send = request, scope, receive, send
        super().__init__(monotonic())

    def give_back(self) -> None:
        """Returns what it holds of the server. To be called once, when it is over."""
        if self.seats is not None:
            self.seats.give_back()
        if self.watch is not None:
            self.watch.give_back()
        if self.long is not None:
            self.long.value -= 1


Outcome = Response | Awaitable[Response | None] | Awaitable[None] | None
"""What a stage comes to: None has the request go on, a Response is its answer; either may have to be waited for."""

Run = Callable[[RequestContext], Outcome]


class Stage(NamedTuple):
    """One step of a request's way, and the name under which it is timed."""

    name: str
    run: Run
    by_path: bool = False  # whether it has nothing to do where the request's route is remembered


ANSWERED = Response(0)
"""The outcome of a stage that has sent the answer itself."""
