"""RangeStream: a range that etcd sends in parts, one after the other, as of one revision (etcd 3.7 and later)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import grpc
from grpc.aio import AioRpcError

from storage.errors import Unavailable
from storage.etcd.endpoints import Endpoints
from storage.etcd.errors import translate
from storage.etcd.generated import kv_pb2, rpc_pb2


async def range_stream(
    endpoints: Endpoints, request: rpc_pb2.RangeRequest
) -> AsyncGenerator[Sequence[kv_pb2.KeyValue]]:
    """Yields the parts of an answer, in key order. Each part has to come within the timeout of the settings.

    The call is not tried again: the parts so far are valid, and the caller can request the rest. Raises StorageError,
    also if etcd does not have RangeStream.
    """
    endpoint = await endpoints.connected(endpoints.timeout)
    try:
        metadata = endpoints.login.metadata or await endpoints.logged_in(endpoint, endpoints.timeout)
        call = endpoint.kv.RangeStream(request, metadata=metadata)
        try:
            while True:
                async with asyncio.timeout(endpoints.timeout):
                    part = await call.read()
                if not isinstance(part, rpc_pb2.RangeStreamResponse):  # EOF
                    return
                if part.range_response.kvs:
                    yield part.range_response.kvs
        finally:
            call.cancel()
    except AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
            endpoints.leave(endpoint)
        raise translate(error, request.revision) from error
    except TimeoutError:
        endpoints.leave(endpoint)
        raise Unavailable(f"etcd sent nothing more of a range for {endpoints.timeout:g} s") from None
