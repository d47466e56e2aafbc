"""The worker's end of the connection to the feeder, in the form of a watch on etcd: initial values, then changes.

The value of an event is a `Located`. Changes that the worker has already, by its own writes, are not passed on; the
entries of these then point to shared memory.
"""

from __future__ import annotations

import array
import asyncio
import mmap
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from storage.entry import Entry
from storage.errors import StorageError, Unavailable
from storage.etcd import DELETE, PUT, KeyEvent, KeyValue, WatchBatch
from storage.sharing.located_values import Located, value_at
from storage.sharing.records import DELETED, HEAD, LINEAGE, PACKET, RECORD, SEGMENT, PacketType
from storage.unowned_objects import Values
from storage.watch_cache import WatchCache

PACKETS = 8  # read in one turn of the event loop
ANSWER = 1.0  # seconds in which a working feeder answers
BUFFERED = 16_384  # buffered events after which reading pauses
RETIRED = 8  # retired segments that histories may still use; for older ones, the history copies its values
_ROOM = PACKET + 4096
_ANCILLARY = socket.CMSG_SPACE(4)


class FeederLost(Unavailable):
    """The connection to the feeder has ended or can't be used: the worker goes on with its own watch."""


@dataclass(frozen=True, slots=True)
class WatchOrigin:
    """The revision of the initial values, etcd's cluster ID and raft term, and whether progress can be requested."""

    revision: int
    cluster: int
    term: int
    progress: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """New places of values, or (`left`) a segment that has no value in use any more."""

    events: list[KeyEvent]
    left: mmap.mmap | None = None


