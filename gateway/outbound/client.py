"""Calls other servers on the event loop, so that a slow one delays no other request.

Connections are kept for the next call of the same target, and TLS sessions for the next connection.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field
from socket import gaierror
from time import monotonic
from typing import TYPE_CHECKING

from gateway.outbound.connection import PARTING, OutboundConnection, ResponseHead
from gateway.outbound.errors import CallError, deadline_exceeded, dialling
from gateway.outbound.metrics import called
from gateway.outbound.names import address_of, check_name, resolved
from gateway.outbound.places import Place, Places
from gateway.outbound.request import Header, OutboundRequest
from gateway.outbound.target import Target

if TYPE_CHECKING:
    from gateway.outbound.sockets import Bounds

LARGEST = 64 << 20  # bytes of a whole answer
_MOST_IDLE = 128  # idle connections per target; with fewer than are in use, calls need new handshakes
_SHARE = 16  # idle connections may use 1/_SHARE of the process's file descriptors
_MOST_IDLE_ALTOGETHER = 512  # and never more than this
_IDLE = 90.0  # seconds until an idle connection is closed, as in Go's transports
_DIAL, _HANDSHAKE = 30.0, 10.0  # seconds


@dataclass(slots=True)
class Reply:
    """A whole answer; header names are in lower case."""

    status: int = 0
    headers: list[Header] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str:
        """The first value of a header, "" if it is missing; `name` is in lower case."""
        return _header(self.headers, name)


class Streamed:
    """An answer that is read as it comes: iterate over the parts of its body, and always call `aclose` in the end.

    With status 101 it is an upgraded connection: `write` and `drain` send bytes on it. `first` has the first value of
    each header.
    """

    def __init__(self, head: ResponseHead, connection: OutboundConnection, client: Client, to: Target) -> None:
        self.status, self.headers, self.first = head.status, head.headers, head.first
        self._connection, self._client, self._target = connection, client, to
        self._sending: asyncio.Task[None] | None = None
        self._closed = False
        self.place: Place | None = None  # for a proxied request, until the answer is closed

    def header(self, name: str) -> str:
        """The first value of a header, "" if it is missing; `name` is in lower case."""
        return self.first.get(name.encode("latin-1"), b"").decode("latin-1")

    def __aiter__(self) -> Streamed:
        return self

    async def __anext__(self) -> bytes:
        """The next part of the body. Raises CallError if the connection breaks before its end."""
        data = b"" if self._closed else await self._connection.read()
        if not data:
            await self.aclose()
            raise StopAsyncIteration
        return data

    async def whole(self, largest: int = LARGEST) -> bytes:
        """The whole body. Raises CallError if it is incomplete, or has more than `largest` bytes."""
        parts, size = list[bytes](), 0
        try:
            async for part in self:
                parts.append(part)
                size += len(part)
                if size > largest:
                    raise CallError(f"the answer is larger than {largest} bytes")
        finally:
            await self.aclose()
        return b"".join(parts)

    def at_once(self, largest: int) -> bytes | None:
        """The whole body, if it has already come and has at most `largest` bytes; else None."""
        if self._closed or (self._sending is not None and not self._sending.done()):
            return None
        found = self._connection.whole(largest)
        if found is not None:
            self._close()
            self._client.release(self._target, self._connection)
        return found

    def write(self, data: bytes) -> None:
        self._connection.write(data)

    async def drain(self) -> None:
        """Waits until most written bytes are sent. Raises CallError if the connection is lost."""
        await self._connection.drain()

    def finish(self) -> None:
        """Ends an upgraded connection after all written bytes are sent."""
        self._close()
        self._connection.finish()

    async def aclose(self) -> None:
        """Releases the connection. It is kept for another call if the answer was read to its end."""
        if not self._closed:
            self._close()
            sent = self._sending is None or self._sending.done()
            if self._sending is not None:
                self._sending.cancel()
            self._client.release(self._target, self._connection, keep=sent)

    def _close(self) -> None:
        self._closed = True
        if self.place is not None:
            self.place.give_back()

    def __del__(self) -> None:
        if not self._closed:
            self._close()
            if not self._connection.lost:
                self._connection.close()


class Client:
    """Makes calls to any number of targets. Use it on one event loop.

    The number of idle connections is bounded, per target and in total, so that file descriptors are left for the rest
    of the process. So is the number of proxied requests.
    """

    def __init__(
        self,
        most_idle: int = _MOST_IDLE,
        altogether: int | None = None,
        places: Places | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self.bounds, self.resolve = bounds, resolved if bounds is None else bounds.resolve
        self._most_idle, self._altogether = most_idle, _most_altogether() if altogether is None else altogether
        self._idle = OrderedDict[Target, list[OutboundConnection]]()  # the most recently used target is last
        self._waiting = 0  # idle connections of all targets
        self._places = places  # of proxied requests; made for the first of them
        self._expiry: asyncio.TimerHandle | None = None  # while any are idle: closes the first that has expired

    async def call(self, target: Target, request: OutboundRequest, timeout: float, largest: int = LARGEST) -> Reply:
        """Makes a call and returns the whole answer, of any status. Raises CallError, also after `timeout` seconds.

        An answer of more than `largest` bytes is an error. When the caller is cancelled, so is the call.
        """
        begun = False
        try:
            async with asyncio.timeout(timeout):
                streamed = await self._send(target, request)
                begun = True
                body = await streamed.whole(largest)
        except CallError as error:
            error.cut = begun and (error.late or error.reset)
            raise
        except TimeoutError:
            raise deadline_exceeded(cut=begun) from None
        return Reply(streamed.status, streamed.headers, body)

    def stream(self, target: Target, request: OutboundRequest, timeout: float | None = None) -> Awaitable[Streamed]:
        """Makes a call; the answer's head has to come within `timeout` s. The caller closes it. Raises CallError."""
        return self._send(target, request) if timeout is None else self._send_in_time(target, request, timeout)

    async def pass_on(self, target: Target, request: OutboundRequest, user: str) -> Streamed:
        """As `stream`, for a client's request that is proxied. Raises NoPlace if there are too many, CallError."""
        if self._places is None:
            self._places = Places()
        place = self._places.take(user)
        try:
            streamed = await self._send(target, request)
        except BaseException:
            place.give_back()
            raise
        streamed.place = place
        return streamed

    async def _send_in_time(self, target: Target, request: OutboundRequest, timeout: float) -> Streamed:
        try:
            async with asyncio.timeout(timeout):
                return await self._send(target, request)
        except TimeoutError:
            raise deadline_exceeded() from None

    def close(self) -> None:
        """Closes the idle connections."""
        for connection in [each for kept in self._idle.values() for each in kept]:
            connection.close()
        self._idle.clear()
        self._waiting = 0
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    async def _send(self, target: Target, request: OutboundRequest) -> Streamed:
        began, status = monotonic(), 0
        try:
            head = request.head(target)
            while not request.alone and (kept := self._kept(target)) is not None:
                try:
                    streamed = await self._ask(kept, target, request, head)
                    break
                except CallError as error:
                    if not error.reset or kept.begun or not request.may_repeat:
                        raise  # else the server has closed the idle connection: another one is tried
            else:
                streamed = await self._ask(await self._connect(target, request.alone), target, request, head)
            status = streamed.status
            return streamed
        finally:
            called(request.method, target.host, target.port, status, monotonic() - began)

    async def _ask(self, by: OutboundConnection, target: Target, request: OutboundRequest, head: bytes) -> Streamed:
        sending: asyncio.Task[None] | None = None
        try:
            if isinstance(request.body, bytes):
                by.begin(request.method, head + request.body)
            else:
                by.begin(request.method, head)
                sending = asyncio.ensure_future(_pour(by, request.body, request.is_chunked))
            found = await by.head()
        except BaseException:
            if sending is not None:
                sending.cancel()
            by.close()
            raise
        streamed = Streamed(found, by, self, target)
        streamed._sending = sending
        return streamed

    async def _connect(self, target: Target, alone: bool) -> OutboundConnection:
        context = target.context
        try:
            async with asyncio.timeout(_DIAL):
                connection = await (_opened_alone if alone else _opened)(target, self.bounds)
        except (OSError, ValueError) as error:
            at = target.host if isinstance(error, gaierror) else await address_of(target.host, self.resolve)
            raise dialling(error, at, target.port) from None
        if context is not None and context.verifies:
            try:
                assert connection.tls is not None
                check_name(connection.tls.getpeercert() or {}, target.name)
            except CallError as error:
                connection.close()
                error.dialling = True
                raise
        return connection

    def _kept(self, target: Target) -> OutboundConnection | None:
        """The most recently used idle connection to a target; None if there is none."""
        waiting = self._idle.get(target)
        while waiting:
            connection = waiting.pop()
            self._waiting -= 1
            if not waiting:
                del self._idle[target]
            if not connection.lost and connection.keepable:
                return connection
        return None

    def release(self, target: Target, connection: OutboundConnection, keep: bool = True) -> None:
        """Takes back a connection after a call: keeps it for another call if possible, else closes it."""
        waiting = self._idle.get(target)
        if not keep or not connection.keepable or (waiting is not None and len(waiting) >= self._most_idle):
            connection.close()
            return
        connection.used += 1
        if connection.used == 1 and target.context is not None and (tls := connection.tls) is not None:
            target.context.keep_session(target.name, tls)
        connection.since = monotonic()
        if waiting is None:
            self._idle[target] = [connection]
        else:
            waiting.append(connection)
            self._idle.move_to_end(target)
        self._waiting += 1
        while self._waiting > self._altogether:
            self._end_one()
        if self._expiry is None:
            self._expiry = asyncio.get_running_loop().call_later(_IDLE, self._expire)

    def _end_one(self) -> None:
        """Closes an idle connection of the least recently called target."""
        target, waiting = next(iter(self._idle.items()))
        waiting.pop(0).close()
        self._waiting -= 1
        if not waiting:
            del self._idle[target]

    def _expire(self) -> None:
        """Closes the connections that were idle for `_IDLE` seconds."""
        now, left = monotonic(), OrderedDict[Target, list[OutboundConnection]]()
        for target, waiting in self._idle.items():
            kept = [each for each in waiting if now - each.since < _IDLE]
            for connection in waiting[: len(waiting) - len(kept)]:
                connection.close()
            if kept:
                left[target] = kept
        self._idle, self._expiry = left, None
        self._waiting = sum(map(len, left.values()))
        if left:
            first = min(waiting[0].since for waiting in left.values())
            self._expiry = asyncio.get_running_loop().call_later(first + _IDLE - now, self._expire)


