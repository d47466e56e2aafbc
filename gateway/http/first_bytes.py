"""What a connection begins with: a TLS handshake, or HTTP from a client that has the wrong scheme.

It is looked at before TLS has the socket, and left there: a connection of which nothing has come yet costs no TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections import deque

NO_TLS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"

_HANDSHAKE = 0x16  # a TLS record's type (RFC 8446, 5.1)
_HTTP = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")  # what Go's net/http takes for HTTP
_PIECE = 1 << 16
_TCP_INFO = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None  # tcp(7); begins with the state
_ESTABLISHED = b"\x01"


class Turns:
    """Lets a few tasks go on in each turn of the loop, in the order in which they came: many delay no others.

    More of them go on where one has waited for long, since the turns are long then: the requests of those that came
    first would hold up the others until their clients give up.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, at_once: int, late: float, when_late: int) -> None:
        """`at_once` go on in a turn, `when_late` while one has waited for more than `late` seconds."""
        self._loop, self._at_once, self._late, self._when_late = loop, at_once, late, when_late
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()

    async def take(self) -> None:
        """Waits for the turn of the task that calls it."""
        if not self._waiting:
            self._loop.call_soon(self._next)
        turn = self._loop.create_future()
        self._waiting.append((self._loop.time(), turn))
        await turn

    def _next(self) -> None:
        given = 0
        is_late = bool(self._waiting) and self._loop.time() - self._waiting[0][0] > self._late
        most = self._when_late if is_late else self._at_once
        while self._waiting and given < most:
            _, turn = self._waiting.popleft()
            if not turn.done():  # else who waited has gone
                turn.set_result(None)
                given += 1
        if self._waiting:
            self._loop.call_soon(self._next)


async def begins_tls(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> bool:
    """Whether the first byte that comes is that of a TLS handshake, which stays unread.

    What else comes is read; if it is HTTP, it is answered as Go's net/http does. Raises OSError where the connection
    breaks. Waits as long as the client does: it is for the caller to end it.
    """
    await _readable(loop, connection)
    if connection.recv(1, socket.MSG_PEEK)[:1] == bytes((_HANDSHAKE,)):
        return True
    start = b""
    while len(start) < len(_HTTP[0]):
        await _readable(loop, connection)
        piece = connection.recv(_PIECE)
        if not piece:
            return False
        start += piece
    if start.startswith(_HTTP):
        with contextlib.suppress(OSError):
            connection.send(NO_TLS)
            connection.shutdown(socket.SHUT_WR)
    return False


def has_gone(connection: socket.socket) -> bool:
    """Whether the other end has closed a connection, even where there is something unread. False where nobody tells."""
    if _TCP_INFO is None:
        return False
    return connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1) != _ESTABLISHED


async def _readable(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """Waits until there is something to read, or the connection ends."""
    came = loop.create_future()

    def tell() -> None:
        if not came.done():
            came.set_result(None)

    loop.add_reader(connection, tell)
    try:
        await came
    finally:
        loop.remove_reader(connection)
