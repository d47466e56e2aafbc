"""TLS on a SocketTransport, which is still read after a write has failed."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any

from gateway.outbound.sockets import SocketTransport

_PIECE = 256 << 10  # bytes that are decrypted at once


class SecuredTransport(asyncio.Transport, asyncio.Protocol):
    """The transport of a TLS client's connection. It is the protocol of the transport `plain` below it."""

    def __init__(self, plain: SocketTransport, protocol: asyncio.Protocol, context: ssl.SSLContext, name: str) -> None:
        super().__init__()
        self._plain, self._protocol = plain, protocol  # the latter is deleted at the connection's end
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._shaken: asyncio.Future[None] | None = None  # the end of the handshake, during `shake`
        self._established = self._closing = False
        self._error: ssl.SSLError | None = None
        plain.set_protocol(self)

    async def shake(self, timeout: float) -> None:
        """Makes the TLS handshake, within `timeout` seconds. Raises OSError."""
        self._shaken = asyncio.get_running_loop().create_future()
        self._shake()
        try:
            async with asyncio.timeout(timeout):
                await self._shaken
        except TimeoutError:
            raise ConnectionAbortedError("the handshake takes too long") from None
        finally:
            self._shaken = None

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """The SSLObject for `ssl_object`; other names are those of the transport below."""
        return self._tls if name == "ssl_object" else self._plain.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._closing

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Sends bytes, or buffers them until the socket accepts them."""
        if data and not self._closing:
            self._tls.write(data)
            self._send()

    def close(self) -> None:
        """Closes the connection after all written bytes and TLS' close_notify are sent."""
        if not self._closing:
            self._closing = True
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._send()
            self._plain.close()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._closing = True
        self._plain.abort()

    # for the transport below

    def data_received(self, data: bytes) -> None:
        self._incoming.write(data)
        if not self._established:
            self._shake()
        if self._established:
            self._read()

    def eof_received(self) -> bool:
        if self._established:
            self._protocol.eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._tell(ConnectionResetError())
        self._protocol.connection_lost(self._error or exc)
        del self._protocol

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def _shake(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._tell(error)
        else:
            self._established = True
            self._tell(None)
        self._send()

    def _tell(self, error: OSError | None) -> None:
        """Gives the result of the handshake to `shake`."""
        if self._shaken is None or self._shaken.done():
            return
        if error is None:
            self._shaken.set_result(None)
        else:
            self._shaken.set_exception(error)

    def _read(self) -> None:
        try:
            while not self._closing:
                data = self._tls.read(_PIECE)
                if not data:
                    raise ssl.SSLZeroReturnError
                self._protocol.data_received(data)
        except ssl.SSLWantReadError:
            self._send()  # messages of TLS itself
        except ssl.SSLZeroReturnError:
            self._protocol.eof_received()
            self.close()
        except ssl.SSLError as error:
            self._error = error
            self.abort()

    def _send(self) -> None:
        if self._outgoing.pending:
            self._plain.write(self._outgoing.read())
