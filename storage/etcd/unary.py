"""Calls of one request and one answer, without what grpc.aio makes for each: an object, a task, a place among the
channel's calls. That is a fifth of what a call costs this process.

The call below is not a public part of grpcio, and other releases may have it otherwise (1.66 does not end it in the
same way). So it is used with those that it was tried with; with others calls go the usual way.
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

    With `gather` those that are made in one iteration of the loop, while others are under way, are sent one right after
    another, in the next iteration, and not each when its caller has come so far. So etcd gets and answers many at a
    time; grpcio takes twice the time to read answers that come one by one.
    """

    __slots__ = (
        "_channel", "_closed", "_context", "_decode", "_encode", "_gather", "_handle", "_metadata", "_name", "_running",
        "_sent",
    )  # fmt: skip

    def __init__(self, method: UnaryUnaryMultiCallable[Request, Response], gather: bool) -> None:
        """Raises AttributeError where grpcio is another one."""
        self._gather, self._closed = gather, False
        self._channel, self._name, self._encode, self._decode, self._handle = (
            getattr(method, name) for name in _NEEDED
        )
        self._context = cygrpc.build_census_context()
        self._running: set[Any] = set()
        self._metadata: Metadata | None = None
        self._sent: tuple[Any, ...] = ()  # the same, as it is sent: that of a login serves many calls

    async def __call__(self, request: Request, *, timeout: float, metadata: Metadata | None = None) -> Response:
        """The answer. Raises AioRpcError, also when the time is over; CancelledError when the channel is closed."""
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
        """Breaks off all calls under way, as the channel is closed; those who wait for them are cancelled."""
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
    """A method to be called as before, but for less; itself where this grpcio is not known to have what that takes.

    The usual calls are gathered in any case: each has a task, which begins in the next iteration.
    """
    if not grpc.__version__.startswith(TRIED):
        return method
    try:
        return cast(UnaryUnaryMultiCallable[Request, Response], UnaryCalls(method, gather))
    except AttributeError:
        return method