def _most_altogether() -> int:
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(_MOST_IDLE_ALTOGETHER, descriptors // _SHARE) if descriptors > 0 else _MOST_IDLE_ALTOGETHER


async def _opened_alone(target: Target, bounds: Bounds | None) -> OutboundConnection:
    """A connection that may be upgraded. It is still read after a write has failed. Raises OSError, ValueError."""
    # imported here: most servers never need them
    from gateway.outbound.secured_transport import SecuredTransport
    from gateway.outbound.sockets import SocketTransport, dialled

    connection = OutboundConnection()
    plain = SocketTransport(await dialled(target.host or "localhost", target.port, bounds), connection)
    if target.context is not None:
        secured = SecuredTransport(plain, connection, target.context, target.name)
        try:
            await secured.shake(_HANDSHAKE)
        except BaseException:
            plain.abort()
            raise
        connection.secured(secured)
    return connection


async def _opened(target: Target, bounds: Bounds | None) -> OutboundConnection:
    """Opens a connection. Raises OSError, ValueError."""
    loop = asyncio.get_running_loop()
    if bounds is None:
        plain, connection = await loop.create_connection(OutboundConnection, target.host or "localhost", target.port)
    else:
        from gateway.outbound.sockets import dialled

        chosen = await dialled(target.host or "localhost", target.port, bounds)
        plain, connection = await loop.create_connection(OutboundConnection, sock=chosen)
    if target.context is not None:
        await _secure(plain, connection, target.context, target.name)
    return connection


async def _secure(plain: asyncio.Transport, connection: OutboundConnection, context: ssl.SSLContext, name: str) -> None:
    """Starts TLS on a connection. Raises OSError, ValueError."""
    loop = asyncio.get_running_loop()
    try:
        secured = await loop.start_tls(
            plain,
            connection,
            context,
            server_hostname=name,
            ssl_handshake_timeout=_HANDSHAKE,
            ssl_shutdown_timeout=PARTING,
        )
    except BaseException:
        plain.abort()
        raise
    if secured is None:  # it was lost meanwhile
        raise ConnectionResetError
    connection.secured(secured)


async def _pour(connection: OutboundConnection, body: AsyncIterator[bytes], chunked: bool) -> None:
    """Sends a body as it comes. If the body fails, it closes the connection: the server sees an incomplete body."""
    try:
        async for part in body:
            if part:
                connection.write(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
                await connection.drain()
        if chunked:
            connection.write(b"0\r\n\r\n")
    except CallError:
        return  # the reader of the answer gets the error
    except Exception:
        connection.close()


def _header(headers: list[Header], name: str) -> str:
    wanted = name.encode("latin-1")
    for each, value in headers:
        if each == wanted:
            return value.decode("latin-1")
    return ""
