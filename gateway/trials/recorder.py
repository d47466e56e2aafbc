"""A flight recorder: all requests with their users and results, and each version of each object with its writer.

It keeps references to the watch cache's entries, and a small record of each request. Everything else is computed when
it is read (`story.py`). When the events need more than `limit` bytes, the oldest are dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from time import monotonic, time

from gateway.http.exchange import Response
from gateway.http.request_info import RequestInfo
from gateway.reading.watch_stream import WatchStream
from gateway.requests.context import RequestContext, Stage
from gateway.requests.interposed_stages import agent_of
from gateway.requests.parts import Gateway
from storage.cache import ResourceCache
from storage.entry import Change
from storage.instruments.trace import acting, current

LIMIT = 64 << 20  # bytes
REQUEST, CHANGE, TOLD = 900, 400, 120  # bytes of a request, a change and a delivery, without their content
CATCH_UP_TIMEOUT = 5.0  # seconds
LONGEST_WORDS = 2048  # bytes that are kept of an error answer
DELIVERIES = 256  # the last deliveries that are kept of a watch
PROBES = ("/readyz", "/livez", "/healthz", "/testing/", "/debug/")
MOST_WRITERS = 10_000  # the last revisions whose writers are kept for changes that are recorded later


class RecordedRequest:
    """A request and its result. `status` is 0 until it is answered, and if its connection was reset."""

    __slots__ = (
        "agent",
        "at",
        "began",
        "calls",
        "deliveries",
        "ended",
        "events",
        "faults",
        "info",
        "number",
        "path",
        "revision",
        "seconds",
        "status",
        "user",
        "words",
    )

    def __init__(self, context: RequestContext) -> None:
        request = context.request
        self.number = 0
        self.at, self.began = time(), monotonic()
        self.user = "" if context.user is None else context.user.name
        self.agent = agent_of(context)
        self.info: RequestInfo = request.info
        query = request.query_string
        self.path = f"{request.path}?{query.decode('latin-1')}" if query else request.path
        self.status, self.seconds, self.revision, self.words = 0, 0.0, 0, b""
        self.calls: list[tuple[str, float, int, bool]] | None = None  # webhooks: name, seconds, code, whether refused
        self.faults: tuple[str, ...] = ()
        self.deliveries: deque[tuple[float, int, int]] | None = None  # of a watch: time, revision reached, events
        self.events = 0
        self.ended = 0.0

    @property
    def size(self) -> int:
        """An estimate of the bytes that it takes."""
        size = REQUEST + len(self.path) + len(self.agent) + len(self.words)
        return size if self.deliveries is None else size + DELIVERIES * TOLD


class RecordedVersion:
    """A version of an object, and the request or the controller that wrote it, if that is known."""

    __slots__ = ("actor", "at", "change", "number", "request", "resource")

    def __init__(self, number: int, change: Change, resource: tuple[str, str]) -> None:
        self.number, self.change, self.resource, self.at = number, change, resource, time()
        self.request: RecordedRequest | None = None
        self.actor = ""

    @property
    def size(self) -> int:
        """An estimate of the bytes that it takes."""
        return CHANGE + self.change.entry.size


Event = RecordedRequest | RecordedVersion


class FlightRecorder:
    """The recorder of one server. Before `start` it records nothing and costs nothing."""

    def __init__(self, gateway: Gateway, limit: int = LIMIT) -> None:
        self._gateway, self.limit = gateway, limit
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._number = 0
        self._ends: dict[ResourceCache, Callable[[], None]] = {}
        self._ends_of_writes: list[Callable[[], None]] = []
        self.writers: dict[int, RecordedRequest | str] = {}  # by revision: the last ones that this process wrote
        self._follows = False
        self.running = False
        self.dropped = 0

    def start(self) -> None:
        """Records from now on."""
        if self.running:
            return
        self.running = True
        interposed = self._gateway.interposed
        interposed.put("recorder", (("authentication", Stage("recorder", self._begin)),))
        if not self._follows:
            self._follows = interposed.follows = True
            interposed.listen(self._opened)
            interposed.at_end.append(self.stop)
            self._gateway.endpoints.on_change(self._listen)
        self._ends_of_writes.append(self._gateway.feed.listen(self._wrote))
        self._listen()

    def stop(self) -> None:
        """Stops recording; the recorded events stay."""
        self.running = False
        self._gateway.interposed.put("recorder", ())
        for end in self._ends.values():
            end()
        self._ends.clear()
        while self._ends_of_writes:
            self._ends_of_writes.pop()()
        self.writers.clear()

    def clear(self) -> None:
        """Drops all recorded events."""
        self._events.clear()
        self._bytes = self.dropped = 0

    @property
    def number(self) -> int:
        """The number of the last event."""
        return self._number

    def since(self, number: int, most: int) -> list[Event]:
        """The events after a number, in order; if there are more than `most`, the last ones."""
        first = self._events[0].number if self._events else 0
        skipped = max(0, number - first + 1, len(self._events) - most)
        return list(islice(self._events, skipped, None))

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    async def catch_up(self) -> None:
        """Waits until the watch cache has all writes of this process, and so their changes are recorded. Gives up after
        CATCH_UP_TIMEOUT seconds.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_TIMEOUT):
                await self._gateway.store.cache.reach(max(self.writers, default=0))

    # calls of requests, watches and caches

    def _begin(self, context: RequestContext) -> None:
        if context.request.info.is_resource or not context.request.path.startswith(PROBES):
            asked = RecordedRequest(context)
            context.recording = self
            context.asked = asked
            context.hear = partial(_heard, asked)

    def answered(self, context: RequestContext, response: Response) -> None:
        """Records a request that is about to be answered."""
        asked: RecordedRequest = context.asked
        asked.status, asked.seconds = response.status, monotonic() - asked.began
        body = response.body
        if response.status >= 400:
            asked.words = body[:LONGEST_WORDS] if isinstance(body, bytes) else b""
        if context.faults:
            asked.faults = tuple(map(str, context.faults))
        self.keep(asked)

    def over(self, context: RequestContext) -> None:
        """Notes the end of an answer, such as of a watch. Records the request if it was not answered."""
        asked: RecordedRequest = context.asked
        asked.ended = time()
        if not asked.number:
            asked.seconds = monotonic() - asked.began
            if context.faults:
                asked.faults = tuple(map(str, context.faults))
            self.keep(asked)

    def keep(self, event: Event) -> None:
        """Adds an event, and drops the oldest events beyond the limit."""
        self._number += 1
        event.number = self._number
        self._events.append(event)
        self._bytes += event.size
        while self._bytes > self.limit and len(self._events) > 1:
            self._bytes -= self._events.popleft().size
            self.dropped += 1

    def _listen(self) -> None:
        """Listens to the caches of all resources, and stops listening to removed ones."""
        if not self.running:
            return
        present = set(self._gateway.store.cache)
        for gone in self._ends.keys() - present:
            self._ends.pop(gone)()
        for cache in present - self._ends.keys():
            self._ends[cache] = cache.listen(partial(self._changed, cache.spec.group_resource))

    def _changed(self, resource: tuple[str, str], change: Change | None) -> None:
        if change is None or change.corrupt:
            return
        changed = RecordedVersion(0, change, resource)
        writer = self.writers.get(change.revision)
        if isinstance(writer, RecordedRequest):
            changed.request = writer
        elif writer is not None:
            changed.actor = writer
        self.keep(changed)

    def _wrote(self, revision: int) -> None:
        """Notes that the current task wrote a revision. Its change may be recorded while another task runs."""
        writers, times = self.writers, current.get()
        if isinstance(times, RequestContext):
            if times.recording is self:
                asked: RecordedRequest = times.asked
                asked.revision = revision
                writers[revision] = asked
        elif actor := acting.get():
            writers[revision] = actor
        if len(writers) > MOST_WRITERS:
            del writers[next(iter(writers))]

    def _opened(self, context: RequestContext, stream: WatchStream) -> None:
        if context.recording is self:
            asked: RecordedRequest = context.asked
            asked.deliveries = deque(maxlen=DELIVERIES)
            stream.told = partial(self._told, asked, stream)

    def _told(self, asked: RecordedRequest, stream: WatchStream, events: int) -> None:
        assert asked.deliveries is not None
        asked.events += events
        asked.deliveries.append((time(), stream.endpoint.store.cache.reached, events))


def _heard(asked: RecordedRequest, name: str, seconds: float, code: int, refused: bool) -> None:
    """Notes the result of a webhook call, for the first 100 calls of a request."""
    if asked.calls is None:
        asked.calls = []
    if len(asked.calls) < 100:
        asked.calls.append((name, seconds, code, refused))
