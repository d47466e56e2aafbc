"""Faults of watches, only such as Kubernetes allows: no watch skips an event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic
from typing import Literal

from gateway.http.exchange import Reset
from gateway.http.status import expired
from gateway.reading.watch_stream import WatchStream
from storage.history import Overrun

Kind = Literal["ends", "silent", "gone", "late", "reset", "twice"]
_BOOKMARK = b"BOOKMARK"  # is in the first bytes of such an event, in all media types
_FIRST = 64
_TOO_OLD = "The resourceVersion for the provided watch is too old."


@dataclass(frozen=True, slots=True)
class Course:
    """The fault of a watch. It begins `seconds` after the fault was ordered or the watch began, whichever is later. For
    the kind "late", `seconds` is the delay of each event.
    """

    kind: Kind
    seconds: float = 0.0


class Steering:
    """Applies a fault to one watch, until the fault is removed."""

    def __init__(self, stream: WatchStream, course: Course) -> None:
        self._stream, self._course = stream, course
        self._at = monotonic() + (0.0 if course.kind == "late" else course.seconds)
        self._over = asyncio.Event()
        self._told = False
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Starts to change what the watch sends."""
        self._stream.steer(self)
        if self._course.kind != "late" and self._course.seconds:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._course.seconds, lambda: self._stream.steer(self))

    def end(self) -> None:
        """Lets the watch go on normally; events that were held back come first."""
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._stream.steering is self:
            self._stream.steer(None)

    async def __call__(self, chunk: bytes) -> AsyncIterator[bytes]:
        """The chunks to send instead of a chunk of the stream. Raises what ends the watch: Overrun for a clean end,
        StatusError 410, Reset.
        """
        if self._over.is_set() or monotonic() < self._at:
            if chunk:
                yield chunk
            return
        match self._course.kind:
            case "ends":
                raise Overrun
            case "gone":
                raise expired(_TOO_OLD)
            case "reset":
                raise Reset
            case "silent":
                await self._pause(None)
            case "late" if chunk:
                await self._pause(self._course.seconds)
            case "twice" if not self._told and self._stream.options.allow_bookmarks and not chunk:
                self._told = True
                chunk = self._stream.encoder.bookmark(self._stream.endpoint.store.cache.reached)
        if chunk:
            yield chunk
            if self._course.kind == "twice" and _BOOKMARK in chunk[:_FIRST]:
                yield chunk

    async def _pause(self, seconds: float | None) -> None:
        """Waits until the fault is removed, `seconds` are over (None: no limit), or the watch has to end."""
        stream = self._stream
        left = max(0.0, stream.deadline - monotonic())
        waits = [asyncio.ensure_future(event.wait()) for event in (self._over, stream.endpoint.services.stopping)]
        try:
            limit = left if seconds is None else min(left, seconds)
            await asyncio.wait(waits, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if stream.endpoint.services.stopping.is_set():
            raise Overrun
