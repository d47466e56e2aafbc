"""Unary gRPC calls without the overhead of grpc.aio: a call object, a task and an entry in the channel for each call.
That overhead is a fifth of the cost of a call in this process.

The code uses a part of grpcio that is not public, and that other releases may change (1.66 ends a call in another way).
So it is used only with the releases in `TRIED`; with others grpc.aio makes the calls.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Generic, TypeVar, cast

import grpc
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # the stubs leave it out
from grpc.aio import AioRpcError, Metadata, UnaryUnaryMultiCallable

Request = TypeVar("Request")
Response = TypeVar("Response")

TRIED = ("1.85.",)  # releases of grpcio with which tests/integration/etcd passes
_NEEDED = ("_channel", "_method", "_request_serializer", "_response_deserializer", "_registered_call_handle")
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class UnaryCalls(Generic[Request, Response]):
    """Calls of one method on one channel.

    With `gather`, and while other calls are running, a call is sent in the next iteration of the event loop, right
    after the others of its iteration. So etcd gets and answers many calls at a time; grpcio takes twice the time to
    read answers that come one by one.
    """

    __slots__ = (
        "_channel", "_closed", "_context", "_decode", "_encode", "_gather", "_handle", "_metadata", "_name", "_running",
        "_sent",
    )  # fmt: skip

    def __init__(self, method: UnaryUnaryMultiCallable[Request, Response], gather: bool) -> None:
        """Raises AttributeError if this grpcio has not the parts that are needed."""
        self._gather, self._closed = gather, False
        self._channel, self._name, self._encode, self._decode, self._handle = (
            getattr(method, name) for name in _NEEDED
        )
        self._context = cygrpc.build_census_context()
        self._running: set[Any] = set()
        self._metadata: Metadata | None = None
        self._sent: tuple[Any, ...] = ()  # the same as a tuple; calls share it until the next login

    async def __call__(self, request: Request, *, timeout: float, metadata: Metadata | None = None) -> Response:
        """Makes a call. Raises AioRpcError, also at the deadline; CancelledError when the channel is closed."""
        if self._gather and self._running:
            await asyncio.sleep(0)
            if self._closed:
                raise asyncio.CancelledError
        call = self._channel.call(self._name, time.time() + timeout, None, None, self._handle)
        self._running.add(call)
        try:
            if metadata is not self._metadata:
                self._metadata, self._sent = metadata, () if metadata is None else tuple(metadata)
            answer = await call.unary_unary(self._encode(request), self._sent, self._context)
        except asyncio.CancelledError:
            call.cancel("cancelled")
            raise
        finally:
            self._running.discard(call)
        if call.is_ok():
            return cast(Response, self._decode(answer))
        if call.is_locally_cancelled():
            raise asyncio.CancelledError
        raise _error(await call.status())

    def cancel(self) -> None:
        """Cancels all running calls and their callers, before the channel is closed."""
        self._closed = True
        for call in tuple(self._running):
            call.cancel("the channel is closed")


def _error(status: Any) -> AioRpcError:
    return AioRpcError(
        _CODES[status.code()],
        Metadata(),
        Metadata(*(status.trailing_metadata() or ())),
        details=status.details(),
        debug_error_string=status.debug_error_string(),
    )


def unary(
    method: UnaryUnaryMultiCallable[Request, Response], *, gather: bool = False
) -> UnaryUnaryMultiCallable[Request, Response]:
    """A cheaper method with the same interface; `method` itself if this grpcio release was not tried.

    The calls of grpc.aio are always gathered: each has a task, which begins in the next iteration.
    """
    if not grpc.__version__.startswith(TRIED):
        return method
    try:
        return cast(UnaryUnaryMultiCallable[Request, Response], UnaryCalls(method, gather))
    except AttributeError:
        return method
