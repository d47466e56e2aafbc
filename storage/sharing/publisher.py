"""The feeder's side of the sockets: it sends each worker all values, and then every change."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Iterator
from itertools import islice

from storage.feed import Feed
from storage.sharing.records import HEAD, LINEAGE, PACKET, SEGMENT, PacketType, packets
from storage.sharing.segments import Segment
from storage.sharing.shelf import PublishedCache, located

log = logging.getLogger(__name__)

WORTH = 3000  # number of objects from which on sharing is worth it
MAX_PENDING = 64 << 20  # unread bytes of a worker after which its connection is closed
PACKETS = 8  # written in one turn of the event loop
PAUSE = 0.005  # seconds between messages to workers: a wake-up costs a worker more than a change
ITEMS = 500  # initial values that are packed at once

Packet = tuple[bytes, Segment | None]


class Publisher:
    """Sends the values and changes of a feed to all workers that connect."""

    def __init__(self, listener: socket.socket, cache: PublishedCache, feed: Feed, worth: int = WORTH) -> None:
        self.cache, self.feed, self._listener, self._worth = cache, feed, listener, worth
        self._workers: set[Worker] = set()
        self._following: set[Worker] = set()  # those that were sent the initial values
        self._tasks: set[asyncio.Task[None]] = set()
        self._told = 0.0  # when changes were last sent, by the loop's clock
        self._telling: asyncio.TimerHandle | None = None
        cache.shelf.flush, cache.shelf.drop = self._tell_soon, self._drop

    @property
    def followers(self) -> int:
        """The number of workers that get changes."""
        return len(self._following)

    async def run(self) -> None:
        """Runs until it is cancelled."""
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            await self.feed.ready.wait()
            worker = Worker(connection, self)
            self._workers.add(worker)
            self._admit(worker)

    def close(self) -> None:
        """Ends all connections."""
        self._drop()
        self._listener.close()

    def ended(self, worker: Worker) -> None:
        """Called when the connection of a worker has ended."""
        self._workers.discard(worker)
        self._following.discard(worker)

    def asked(self, revision: int) -> None:
        """Handles a progress request of a worker, which knows that etcd has reached `revision`.

        Pending changes are sent at once; etcd is asked for progress.
        """
        self._tell_followers()
        self.feed.notice(revision)
        task = asyncio.ensure_future(self._progress())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _progress(self) -> None:
        await self.feed.request_progress()

    def _admit(self, worker: Worker) -> None:
        """Starts to send a worker all values. With too few values to share, the worker only gets NOT_YET."""
        if len(self.cache.shelf) < self._worth:
            if not worker.waits:
                worker.waits = True
                worker.send([(HEAD.pack(PacketType.NOT_YET, 0), None)])
            return
        self._tell_followers()  # the new worker begins with the state after these changes
        self._following.add(worker)
        worker.begin(self._beginning())

    def _beginning(self) -> Iterator[Packet]:
        shelf, feed = self.cache.shelf, self.feed
        lineage = LINEAGE.pack(feed.lineage.cluster, feed.lineage.term, feed.progress_trusted)
        complete = HEAD.pack(PacketType.COMPLETE, self.cache.reached) + lineage
        segments, items = list(shelf.segments), list(shelf.places.items())

        def each() -> Iterator[Packet]:
            for segment in segments:
                yield _announced(segment)
            rest = iter(items)
            while part := [located(key, place) for key, place in islice(rest, ITEMS)]:
                for packet in packets(PacketType.ITEMS, 0, part):
                    yield packet, None
            yield complete, None

        return each()

    def _tell_soon(self) -> None:
        """Sends the pending changes now, or `PAUSE` seconds after the last message, together with later ones."""
        if self._telling is None:
            loop = asyncio.get_running_loop()
            due = self._told + PAUSE
            if loop.time() >= due:
                self._tell()
            else:
                self._telling = loop.call_at(due, self._tell)

    def _tell(self) -> None:
        self._telling, self._told = None, asyncio.get_running_loop().time()
        if len(self._workers) > len(self._following) and self.feed.ready.is_set():
            for worker in self._workers - self._following:
                self._admit(worker)
        self._tell_followers()

    def _tell_followers(self) -> None:
        shelf = self.cache.shelf
        told: list[Packet] = [_announced(segment) for segment in shelf.segments.made]
        changes = packets(PacketType.PART, self.cache.reached, shelf.records, PacketType.CHANGES)
        told += [(packet, None) for packet in changes]
        if shelf.moved:
            told += [(packet, None) for packet in packets(PacketType.MOVED, 0, shelf.moved)]
        told += [(HEAD.pack(PacketType.RETIRED, number), None) for number in shelf.retired]
        for pending in (shelf.segments.made, shelf.records, shelf.moved, shelf.retired):
            pending.clear()
        for worker in list(self._following):
            worker.send(told)

    def _drop(self) -> None:
        for worker in list(self._workers):
            worker.close()


class Worker:
    """The connection to one worker. Packets that it has not read wait, up to `MAX_PENDING` bytes."""

    def __init__(self, connection: socket.socket, publisher: Publisher) -> None:
        self._socket, self._publisher = connection, publisher
        self._loop = asyncio.get_running_loop()
        self._beginning: Iterator[Packet] | None = None
        self._pending: deque[Packet] = deque()
        self._size = 0  # of the pending packets, in bytes
        self._held: Packet | None = None  # the packet that the socket did not accept yet
        self._writing = False
        self.waits = False  # whether it was sent NOT_YET
        connection.setblocking(False)
        self._loop.add_reader(connection, self._read)

    def begin(self, beginning: Iterator[Packet]) -> None:
        """Sends the packets of an iterator, piece by piece, before all later packets."""
        self._beginning = beginning
        self._write()

    def send(self, told: list[Packet]) -> None:
        """Sends packets after all earlier ones. Closes the connection if too much is pending."""
        self._pending.extend(told)
        self._size += sum([len(packet) for packet, _ in told])
        if self._size > MAX_PENDING:
            log.warning("a worker does not read its changes in time, and has to load the cache again")
            self.close()
        elif not self._writing:
            self._write()

    def close(self) -> None:
        """Ends the connection."""
        if self._socket.fileno() < 0:
            return
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        self._publisher.ended(self)

    def _next(self) -> Packet | None:
        if self._beginning is not None:
            found = next(self._beginning, None)
            if found is not None:
                return found
            self._beginning = None
        if not self._pending:
            return None
        found = self._pending.popleft()
        self._size -= len(found[0])
        return found

    def _write(self) -> None:
        """Writes as much as the socket takes, at most `PACKETS` per turn: other tasks have to run too."""
        try:
            for _ in range(PACKETS):
                packet = self._held or self._next()
                if packet is None:
                    self._write_later(False)
                    return
                self._held = packet
                data, segment = packet
                if segment is None:
                    self._socket.send(data)
                else:
                    socket.send_fds(self._socket, [data], [segment.descriptor])
                self._held = None
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        self._write_later(True)

    def _write_later(self, later: bool) -> None:
        if later and not self._writing:
            self._loop.add_writer(self._socket, self._write)
        elif self._writing and not later:
            self._loop.remove_writer(self._socket)
        self._writing = later

    def _read(self) -> None:
        try:
            told = self._socket.recv(PACKET)
        except BlockingIOError:
            return
        except OSError:
            told = b""
        if not told:
            self.close()
            return
        kind, revision = HEAD.unpack_from(told)
        if kind == PacketType.PROGRESS:
            self._publisher.asked(revision)


def _announced(segment: Segment) -> Packet:
    return HEAD.pack(PacketType.SEGMENT, segment.number) + SEGMENT.pack(segment.size), segment
