"""Lists and watches the objects of one kind of an extension API server, as client-go's reflectors do."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from gateway.aggregation.held_objects import HeldObjects
from gateway.aggregation.objects import PAGES, Expired, ForeignEvent, ObjectClient
from gateway.endpoints.foreign import ForeignError, ForeignFollower
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.pieces import is_ending, raise_own
from storage.entry import Change, ChangeType
from storage.guard import guarded
from storage.time_slice import TimeSlice

logger = logging.getLogger(__name__)

LEAST, MOST = 0.5, 30.0  # seconds between two attempts, doubled with each failure
WELL = 60.0  # seconds after which the end of an attempt resets the failures
BRIEF = 1.0  # a watch that lasts less seconds counts as a failure


class Reflection:
    """Passes each object of one kind, and each change, to the followers."""

    def __init__(
        self, objects: ObjectClient, held: HeldObjects, followers: Sequence[ForeignFollower], user: User
    ) -> None:
        self._objects, self._held, self._followers, self._user = objects, held, followers, user
        self._version = ""  # the resourceVersion up to which changes were passed; "" to list again

    async def run(self) -> None:
        """Lists and watches until cancelled. After an error, tries again with backoff."""
        failures = 0
        while not is_ending():
            began = time.monotonic()
            try:
                self._version = self._version or await self._load()
                await self._watch()
                if time.monotonic() - began >= BRIEF:
                    failures = 0
                    continue
            except (Exception, asyncio.CancelledError) as error:
                raise_own(error)
                if isinstance(error, Expired) or not isinstance(error, ForeignError):
                    self._version = ""
                extra = {"resource": self._held.kind.prefix.decode(), "error": str(error)}
                logger.info("objects of an extension API server are read again", extra=extra)
            failures = 1 if time.monotonic() - began >= WELL else failures + 1
            await asyncio.sleep(min(LEAST * 2 ** min(failures - 1, 10), MOST))

    async def _load(self) -> str:
        """Lists all objects. Returns the resourceVersion of the list."""
        present, nameless, piece, goes_on = set[bytes](), 0, TimeSlice(), ""
        for _ in range(PAGES):
            page = await self._objects.page(self._held.kind, self._user, goes_on)
            nameless += page.nameless
            for each in page.items:
                present.add(self._held.key(each))
                self._put(ChangeType.ADDED, each)
                if piece.over():
                    await piece.next()
            goes_on = page.goes_on
            if not goes_on:
                break
        else:
            raise Expired("the list has no end")
        for key in self._held.without(present):
            self._remove(key)
            if piece.over():
                await piece.next()
        if nameless:
            extra = {"resource": self._held.kind.prefix.decode(), "objects": nameless}
            logger.warning("objects of an extension API server have invalid names, and are skipped", extra=extra)
        self._held.loaded = True
        for follower in self._followers:
            follower.begin(self._held.kind.prefix, present)
        return page.version

    async def _watch(self) -> None:
        """Processes changes until the watch ends. The next watch continues from there, even after a lost connection."""
        async for event in self._objects.watch(self._held.kind, self._user, self._version):
            self._take(event)
            self._version = event.version or self._version

    def _take(self, event: ForeignEvent) -> None:
        if event.metadata is None:
            return
        if event.type == "DELETED":
            self._remove(self._held.key(event.metadata))
        else:
            self._put(ChangeType.ADDED if event.type == "ADDED" else ChangeType.MODIFIED, event.metadata)

    def _put(self, type_: ChangeType, metadata: JsonObject) -> None:
        if self._held.replaces(metadata):
            self._remove(self._held.key(metadata))
        self._tell(Change(type_, 0, self._held.put(metadata), None))

    def _remove(self, key: bytes) -> None:
        change = self._held.remove(key)
        if change is not None:
            self._tell(change)

    def _tell(self, change: Change) -> None:
        for follower in self._followers:
            with guarded("controllers", change.entry):
                follower.change(self._held.kind.prefix, change)
