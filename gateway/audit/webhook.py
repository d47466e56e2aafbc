"""Sends events to a webhook, as EventLists of audit.k8s.io/v1 ("Webhook backend").

A call is repeated after any kind of failure: most failures pass, and without another attempt the events would be lost.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from contextlib import suppress

from gateway import pieces
from gateway.access.remote import RemoteService
from gateway.audit.batches import Batching, Throttle
from gateway.audit.counts import Counts
from gateway.audit.event import AuditEvent
from gateway.audit.policy import API_VERSION
from gateway.audit.sink import MOST_WAITING, AuditMode, Complaints
from gateway.audit.truncation import EventSizes, EventTooLarge, batches, fitting
from gateway.jsontypes import dumps
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest

_ATTEMPTS = 5
_VERSION = API_VERSION.encode()
_LONGER, _JITTER = 1.5, 0.2
_TIMEOUT = 30.0  # seconds of one call
_LARGEST = 1 << 20  # bytes of an answer
_AT_ONCE = 8  # concurrent calls
_ENDING = 5.0  # seconds to send the last events when the server stops


class WebhookSink:
    """Sends events in batches; in the blocking modes, sends each event by itself while its request waits."""

    def __init__(
        self,
        place: RemoteService,
        mode: AuditMode,
        batching: Batching,
        bounds: EventSizes | None = None,
        counts: Counts | None = None,
    ) -> None:
        self._place, self._mode, self._batching, self._bounds = place, mode, batching, bounds
        self._throttle = Throttle(batching.rate, batching.burst, time.monotonic())
        self._client = Client()
        self._waiting: deque[AuditEvent] = deque()
        self._size = 0  # bytes of the events that wait or are being sent
        self._arrived, self._full, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._complaints = Complaints("--audit-webhook-config-file", counts or Counts())
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._sending: set[asyncio.Task[None]] = set()
        self._task = asyncio.create_task(self._run(), name="audit-webhook")

    async def take(self, event: AuditEvent) -> bool:
        if self._mode is not AuditMode.BATCH:
            return await self._send([event]) or self._mode is not AuditMode.STRICT
        if len(self._waiting) >= self._batching.most or self._size + event.size > MOST_WAITING:
            self._complaints.lost(1, "buffered", "too many wait to be sent")
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
        self._client.close()

    async def _run(self) -> None:
        while self._waiting or not self._ending.is_set():
            batch = await self._next()
            await pieces.survive_async(self._begin_sending, batch, self._not_begun, None)

    async def _next(self) -> list[AuditEvent]:
        """Waits for a batch: until it is full, or its first event has waited long enough."""
        await self._arrived.wait()
        if len(self._waiting) < self._batching.size and not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._full.wait(), self._batching.wait)
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._batching.size))]
        if len(self._waiting) < self._batching.size and not self._ending.is_set():
            self._full.clear()
        if not self._waiting and not self._ending.is_set():
            self._arrived.clear()
        return batch

    async def _begin_sending(self, batch: list[AuditEvent]) -> None:
        if batch:
            await self._pause(self._throttle.delay(time.monotonic()))
            await self._places.acquire()
            task = asyncio.create_task(self._send_batch(batch))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    def _not_begun(self, batch: list[AuditEvent], error: Exception) -> None:
        self._size -= sum(event.size for event in batch)
        self._complaints.lost(len(batch), "webhook", type(error).__name__)

    async def _send_batch(self, batch: list[AuditEvent]) -> None:
        try:
            await self._send(batch)
        finally:
            self._size -= sum(event.size for event in batch)
            self._places.release()

    async def _pause(self, seconds: float) -> None:
        """Waits, but no longer than until the server stops."""
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), seconds)

    async def _send(self, events: list[AuditEvent]) -> bool:
        """Sends events; returns whether the service accepted all. Raises nothing."""
        items = await asyncio.to_thread(self._encoded, events)
        taken = True
        for batch in batches(items, self._bounds):
            taken = await pieces.survive_async(self._post, batch, self._failed, False) and taken
        return taken

    def _failed(self, items: list[bytes], error: Exception) -> None:
        self._complaints.lost(len(items), "webhook", type(error).__name__)

    async def _post(self, items: list[bytes]) -> bool:
        body = b'{"kind":"EventList","apiVersion":"%b","metadata":{},"items":[%b]}' % (_VERSION, b",".join(items))
        pause, problem = self._batching.pause, ""
        for left in reversed(range(_ATTEMPTS)):
            try:
                place = self._place
                asked = OutboundRequest("POST", place.path, place.headers(), body, repeatable=True)
                answer = await self._client.call(place.target, asked, _TIMEOUT, _LARGEST)
                if 200 <= answer.status < 300:
                    return True
                problem = f"the server responded with the status code {answer.status}"
            except (OSError, CallError) as error:
                problem = str(error)
            if left:
                await self._pause(pause * (1 + random.random() * _JITTER))
                pause *= _LONGER
        self._complaints.lost(len(items), "webhook", problem)
        return False

    def _encoded(self, events: list[AuditEvent]) -> list[bytes]:
        found = (pieces.survive(self._item, event, self._unwritable, b"") for event in events)
        return [item for item in found if item]

    def _item(self, event: AuditEvent) -> bytes:
        return fitting(event, _item, self._bounds)

    def _unwritable(self, event: AuditEvent, error: Exception) -> None:
        if isinstance(error, EventTooLarge):
            self._complaints.lost(1, "truncate", error)
        else:
            self._complaints.lost(1, "webhook", type(error).__name__)


def _item(event: AuditEvent) -> bytes:
    item = event.object()
    del item["kind"], item["apiVersion"]
    return dumps(item)
