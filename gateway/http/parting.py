"""The end of a connection that this side has closed: it waits for its client to end TLS too, which hardly any does."""

from __future__ import annotations

import asyncio
import fcntl
import termios

FAREWELL = 0.5  # seconds that a client has to say goodbye, and to read why it is refused
_AT_STOP = 0.05  # seconds for it where the server stops and has nothing more to send
_LATE = 25.0  # seconds that it has to take what was written, and to end a tunnel; uvloop ends the connection after 30


def end_soon(
    loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, *, stopping: bool, tunnel: bool = False
) -> None:
    """Ends a connection that is closing, whether or not its client answers, once it has taken what was written.

    Where the server is `stopping`, it has `FAREWELL` for that. The client of a `tunnel` may still speak: a connection
    that is ended then is reset, which destroys what the client has not read.
    """
    if transport.is_closing():
        until = loop.time() + (FAREWELL if stopping else _LATE)
        loop.call_later(_AT_STOP if stopping else _LATE if tunnel else FAREWELL, _end, loop, transport, until)


def _end(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, until: float, again: bool = True) -> None:
    """Ends it, unless something is unsent. Where nothing seems to be it looks `again` in the next turn of the loop.

    The socket's queue is also empty where the client has taken all of it while this process had no core: the loop fills
    it anew before that turn.
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
    """Whether the client has not taken all that was written. TLS' transport does not tell what the one below it has;
    where that has any, the socket's own queue is full.
    """
    if transport.get_write_buffer_size():
        return True
    try:
        queued = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
    except (OSError, ValueError, AttributeError):  # it is closed, or this is no Linux
        return False
    return any(queued)
