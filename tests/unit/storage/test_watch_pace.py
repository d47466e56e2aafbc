"""A separate etcd stream is read no faster than its watch is consumed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

from grpc.aio import Metadata

from storage.etcd.endpoints import EtcdEndpoint
from storage.etcd.generated import kv_pb2, rpc_pb2
from storage.etcd.watch import HELD_BATCHES, Watch, Watches
from storage.etcd.watch_stream import EtcdWatchStream

EVENTS = 50


class Call:
    """An etcd that has confirmed a watch and sent its events."""

    def __init__(self) -> None:
        self.reads = 0
        self._responses: asyncio.Queue[rpc_pb2.WatchResponse] = asyncio.Queue()
        self._responses.put_nowait(rpc_pb2.WatchResponse(created=True, watch_id=1))
        for revision in range(1, EVENTS + 1):
            changed = kv_pb2.Event(kv=kv_pb2.KeyValue(key=b"k", mod_revision=revision))
            self._responses.put_nowait(rpc_pb2.WatchResponse(watch_id=1, events=[changed]))

    async def read(self) -> rpc_pb2.WatchResponse:
        self.reads += 1
        return await self._responses.get()

    async def write(self, request: rpc_pb2.WatchRequest) -> None:
        pass

    def cancel(self) -> None:
        pass


async def test_what_nobody_takes_is_not_read() -> None:
    call = Call()
    endpoint = cast(EtcdEndpoint, SimpleNamespace(watch=SimpleNamespace(Watch=lambda _, metadata: call)))

    async def stream(own: bool, timeout: float) -> EtcdWatchStream:
        return EtcdWatchStream(endpoint, Metadata())

    watches = SimpleNamespace(stream=stream, endpoints=SimpleNamespace(timeout=60, count=1))
    watch = Watch(cast(Watches, watches), rpc_pb2.WatchCreateRequest(), own_stream=True)
    await watch.start()
    assert call.reads == 1 + HELD_BATCHES + 1
    async with asyncio.timeout(30):
        assert [(await anext(watch)).revision for _ in range(EVENTS)] == list(range(1, EVENTS + 1))
    await watch.cancel()
