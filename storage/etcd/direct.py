"""The calls that most requests make, by a line of their own (storage/etcd/line.py) where that is connected.

Otherwise, and where a message does not fit, they go by grpcio's channel, which also waits and tells what is wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlsplit

from google.protobuf.message import Message
from grpc.aio import Metadata

from storage.etcd.generated import rpc_pb2, stubs
from storage.etcd.line import Line
from storage.etcd.settings import EtcdSettings, socket_path

Request = TypeVar("Request", contravariant=True)
Response = TypeVar("Response", covariant=True)
Sent = TypeVar("Sent", bound=Message)
Received = TypeVar("Received", bound=Message)

_BETWEEN_ATTEMPTS = 1.0  # seconds
_PATIENCE = 5.0  # seconds that a connection may take to be ready
_PORT = 2379


class GrpcMethod(Protocol[Request, Response]):
    """A method as grpc.aio has it."""

    def __call__(self, request: Request, /, *, timeout: float, metadata: Metadata) -> Awaitable[Response]:
        """The answer. Raises AioRpcError."""


class Lines:
    """The line to one member: made when it is first needed, and anew when it was lost."""

    def __init__(self, address: str, settings: EtcdSettings) -> None:
        self._address, self._settings = address, settings
        self._line: Line | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._again = 0.0

    def current(self) -> Line | None:
        """The line, if it can be called now; else one is being made."""
        line = self._line
        if line is not None and not line.retired:
            return line
        if self._connecting is None and asyncio.get_running_loop().time() >= self._again:
            self._connecting = asyncio.create_task(self._connect())
        return None

    async def _connect(self) -> None:
        try:
            # what it does not succeed in is the channel's to tell
            with contextlib.suppress(Exception):
                self._line = await _connected(self._address, self._settings)
        finally:
            self._connecting = None
            self._again = asyncio.get_running_loop().time() + _BETWEEN_ATTEMPTS

    def close(self) -> None:
        """Ends the connection; calls under way are cancelled."""
        self._again = float("inf")
        if self._connecting is not None:
            self._connecting.cancel()
        if self._line is not None:
            self._line.close()


class DirectMethod(Generic[Sent, Received]):
    """A method that goes by the line or by the channel, whichever can take the call."""

    __slots__ = ("_by_channel", "_lines", "_path", "_read")

    def __init__(
        self, lines: Lines, path: str, by_channel: GrpcMethod[Sent, Received], read: Callable[[bytes], Received]
    ) -> None:
        self._lines, self._path, self._by_channel, self._read = lines, path, by_channel, read

    async def __call__(self, request: Sent, /, *, timeout: float, metadata: Metadata) -> Received:
        """The answer. Raises AioRpcError."""
        line = self._lines.current()
        if line is not None:
            message = request.SerializeToString()
            if line.takes(len(message)):
                return self._read(await line.call(self._path, message, timeout, metadata))
        return await self._by_channel(request, timeout=timeout, metadata=metadata)


class DirectKV:
    """Those of etcd's KV methods whose requests and answers are about single keys."""

    __slots__ = ("range", "txn")

    def __init__(self, lines: Lines, stub: stubs.KVStub) -> None:
        self.range = DirectMethod(lines, "/etcdserverpb.KV/Range", stub.Range, rpc_pb2.RangeResponse.FromString)
        self.txn = DirectMethod(lines, "/etcdserverpb.KV/Txn", stub.Txn, rpc_pb2.TxnResponse.FromString)


async def _connected(address: str, settings: EtcdSettings) -> Line:
    """A line to an address that is ready. Raises OSError, TimeoutError, what ssl raises."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_PATIENCE):
        if path := socket_path(address):
            _, line = await loop.create_unix_connection(lambda: Line("localhost", secure=False), path)
        else:
            secure, authority = settings.target(address)
            url = urlsplit(f"//{authority}")
            context = _context(settings) if secure else None
            _, line = await loop.create_connection(
                lambda: Line(authority, secure), url.hostname or "", url.port or _PORT, ssl=context
            )
        try:
            await line.ready
        except BaseException:
            line.close()
            raise
    return line


def _context(settings: EtcdSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ca_file)
    if settings.cert_file:
        context.load_cert_chain(settings.cert_file, settings.key_file)
    context.set_alpn_protocols(["h2"])
    return context
