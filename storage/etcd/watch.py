"""etcd's Watch service: a watch as an async iterator of batches of changes."""

from __future__ import annotations

import asyncio
from collections import deque
from operator import attrgetter
from types import TracebackType
from typing import Final

from grpc.aio import AioRpcError

from storage.errors import (
    Compacted,
    DeadlineExceeded,
    PermissionDenied,
    StorageError,
    Unauthenticated,
    Unavailable,
)
from storage.etcd.endpoints import Endpoints, Method
from storage.etcd.errors import translate
from storage.etcd.generated import rpc_pb2
from storage.etcd.results import WatchBatch
from storage.etcd.watch_stream import EtcdWatchStream, Transform
from storage.versions import progress_notifications_correct

BUFFERED_EVENTS: Final = 4096
HELD_BATCHES: Final = 16
ANSWER: Final = 1.5  # seconds in which a working member answers

_STATUS: Method[rpc_pb2.StatusRequest, rpc_pb2.StatusResponse] = attrgetter("maintenance.Status")


class Watches:
    """Opens watches: on one shared gRPC stream, or each on a stream of its own."""

    def __init__(self, endpoints: Endpoints, transform: Transform | None = None) -> None:
        self.endpoints, self._transform = endpoints, transform
        self._shared: EtcdWatchStream | None = None
        self._streams: set[EtcdWatchStream] = set()

    def watch(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        start_revision: int = 0,
        prev_kv: bool = False,
        progress_notify: bool = False,
        own_stream: bool = False,
    ) -> Watch:
        """A watch on `key` or on [key, range_end), from `start_revision` (included) or, when it is 0, from now.

        It sends nothing before it is started, entered or iterated. On a stream of its own, other watches that catch up
        with history delay neither its events nor its progress notifications.
        """
        request = rpc_pb2.WatchCreateRequest(
            key=key,
            range_end=range_end,
            start_revision=start_revision,
            prev_kv=prev_kv,
            progress_notify=progress_notify,
            fragment=True,
        )
        return Watch(self, request, own_stream)

    async def stream(self, own: bool, timeout: float) -> EtcdWatchStream:
        """A stream on a connected endpoint. Raises StorageError if none connects in time or the login fails."""
        shared, login = self._shared, self.endpoints.login
        if not own and shared is not None and not shared.broken and shared.metadata is login.metadata:
            return shared
        endpoint = await self.endpoints.connected(timeout)
        try:
            metadata = login.metadata or await self.endpoints.logged_in(endpoint, timeout)
        except AioRpcError as error:
            self.endpoints.leave(endpoint)
            raise translate(error) from error
        if not own and self._shared is not shared and self._shared is not None and not self._shared.broken:
            return self._shared
        self._streams = {stream for stream in self._streams if not stream.broken}
        stream = EtcdWatchStream(endpoint, metadata, self._transform)
        self._streams.add(stream)
        if not own:
            if shared is not None:
                shared.retire()
            self._shared = stream
        return stream

    def close(self) -> None:
        """Ends all streams; their watches raise Unavailable."""
        for stream in self._streams:
            stream.close(Unavailable("the etcd client is closed"))


