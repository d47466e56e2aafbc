"""Ends a connection that the server has closed. TLS waits for the client's close_notify, which hardly any client
sends.
"""

from __future__ import annotations

import asyncio
import fcntl
import termios

FAREWELL = 0.5  # seconds that a client has to close the connection, and to read why its request is refused
_AT_STOP = 0.05  # the same, if the server stops and has nothing left to send
_LATE = 25.0  # seconds to read the unsent data, and to end a tunnel; uvloop ends the connection after 30


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
