"""Stages that are inserted for a while: those of the process's start, and faults and the recorder of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from gateway.requests.context import RequestContext, Stage

if TYPE_CHECKING:
    from gateway.http.request_info import RequestInfo
    from gateway.http.user import User
    from gateway.reading.watch_stream import WatchStream

Opened = Callable[[RequestContext, "WatchStream"], None]


class Watcher(NamedTuple):
    """The user, the request info and the user agent of a watch."""

    user: User
    info: RequestInfo
    agent: str


class Interposed:
    """The inserted stages, by owner, and the open watches, if `follows` is set."""

    def __init__(self) -> None:
        self._stages: dict[str, Sequence[tuple[str, Stage]]] = {}
        self._listeners: list[Opened] = []
        self._on_change: list[Callable[[], None]] = []
        self.follows = False  # whether `opened` is called for each new watch
        self.at_end: list[Callable[[], None]] = []  # is called when the gateway ends, and the process may go on
        self.in_use = False  # whether a test has used the testing API or the recorder, whose state is only in memory
        self.watches: WeakKeyDictionary[WatchStream, Watcher] = WeakKeyDictionary()

    def put(self, owner: str, stages: Sequence[tuple[str, Stage]]) -> None:
        """Replaces an owner's stages. Each comes with the name of the stage that it follows. An empty list removes the
        owner's stages.
        """
        if stages:
            self._stages[owner] = stages
        else:
            self._stages.pop(owner, None)
        for changed in self._on_change:
            changed()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever stages were inserted or removed."""
        self._on_change.append(listener)

    def among(self, way: Sequence[Stage]) -> Iterator[Stage]:
        """The stages of a request with the inserted ones among them."""
        for stage in way:
            yield stage
            for stages in self._stages.values():
                yield from (own for after, own in stages if after == stage.name)

    def listen(self, listener: Opened) -> None:
        """Calls `listener` with each watch that begins."""
        self._listeners.append(listener)

    def opened(self, context: RequestContext, stream: WatchStream) -> None:
        """Called when a watch begins."""
        request = context.request
        self.watches[stream] = Watcher(request.user, request.info, agent_of(context))
        for listener in self._listeners:
            listener(context, stream)


def agent_of(context: RequestContext) -> str:
    """The User-Agent header of a request."""
    return context.request.headers.get(b"user-agent", b"").decode("latin-1")
