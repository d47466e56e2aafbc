"""Events sent to a service, as lists of audit.k8s.io/v1 ("Webhook backend").

Every failure is tried again: there is hardly one after which events should be lost that another attempt would save.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from gateway.access.remote import Place
from gateway.audit.event import Event
from gateway.audit.policy import API_VERSION
from gateway.audit.sink import MOST_WAITING, Complaints, Mode
from gateway.http.calling import Caller, CallError
from gateway.jsontypes import dumps

_ATTEMPTS = 5
_LONGER, _JITTER = 1.5, 0.2
_TIMEOUT = 30.0  # seconds of one call
_LARGEST = 1 << 20  # bytes of an answer
_AT_ONCE = 8  # calls
_ENDING = 5.0  # seconds that the last events have


@dataclass(frozen=True, slots=True)
class Batching:
    """How many events may wait, how many go together, how long (seconds) one waits for others, the first pause."""

    most: int = 10_000
    size: int = 400
    wait: float = 30.0
    pause: float = 10.0


class WebhookSink:
    """Collects events and sends them; in the blocking modes, each on its own while its request waits."""

    def __init__(self, place: Place, mode: Mode, batching: Batching) -> None:
        self._place, self._mode, self._batching = place, mode, batching
        self._caller = Caller(place.peer)
        self._waiting: deque[Event] = deque()
        self._size = 0  # bytes of what waits and of what is being sent
        self._arrived, self._full, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._complaints = Complaints("--audit-webhook-config-file")
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._sending: set[asyncio.Task[None]] = set()
        self._task = asyncio.create_task(self._run(), name="audit-webhook")

    async def take(self, event: Event) -> bool:
        if self._mode is not Mode.BATCH:
            return await self._send([event]) or self._mode is not Mode.STRICT
        if len(self._waiting) >= self._batching.most or self._size + event.size > MOST_WAITING:
            self._complaints.lost(1, "too many wait to be sent")
            return True
        self._waiting.append(event)
        self._size += event.size
        self._arrived.set()
        if len(self._waiting) >= self._batching.size:
            self._full.set()
        return True

    async def close(self) -> None:
        self._ending.set()
        self._full.set()
        self._arrived.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING):
                await self._task
                await asyncio.gather(*self._sending)
        for task in (self._task, *self._sending):
            task.cancel()
        self._caller.close()

    async def _run(self) -> None:
        while self._waiting or not self._ending.is_set():
            await self._arrived.wait()
            if len(self._waiting) < self._batching.size and not self._ending.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._full.wait(), self._batching.wait)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._batching.size))]
            if len(self._waiting) < self._batching.size and not self._ending.is_set():
                self._full.clear()
            if not self._waiting and not self._ending.is_set():
                self._arrived.clear()
            if batch:
                await self._places.acquire()
                task = asyncio.create_task(self._send_batch(batch))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _send_batch(self, batch: list[Event]) -> None:
        try:
            await self._send(batch)
        finally:
            self._size -= sum(event.size for event in batch)
            self._places.release()

    async def _send(self, events: list[Event]) -> bool:
        """Whether the service took them."""
        try:
            body = await asyncio.to_thread(_encoded, events)
        except ValueError as error:
            self._complaints.lost(len(events), type(error).__name__)
            return False
        pause, problem = self._batching.pause, ""
        for left in reversed(range(_ATTEMPTS)):
            try:
                answer = await self._caller.call(
                    "POST", self._place.path, self._place.headers(), body, timeout=_TIMEOUT, largest=_LARGEST
                )
                if 200 <= answer.status < 300:
                    return True
                problem = f"the server responded with the status code {answer.status}"
            except (OSError, CallError) as error:
                problem = str(error)
            if left:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), pause * (1 + random.random() * _JITTER))
                pause *= _LONGER
        self._complaints.lost(len(events), problem)
        return False


def _encoded(events: list[Event]) -> bytes:
    items = []
    for event in events:
        item = event.object()
        del item["kind"], item["apiVersion"]
        items.append(item)
    return dumps({"kind": "EventList", "apiVersion": API_VERSION, "metadata": {}, "items": items})
