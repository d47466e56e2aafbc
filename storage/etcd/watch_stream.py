"""One gRPC stream that carries many watches."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from grpc.aio import AioRpcError, Metadata

from storage.errors import Compacted, PermissionDenied, StorageError, Unauthenticated, Unavailable
from storage.etcd.endpoints import EtcdEndpoint
from storage.etcd.errors import translate
from storage.etcd.generated import kv_pb2, rpc_pb2
from storage.etcd.results import KeyEvent, KeyValue, WatchBatch

_NO_WATCH = -1

log = logging.getLogger(__name__)

Transform = Callable[[list[KeyEvent]], Awaitable[list[KeyEvent]]]


class Receiver(Protocol):
    """The callbacks of a watch. None is called after `failed`."""

    def created(self, revision: int) -> None: ...
    def received(self, batch: WatchBatch) -> None: ...
    def failed(self, error: StorageError) -> None: ...


class EtcdWatchStream:
    """A stream to one endpoint. When it breaks, every watch on it fails with Unavailable, and it is `broken`."""

    def __init__(self, endpoint: EtcdEndpoint, metadata: Metadata, transform: Transform | None = None) -> None:
        self.endpoint, self.metadata, self._transform = endpoint, metadata, transform
        self.broken = False
        self._retired = False
        self._call = endpoint.watch.Watch(None, metadata=metadata)
        self._receivers: dict[int, Receiver] = {}
        self._asked: deque[int] = deque()
        self._fragments: dict[int, list[KeyEvent]] = {}
        self._last_id = 0
        self._outgoing: deque[rpc_pb2.WatchRequest] = deque()
        self._has_outgoing = asyncio.Event()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._tasks: tuple[asyncio.Task[None], ...] = (
            asyncio.create_task(self._read()),
            asyncio.create_task(self._write()),
        )

    def add(self, receiver: Receiver, request: rpc_pb2.WatchCreateRequest) -> int:
        """Sends a request for a watch. Returns the watch's ID, which it also sets in the request."""
        self._last_id += 1
        request.watch_id = self._last_id
        self._receivers[self._last_id] = receiver
        self._asked.append(self._last_id)
        self._send(rpc_pb2.WatchRequest(create_request=request))
        return self._last_id

    def remove(self, watch_id: int) -> None:
        """Removes a watch from the stream and cancels it at etcd."""
        if self._receivers.pop(watch_id, None) is not None:
            self._fragments.pop(watch_id, None)
            self._send(rpc_pb2.WatchRequest(cancel_request=rpc_pb2.WatchCancelRequest(watch_id=watch_id)))
            self._close_if_unused()

    def retire(self) -> None:
        """Closes the stream once its last watch has left: etcd no longer accepts its token for new watches."""
        self._retired = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._retired and not self._receivers and not self.broken:
            self.close(Unavailable("the token of the watch stream is stale"))

    def request_progress(self) -> None:
        """Sends a progress request. etcd answers it only when all watches of this stream have caught up."""
        self._send(rpc_pb2.WatchRequest(progress_request=rpc_pb2.WatchProgressRequest()))

    def hold(self, held: bool) -> None:
        """Pauses reading, or resumes it: etcd keeps the unread changes, and later sends many of them in one message."""
        if held:
            self._may_read.clear()
        else:
            self._may_read.set()

    def close(self, error: StorageError) -> None:
        """Ends the stream; its watches fail with `error`."""
        if self.broken:
            return
        self.broken = True
        self._call.cancel()
        tasks, self._tasks = self._tasks, ()  # breaks a reference cycle (gateway/memory.py)
        for task in tasks:
            if task is not asyncio.current_task():
                task.cancel()
        receivers, self._receivers = self._receivers, {}
        for receiver in receivers.values():
            receiver.failed(error)

    def _send(self, request: rpc_pb2.WatchRequest) -> None:
        self._outgoing.append(request)
        self._has_outgoing.set()

    async def _write(self) -> None:
        # A cancelled write would cancel the whole stream, so only this task writes.
        try:
            while True:
                await self._has_outgoing.wait()
                while self._outgoing:
                    await self._call.write(self._outgoing.popleft())
                self._has_outgoing.clear()
        except (AioRpcError, asyncio.InvalidStateError):
            return  # `_read` gets the reason
        except Exception as error:
            self._failed("written", error)

    async def _read(self) -> None:
        read = self._call.read
        try:
            while True:
                response = await read()
                if not isinstance(response, rpc_pb2.WatchResponse):
                    return self.close(Unavailable("etcd ended the watch stream"))
                events = [_event(event) for event in response.events]
                if self._transform is not None and events:
                    events = await self._transform(events)
                self._dispatch(response, events)
                if not self._may_read.is_set():
                    await self._may_read.wait()
        except AioRpcError as error:
            self.close(translate(error))
        except StorageError as error:  # of the transformation
            self.close(error)
        except asyncio.CancelledError:
            self.close(Unavailable("the etcd client is closed"))
            raise
        except Exception as error:
            self._failed("read", error)

    def _failed(self, how: str, error: Exception) -> None:
        """Ends the stream after an unexpected error: its watches fail, so that none waits for ever."""
        log.error("a message of a watch on etcd could not be %s", how, exc_info=error)
        self.close(Unavailable(f"a message of the watch could not be {how}: {error}"))

    def _dispatch(self, response: rpc_pb2.WatchResponse, events: list[KeyEvent]) -> None:
        watch_id = response.watch_id
        if response.created:
            # etcd answers creations in order; newer versions do not name the watch when they refuse one.
            watch_id = self._asked.popleft()
        receiver = self._receivers.get(watch_id)
        if events:
            if receiver is not None:
                self._events(receiver, watch_id, response.fragment, events)
        elif response.canceled:
            if receiver is not None:
                del self._receivers[watch_id]
                self._fragments.pop(watch_id, None)
                receiver.failed(_cancellation(response))
                self._close_if_unused()
        elif response.created:
            if receiver is not None:
                receiver.created(response.header.revision)
        else:
            # The answer to a progress request is for all watches; a notification that etcd sends by itself is for one.
            progress = WatchBatch(response.header.revision, [], True)
            for each in list(self._receivers.values()) if watch_id == _NO_WATCH else (receiver,):
                if each is not None:
                    each.received(progress)

    def _events(self, receiver: Receiver, watch_id: int, fragment: bool, events: list[KeyEvent]) -> None:
        if fragment or self._fragments:
            collected = self._fragments.setdefault(watch_id, [])
            collected += events
            if fragment:
                return
            events = self._fragments.pop(watch_id)
        receiver.received(WatchBatch(events[-1].kv.mod_revision, events, False))


def _event(event: kv_pb2.Event) -> KeyEvent:
    kv = event.kv
    return KeyEvent(
        event.type,
        KeyValue(kv.key, kv.value, kv.mod_revision, kv.create_revision, kv.version),
        _previous(event.prev_kv) if event.HasField("prev_kv") else None,
    )


def _previous(kv: kv_pb2.KeyValue) -> KeyValue:
    return KeyValue(kv.key, kv.value, kv.mod_revision, kv.create_revision, kv.version)


def _cancellation(response: rpc_pb2.WatchResponse) -> StorageError:
    reason = response.cancel_reason
    if response.compact_revision:
        return Compacted(response.compact_revision)
    if "permission denied" in reason:
        return PermissionDenied(reason)
    if "invalid auth token" in reason or "revision of auth store is old" in reason or "user name is empty" in reason:
        return Unauthenticated(reason)
    return Unavailable(f"etcd cancelled the watch: {reason or 'no reason given'}")