class SharedWatch:
    """One connection to the feeder. Iterate it for WatchBatch, as a `Watch`. It raises FeederLost when it ends."""

    is_elsewhere = False

    def __init__(self, connection: socket.socket, cache: WatchCache, known: Callable[[], int]) -> None:
        """`known` returns a revision that etcd is known to have reached."""
        self._socket, self._cache, self._known = connection, cache, known
        self._loop = asyncio.get_running_loop()
        self.items: Values = {}  # the initial values, complete once `origin` is done
        self.origin: asyncio.Future[WatchOrigin] = self._loop.create_future()
        self.told = asyncio.Event()  # set by the first packet
        self.waits = False  # whether the last packet was NOT_YET: too few values to share
        self.ended = asyncio.Event()
        self._segments: dict[int, mmap.mmap] = {}
        self._retired: deque[mmap.mmap] = deque()
        self._more = b""  # the begin of a record whose end has not come yet
        self._part: list[KeyEvent] = []
        self._given: list[KeyEvent] = []  # the events of the last batch that was handed out
        self._batches: deque[WatchBatch | Moves] = deque()
        self._buffered = 0
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        connection.setblocking(False)
        self._reads = True
        self._deadline: asyncio.TimerHandle | None = None  # by which the feeder has to send a packet
        self._heard = False  # whether a packet has come since this was last reset
        self._loop.add_reader(connection, self._read)

    async def start(self) -> int:
        """Waits for the initial values; returns their revision."""
        return (await self.origin).revision

    async def progress_correct(self) -> bool:
        """Whether progress can be requested."""
        return (await self.origin).progress

    async def request_progress(self) -> None:
        """Makes the feeder request progress of etcd. If it sends no packet within `ANSWER` seconds, it is given up."""
        if self._socket.fileno() < 0:
            return
        try:
            self._socket.send(HEAD.pack(PacketType.PROGRESS, self._known()))
        except BlockingIOError:
            pass  # earlier requests are still in the socket
        except OSError:
            self._lost()
            return
        if self._deadline is None and self._reads:
            self._deadline = self._loop.call_later(ANSWER, self._hangs)

    def fail(self, error: StorageError) -> None:
        """Ends the iteration with an error."""
        self.failed(error)

    def failed(self, error: BaseException) -> None:
        """Ends the connection, and the iteration with an error."""
        self._error = self._error or error
        self._close()

    async def cancel(self) -> None:
        """Ends the connection."""
        self.failed(FeederLost("the watch is over"))

    def __aiter__(self) -> SharedWatch:
        return self

    async def __anext__(self) -> WatchBatch:
        if self._given:
            self._settle()
        while True:
            while self._batches:
                batch = self._batches.popleft()
                self._buffered -= len(batch.events)
                if not self._reads and self._buffered < BUFFERED // 2 and self._error is None:
                    self._reads = True
                    self._loop.add_reader(self._socket, self._read)
                if isinstance(batch, Moves):
                    self._move(batch)
                elif not batch.events or batch.revision > self._cache.reached:
                    self._given = batch.events
                    return batch
                else:
                    self.locate(batch.events)
            if self._error is not None:
                raise self._error
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def _settle(self) -> None:
        """Makes the entries of this process's own writes in the last batch point to shared memory."""
        given, self._given = self._given, []
        of_key = self._cache.of_key
        for event in given:
            resource = of_key(event.kv.key)
            if resource is not None and event.type == PUT and type(resource.get(event.kv.key)) is Entry:
                self.locate([event])

    def locate(self, events: list[KeyEvent]) -> None:
        """Makes entries of the same versions as these events point to shared memory."""
        of_key = self._cache.of_key
        for event in events:
            kv = event.kv
            resource = of_key(kv.key)
            if resource is not None and event.type == PUT:
                resource.locate(kv.key, cast(Located, kv.value), kv.mod_revision)

    def _move(self, moves: Moves) -> None:
        self.locate(moves.events)
        if moves.left is None:
            return
        self._retired.append(moves.left)
        if len(self._retired) > RETIRED:
            left = self._retired.popleft()
            for resource in self._cache:
                resource.leave(left)

    def _read(self) -> None:
        """Reads the packets that have come."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        try:
            for _ in range(PACKETS):
                data, ancillary, _, _ = self._socket.recvmsg(_ROOM, _ANCILLARY)
                if not data:
                    self._lost()
                    return
                self._take(data, ancillary)
                if len(data) < PACKET // 2:
                    break  # probably no more packets wait
            if self._buffered > BUFFERED:
                self._reads = False
                self._loop.remove_reader(self._socket)
        except BlockingIOError:
            pass
        except (OSError, LookupError, ValueError, struct.error) as error:  # the packet is invalid
            self.failed(FeederLost(f"the feeder is not understood: {error!r}"))
        if self._batches and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self, data: bytes, ancillary: list[tuple[int, int, bytes]]) -> None:
        kind, number = HEAD.unpack_from(data)
        self._heard = True
        if self._more and kind != PacketType.MORE:
            data, self._more = data[: HEAD.size] + self._more + data[HEAD.size :], b""
        match kind:
            case PacketType.MORE:
                self._more += data[HEAD.size :]
            case PacketType.CHANGES | PacketType.PART:
                self._part += self._events(data)
                if kind == PacketType.CHANGES:
                    events, self._part = self._part, []
                    self._batches.append(WatchBatch(number, events, not events))
                    self._buffered += len(events)
            case PacketType.MOVED:
                self._batches.append(Moves(moved := self._events(data)))
                self._buffered += len(moved)
            case PacketType.RETIRED:
                self._batches.append(Moves([], self._segments.pop(number)))
            case PacketType.SEGMENT:
                self._map(number, SEGMENT.unpack_from(data, HEAD.size)[0], ancillary)
            case PacketType.ITEMS:
                self.items.update(
                    (event.kv.key, (event.kv.value, event.kv.mod_revision)) for event in self._events(data)
                )
            case PacketType.COMPLETE:
                cluster, term, progress = LINEAGE.unpack_from(data, HEAD.size)
                self.origin.set_result(WatchOrigin(number, cluster, term, bool(progress)))
        self.waits = kind == PacketType.NOT_YET
        self.told.set()

    def _events(self, data: bytes) -> list[KeyEvent]:
        found, at, segments = [], HEAD.size, self._segments
        unpack, size, whole = RECORD.unpack_from, RECORD.size, len(data)
        while at < whole:
            flags, length, number, start, end, revision = unpack(data, at)
            at += size
            key = data[at : at + length]
            at += length
            if flags & DELETED:
                found.append(KeyEvent(DELETE, KeyValue(key, b"", revision, 0, 0), None))
            else:
                value = value_at(segments[number], start, end, flags)
                # a Located takes the place of the bytes
                found.append(KeyEvent(PUT, KeyValue(key, cast(bytes, value), revision, 0, 0), None))
        return found

    def _map(self, number: int, size: int, ancillary: list[tuple[int, int, bytes]]) -> None:
        descriptors = array.array("i")
        for _, _, sent in ancillary:
            descriptors.frombytes(sent[: len(sent) - len(sent) % descriptors.itemsize])
        try:
            self._segments[number] = mmap.mmap(descriptors[0], size, prot=mmap.PROT_READ)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _hangs(self) -> None:
        """Gives the feeder up when no packet has come in time.

        It reads once more before: after a long turn, the event loop runs its timers before it reads its sockets.
        """
        self._deadline, self._heard = None, False
        self._read()
        if not self._heard:
            self.failed(FeederLost("the process that reads etcd for all workers does not answer"))

    def _lost(self) -> None:
        self.failed(FeederLost("the process that reads etcd for all workers is gone"))

    def _close(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()
        if self._deadline is not None:
            self._deadline.cancel()
        if not self.origin.done():
            self.origin.set_exception(self._error or FeederLost("closed"))
            self.origin.exception()  # marks it as retrieved, in case no task awaits it
        self.ended.set()
        self.told.set()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
