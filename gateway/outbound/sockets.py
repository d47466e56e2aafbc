"""A transport that is still read after a write has failed, for connections with bytes in both directions.

A server may end such a connection without reading all bytes, which resets it. The bytes that it wrote before still
count, such as the exit status of a command. asyncio's transports drop them after a failed write; Go's connections do
not.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.outbound.connection import PARTING
from gateway.outbound.errors import OUT_OF_BOUNDS
from gateway.outbound.names import Resolver, resolved

_PIECE = 256 << 10  # bytes that are read at once
_MUCH = 64 << 10  # unsent bytes from which on `pause_writing` is called


class Reaches(Protocol):
    """To which addresses a client may connect. `of_host`: the address is known to be of this host."""

    def __call__(self, address: str, *, of_host: bool = False) -> bool: ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which addresses a client may connect to, and how it resolves names, so that it keeps no thread of others busy."""

    reaches: Reaches
    resolve: Resolver


async def dialled(host: str, port: int, bounds: Bounds | None = None) -> socket.socket:
    """A socket that is connected to the first address of a host that accepts, and that `bounds` allow.

    Raises OSError, ValueError.
    """
    loop, reaches = asyncio.get_running_loop(), None if bounds is None else bounds.reaches
    failed: OSError = socket.gaierror(socket.EAI_NONAME, "no such host")
    for family, kind, protocol, _, address in await (resolved if bounds is None else bounds.resolve)(host, port):
        if reaches is not None and not reaches(str(address[0])):
            failed = _out_of_bounds()
            continue
        if reaches is not None and not reaches(str(address[0]), of_host=_is_of_host(family, address)):
            failed = _out_of_bounds()
            continue
        made = socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(made, address)
            at = made.getpeername()[0]
            if reaches is not None and made.getsockname()[0] == at and not reaches(at, of_host=True):
                raise _out_of_bounds()
            return made
        except OSError as error:
            made.close()
            failed = error
        except BaseException:
            made.close()
            raise
    raise failed


def _out_of_bounds() -> PermissionError:
    """The error for an address that may not be called. It does not tell which addresses are of this host."""
    return PermissionError(errno.EACCES, OUT_OF_BOUNDS)


def _is_of_host(family: int, address: tuple[Any, ...]) -> bool:
    """Whether an address is of an interface of this host. Nothing is sent: a connection would tell whether its port is
    open, since a closed one is refused at once.
    """
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.connect((address[0], 9, *address[2:]))
        return bool(asked.getsockname()[0] == asked.getpeername()[0])  # the kernel's choice of a source address
    return False


class SocketTransport(asyncio.Transport):
    """The transport of a connected socket. After a failed write, it drops further writes, but still reads."""

    def __init__(self, connected: socket.socket, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._loop, self._socket = asyncio.get_running_loop(), connected
        self._unsent = bytearray()
        self._full = self._broken = self._closing = self._lost = False
        self._over = False  # whether the other end has closed its side
        self._parting: asyncio.TimerHandle | None = None
        self._protocol = protocol  # deleted at the connection's end, to break a reference cycle (`gateway.memory`)
        protocol.connection_made(self)
        self._loop.add_reader(connected, self._readable)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Replaces the protocol, as in asyncio."""
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """The socket for the name `socket`."""
        return self._socket if name == "socket" else default

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        if not self._closing:
            self._loop.remove_reader(self._socket)

    def resume_reading(self) -> None:
        if not self._closing:
            self._loop.add_reader(self._socket, self._readable)

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Sends bytes, or buffers them until the socket accepts them."""
        if self._closing or self._broken:
            return
        sent = 0
        if not self._unsent:
            try:
                sent = self._socket.send(data)
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                self._break()
                return
            if sent == len(data):
                return
            self._loop.add_writer(self._socket, self._writable)
        self._unsent += memoryview(data)[sent:]
        if len(self._unsent) > _MUCH and not self._full:
            self._full = True
            self._protocol.pause_writing()

    def close(self) -> None:
        """Sends the rest, then waits for the other end to close too, at most `PARTING` seconds.

        An earlier end could reset the connection, which would destroy bytes in transit.
        """
        if self._closing:
            return
        self._closing = True
        self._loop.add_reader(self._socket, self._readable)  # reading may be paused
        self._wait()
        if not self._unsent:
            self._part()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._end(None)

    def _part(self) -> None:
        """Closes this side, and waits for the other end to close its side."""
        if self._over or self._broken:
            self._end(None)
            return
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._wait()

    def _wait(self) -> None:
        """Starts the time in which the other end has to read more bytes, or to close its side."""
        if self._parting is not None:
            self._parting.cancel()
        self._parting = self._loop.call_later(PARTING, self._end, None)

    def _readable(self) -> None:
        try:
            data = self._socket.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._end(error)
            return
        if data:
            if not self._closing:
                self._protocol.data_received(data)
            return
        self._over = True
        self._loop.remove_reader(self._socket)
        if not self._closing:
            self._protocol.eof_received()
        self._closing = True
        if self._unsent:
            self._wait()
        else:
            self._end(None)

    def _writable(self) -> None:
        try:
            sent = self._socket.send(self._unsent)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._break()
            return
        del self._unsent[:sent]
        if len(self._unsent) <= _MUCH // 4:
            self._resume()
        if not self._unsent:
            self._loop.remove_writer(self._socket)
            if self._closing:
                self._part()
        elif self._closing:
            self._wait()

    def _break(self) -> None:
        """Called when a write has failed: drops the unsent bytes."""
        self._broken = True
        self._loop.remove_writer(self._socket)
        self._unsent.clear()
        self._resume()
        if self._closing:
            self._part()

    def _resume(self) -> None:
        if self._full:
            self._full = False
            self._protocol.resume_writing()

    def _end(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._lost = self._closing = True
        if self._parting is not None:
            self._parting.cancel()
            self._parting = None
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        self._loop.call_soon(self._protocol.connection_lost, error)
        del self._protocol
