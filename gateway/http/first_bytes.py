"""Finds out whether a connection begins with a TLS handshake, or with plain HTTP of a client with the wrong scheme.

The first byte is peeked before the socket is handed to TLS: an idle connection allocates nothing for TLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections import deque

NO_TLS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"

_HANDSHAKE = 0x16  # the type of a TLS handshake record (RFC 8446, 5.1)
_HTTP = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")  # the beginnings that Go's net/http takes for HTTP
_PIECE = 1 << 16
_TCP_INFO = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None  # tcp(7); begins with the state
_ESTABLISHED = b"\x01"


class TurnQueue:
    """Lets a few waiting tasks continue in each turn of the event loop, first come, first served, so that many waiting
    tasks do not block the loop.

    If the first one has waited for long, the turns are long, and more tasks continue in each. Otherwise the clients of
    the last ones would give up.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, at_once: int, late: float, when_late: int) -> None:
        """`at_once` tasks continue in a turn; `when_late` if the first has waited for more than `late` seconds."""
        self._loop, self._at_once, self._late, self._when_late = loop, at_once, late, when_late
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()

    async def take(self) -> None:
        """Waits until it is the calling task's turn."""
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
            if not turn.done():  # done means that the waiting task was cancelled
                turn.set_result(None)
                given += 1
        if self._waiting:
            self._loop.call_soon(self._next)


async def begins_tls(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> bool:
    """Waits for the first byte; whether it begins a TLS handshake. A handshake stays unread.

    Other bytes are read; plain HTTP gets the same answer as from Go's net/http. There is no time limit: the caller has
    to set one. Raises OSError if the connection breaks.
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
    """Whether the client has closed the connection, even if unread data is left. Always False on other systems than
    Linux.
    """
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