class Watch:
    """Iterate it for WatchBatch. The iteration ends only after `cancel`; else it raises one of

    - Compacted: etcd no longer has the changes from the start revision on,
    - PermissionDenied, Unauthenticated,
    - Unavailable: the stream broke. All changes up to the last batch were delivered; a new watch may continue there.

    A consumer that falls far behind does not delay others: its watch is removed from the shared stream. When the
    consumer has emptied the buffer, the watch is added again, at the revision where it was interrupted. A stream of its
    own is not read while many batches wait: etcd keeps the rest.
    """

    def __init__(self, watches: Watches, request: rpc_pb2.WatchCreateRequest, own_stream: bool) -> None:
        self._watches, self._request, self._own_stream = watches, request, own_stream
        self._stream: EtcdWatchStream | None = None
        self._id = 0
        self._batches: deque[WatchBatch] = deque()
        self._buffered = 0
        self._waiter: asyncio.Future[None] | None = None
        self._created: asyncio.Future[int] | None = None
        self._error: BaseException | None = None
        self._cancelled = False

    async def start(self) -> int:
        """Waits until etcd has created the watch. Returns etcd's revision at that time. Raises as the iteration."""
        endpoints = self._watches.endpoints
        try:
            return await self._add_to_stream()
        except (PermissionDenied, Unauthenticated):
            # Some versions report an expired token as "permission denied".
            stream = self._stream
            if stream is None or not endpoints.login.has_user:
                raise
        try:
            await endpoints.logged_in(endpoints.current, endpoints.timeout, stream.metadata)
        except AioRpcError as error:
            raise translate(error) from error
        finally:
            stream.retire()
        return await self._add_to_stream()

    async def _add_to_stream(self) -> int:
        timeout = self._watches.endpoints.timeout
        if self._watches.endpoints.count > 1:
            timeout = min(timeout, ANSWER)
        stream = self._stream = await self._watches.stream(self._own_stream, timeout)
        self._error = None
        self._created = asyncio.get_running_loop().create_future()
        self._id = stream.add(self, self._request)
        try:
            async with asyncio.timeout(timeout):
                return await self._created
        except TimeoutError:
            stream.remove(self._id)
            if not stream.broken:
                stream.close(DeadlineExceeded("etcd does not answer on the watch stream"))
            self._watches.endpoints.leave(stream.endpoint)
            raise DeadlineExceeded("etcd did not set up the watch in time") from None
        except asyncio.CancelledError:
            stream.remove(self._id)
            raise
        finally:
            self._created = None

    async def progress_correct(self) -> bool:
        """Whether progress notifications of the watch's member never overtake events: depends on its version.

        False if the member does not answer.
        """
        stream, endpoints = self._stream, self._watches.endpoints
        if stream is None:
            return False
        try:
            answer = await endpoints.call_at(stream.endpoint, _STATUS, rpc_pb2.StatusRequest(), ANSWER)
        except StorageError:
            return False
        return progress_notifications_correct(answer.version)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the client now uses another member than the watch."""
        return self._stream is not None and self._stream.endpoint is not self._watches.endpoints.current

    def fail(self, error: Unavailable) -> None:
        """Ends the iteration with an error, and leaves the member. The caller still has to cancel the watch."""
        self.failed(error)

    async def request_progress(self) -> None:
        """Requests a progress notification: an empty batch with the revision up to which all changes were delivered.

        See storage.versions.progress_notifications_correct. Does nothing while the watch is not created.
        """
        if self._stream is not None and not self._stream.broken:
            self._stream.request_progress()

    async def cancel(self) -> None:
        """Ends the watch and its iteration."""
        self._cancelled = True
        self._batches.clear()
        self._leave_stream()
        self._wake()

    def _leave_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.remove(self._id)
            if self._own_stream:
                stream.close(Unavailable("watch cancelled"))

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> WatchBatch:
        while True:
            if self._batches:
                batch = self._batches.popleft()
                self._buffered -= len(batch.events)
                self._pace()
                return batch
            if self._cancelled:
                raise StopAsyncIteration
            if self._error is not None:
                raise self._error
            if self._stream is None:
                await self.start()
                continue
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    async def __aenter__(self) -> Watch:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.cancel()

    def created(self, revision: int) -> None:
        if self._created is not None and not self._created.done():
            self._created.set_result(revision)

    def received(self, batch: WatchBatch) -> None:
        self._batches.append(batch)
        if batch.events:
            self._request.start_revision = batch.revision + 1
            self._buffered += len(batch.events)
            if self._buffered > BUFFERED_EVENTS and not self._own_stream:
                self._leave_stream()
        self._pace()
        self._wake()

    def _pace(self) -> None:
        """Pauses its own stream while many batches are unread."""
        if self._own_stream and self._stream is not None:
            if len(self._batches) > HELD_BATCHES or self._buffered > BUFFERED_EVENTS:
                self._stream.hold(True)
            elif len(self._batches) <= HELD_BATCHES // 2:
                self._stream.hold(False)

    def failed(self, error: BaseException) -> None:
        if isinstance(error, Compacted):
            error.revision = self._request.start_revision
        elif isinstance(error, Unavailable) and self._stream is not None:
            self._watches.endpoints.leave(self._stream.endpoint)
        self._error = error
        if self._created is not None and not self._created.done():
            self._created.set_exception(error)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
