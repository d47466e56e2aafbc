"""Ends a connection that the server has closed. TLS waits for the client's close_notify, which hardly any client
sends.
"""

from __future__ import annotations

import asyncio
import fcntl
import termios
from collections import deque
from collections.abc import Callable
from typing import Protocol

FAREWELL = 0.5  # seconds that a client has to close the connection, and to read why its request is refused
_AT_STOP = 0.05  # the same, if the server stops and has nothing left to send
_LATE = 25.0  # seconds to read the unsent data, and to end a tunnel; uvloop ends the connection after 30


class Answering(Protocol):
    """The answer of a connection."""

    def lose(self) -> None:
        """The connection is lost: nothing is sent any more."""
        ...

    def leave(self) -> None:
        """Called after `lose`, maybe in a later turn of the event loop: the application learns of it."""
        ...


class Departures:
    """Limits how many lost connections end their answers in one turn of the event loop: thousands may be lost at once.

    First come, first served. Each wakes a task for some 30 microseconds.
    """

    __slots__ = ("_left", "_waiting")

    MOST = 32  # that end in one turn

    def __init__(self) -> None:
        self._waiting: deque[tuple[Answering | None, Callable[[], None]]] = deque()
        self._left = self.MOST  # how many more may end in this turn

    def end(self, answering: Answering | None, lost: Callable[[], None]) -> None:
        """Calls `lost` and ends the answer: at once, or in a later turn, in order."""
        if answering is not None:
            answering.lose()
        self._waiting.append((answering, lost))
        if self._left == self.MOST:
            asyncio.get_running_loop().call_soon(self._go_on)
        if self._left:
            self._left -= 1
            self._end_next()

    def _end_next(self) -> None:
        answering, lost = self._waiting.popleft()
        try:
            lost()
        finally:
            if answering is not None:
                answering.leave()

    def _go_on(self) -> None:
        """Ends the next ones; called once in each turn of the loop."""
        self._left, left = 0, self.MOST  # none ends at once meanwhile
        try:
            while self._waiting and left:
                left -= 1
                self._end_next()
        finally:  # an error of one end must not keep all later ones waiting for ever
            self._left = left
            if left != self.MOST:
                asyncio.get_running_loop().call_soon(self._go_on)


def end_soon(
    loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, *, stopping: bool, tunnel: bool = False
) -> None:
    """Aborts a closing connection soon, even if its client does not answer. It waits until the client has read all
    written data, but at most `_LATE` seconds, or `FAREWELL` if the server is `stopping`.

    The client of a `tunnel` gets more time, since it may still send data: an abort would then reset the connection and
    destroy data that the client has not read.
    """
    if transport.is_closing():
        until = loop.time() + (FAREWELL if stopping else _LATE)
        loop.call_later(_AT_STOP if stopping else _LATE if tunnel else FAREWELL, _end, loop, transport, until)


def _end(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, until: float, again: bool = True) -> None:
    """Aborts the connection, unless data is unsent. If none seems to be, checks `again` in the next turn of the loop.

    The socket's queue may be empty only because this process had no CPU time to fill it; the loop fills it before that
    turn.
    """
    if loop.time() >= until:
        transport.abort()
    elif _has_unsent(transport):
        loop.call_later(FAREWELL, _end, loop, transport, until)
    elif again:
        loop.call_soon(_end, loop, transport, until, False)
    else:
        transport.abort()


def _has_unsent(transport: asyncio.Transport) -> bool:
    """Whether data is unsent. The TLS transport does not count the bytes in the transport below it; if that holds any
    data, the socket's own queue is not empty, either.
    """
    if transport.get_write_buffer_size():
        return True
    try:
        queued = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, ValueError, AttributeError):  # it is closed, or this is not Linux
        return False
    return any(queued)
