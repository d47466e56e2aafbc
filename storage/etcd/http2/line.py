"""Unary calls over a connection of this package where it can take them, and over gRPC where it cannot.

A call by grpcio costs the event loop a completion queue, which a thread of its own reads, and several system calls more
than the bytes need. That was a sixth of a create. gRPC keeps what is rare or large: the first call, calls while there
is not a connection, messages that do not fit into the window of flow control, and etcd behind TLS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar, cast

import grpc
from grpc.aio import AioRpcError, Metadata, UnaryUnaryMultiCallable

from storage.etcd.generated import rpc_pb2, stubs
from storage.etcd.http2.connection import Failed, Http2Connection
from storage.etcd.http2.frames import LARGEST
from storage.etcd.http2.headers import encoded

Request = TypeVar("Request")
Response = TypeVar("Response")

_CONNECT_TIMEOUT = 5.0  # seconds for a connection
_PAUSE = 1.0  # seconds after a connection that failed
_MOST_SECONDS = 99_999.0  # of the header grpc-timeout, which has at most eight digits
_BEGINNING = b"\x83\x86"  # :method POST, :scheme http
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class _Writes(Protocol):
    """A message of protobuf."""

    def SerializeToString(self) -> bytes: ...


class Line:
    """The connection to one endpoint. It is made after the first call, and again after it was lost."""

    def __init__(self, address: str, pings: tuple[int, int]) -> None:
        """`address` is one without TLS: HOST:PORT, http://HOST:PORT or unix:///PATH."""
        scheme, _, target = address.rpartition("://")
        unix = scheme == "unix" or address.startswith("unix:")
        self._path = address.removeprefix("unix:").removeprefix("//") if unix else ""
        self._host, self._port = _place(target.rstrip("/"))
        self.authority = "localhost" if unix else target.rstrip("/")
        self._pings = pings
        self._connection: Http2Connection | None = None
        self._earlier = set[Http2Connection]()  # the ones before; their last calls may still wait
        self._connecting: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._closed = False

    def connection(self) -> Http2Connection | None:
        """The connection if there is one; otherwise one is begun, for later calls."""
        found = self._connection
        if found is not None and not found.lost:
            return found
        if self._connecting is None and not self._closed and (self._path or self._port):
            loop = asyncio.get_running_loop()
            if loop.time() >= self._not_before:
                self._not_before = loop.time() + _PAUSE
                self._connecting = loop.create_task(self._connect())
        return None

    async def _connect(self) -> None:
        loop, made = asyncio.get_running_loop(), Http2Connection(self._pings)
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                if self._path:
                    await loop.create_unix_connection(lambda: made, self._path)
                else:
                    await loop.create_connection(lambda: made, self._host, self._port)
            self._earlier = {each for each in self._earlier if each.waited_for}
            if self._connection is not None:
                self._earlier.add(self._connection)
            self._connection = made
        except (OSError, ValueError, OverflowError):
            pass  # gRPC makes the calls, and tells what is wrong
        finally:
            self._connecting = None
            if self._connection is not made:
                made.close()

    def close(self) -> None:
        """Ends the connection, and cancels its calls and their callers."""
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        for each in (*self._earlier, self._connection):
            if each is not None:
                each.close()


class LineCalls(Generic[Request, Response]):
    """Calls of one method over a line; `beside` makes the calls that the line cannot take."""

    __slots__ = ("_beside", "_decode", "_fits", "_head", "_head_of", "_line", "_path")

    def __init__(
        self,
        line: Line,
        path: str,
        decode: Callable[[bytes], Response],
        beside: UnaryUnaryMultiCallable[Request, Response],
        fits: Callable[[Request], bool] = lambda _: True,
    ) -> None:
        """`path` names the method; `fits` says whether a request is one whose answer is small."""
        self._line, self._path, self._decode, self._beside, self._fits = line, path, decode, beside, fits
        self._head_of: tuple[Metadata | None, float] = (None, 0.0)
        self._head = b""

    async def __call__(self, request: Request, *, timeout: float, metadata: Metadata | None = None) -> Response:
        """Makes a call. Raises AioRpcError, also at the deadline; CancelledError when the line is closed."""
        connection = self._line.connection()
        if connection is not None and self._fits(request):
            message = cast(_Writes, request).SerializeToString()
            if self._head_of[0] is not metadata or self._head_of[1] != timeout:
                self._head_of = metadata, timeout
                self._head = _head(self._path, self._line.authority, timeout, metadata or ())
            if connection.takes(len(message)) and len(self._head) <= LARGEST:
                answer = connection.call(self._head, message, timeout)
                try:
                    return self._decode(await answer)
                except Failed as failed:
                    raise _error(failed) from None
                except asyncio.CancelledError:
                    connection.forget(answer)
                    raise
        return await self._beside(request, timeout=timeout, metadata=metadata)


def _place(target: str) -> tuple[str, int]:
    """Host and port. The port is 0 where gRPC alone connects: without a port, and for IPv6 without brackets."""
    host, _, port = target.rpartition(":")
    is_known = port.isascii() and port.isdigit() and len(port) < 6 and (":" not in host or host.startswith("["))
    return host.strip("[]"), int(port) if is_known else 0


def _head(path: str, authority: str, timeout: float, metadata: Iterable[tuple[str, Any]]) -> bytes:
    """The header block of a call."""
    milliseconds = max(1, int(min(timeout, _MOST_SECONDS) * 1000))
    fields = [
        (":path", path), (":authority", authority), ("te", "trailers"), ("content-type", "application/grpc"),
        ("user-agent", "apiserver-gateway"), ("grpc-timeout", f"{milliseconds}m"), *metadata,
    ]  # fmt: skip
    return _BEGINNING + encoded((name.encode("ascii"), value.encode("latin-1")) for name, value in fields)


def _error(failed: Failed) -> AioRpcError:
    code = _CODES.get(failed.code, grpc.StatusCode.UNKNOWN)
    return AioRpcError(code, Metadata(), Metadata(), details=failed.details)


def over_line(
    line: Line, kv: stubs.KVStub
) -> tuple[
    UnaryUnaryMultiCallable[rpc_pb2.RangeRequest, rpc_pb2.RangeResponse],
    UnaryUnaryMultiCallable[rpc_pb2.TxnRequest, rpc_pb2.TxnResponse],
]:
    """The methods Range and Txn over a line; Range only for one key, or for a count."""
    read = LineCalls(line, "/etcdserverpb.KV/Range", rpc_pb2.RangeResponse.FromString, kv.Range, _is_small)
    write = LineCalls(line, "/etcdserverpb.KV/Txn", rpc_pb2.TxnResponse.FromString, kv.Txn)
    return cast("UnaryUnaryMultiCallable[Any, Any]", read), cast("UnaryUnaryMultiCallable[Any, Any]", write)


def _is_small(request: rpc_pb2.RangeRequest) -> bool:
    return request.count_only or not request.range_end
