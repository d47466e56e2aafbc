"""HTTP/1.1 calls of other servers, on the event loop: connections are kept for the next call, answers are bounded."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field

import httptools

_MOST_IDLE = 16  # connections that wait for another call
_PIECE = 64 << 10


class CallError(Exception):
    """A server could not be asked, or did not answer in HTTP; the message says why. `reset` if the connection broke."""

    def __init__(self, message: str, reset: bool = False) -> None:
        super().__init__(message)
        self.reset = reset


@dataclass(frozen=True, slots=True)
class Peer:
    """The server. `context` is None for http; `server_name` is whom its certificate is for, if not the host."""

    host: str
    port: int
    context: ssl.SSLContext | None = None
    server_name: str = ""


@dataclass(slots=True)
class Answer:
    """What came back; names of headers are in lower case."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class _Reading:
    """What httptools tells of an answer."""

    def __init__(self) -> None:
        self.answer, self.complete, self.parts = Answer(), False, list[bytes]()
        self.size = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self.answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        self.parts.append(part)
        self.size += len(part)

    def on_message_complete(self) -> None:
        self.complete = True


_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Caller:
    """Calls one server."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._idle: list[_Streams] = []

    async def call(
        self, method: str, path: str, headers: dict[str, str], body: bytes, *, timeout: float, largest: int
    ) -> Answer:
        """The answer, whatever its status. Raises CallError; an answer of more than `largest` bytes is an error."""
        head = "".join(f"{name}: {value}\r\n" for name, value in {"Host": self._authority(), **headers}.items())
        length = f"Content-Length: {len(body)}\r\n" if body or method != "GET" else ""
        request = f"{method} {path} HTTP/1.1\r\n{head}{length}\r\n".encode("latin-1") + body
        try:
            async with asyncio.timeout(timeout):
                while self._idle:
                    try:
                        return await self._exchange(self._idle.pop(), request, largest)
                    except CallError as error:
                        if not error.reset:
                            raise  # else the server has closed what it kept for long enough
                return await self._exchange(await self._connect(), request, largest)
        except TimeoutError:
            raise CallError("context deadline exceeded (Client.Timeout exceeded while awaiting headers)") from None

    def close(self) -> None:
        """Ends the connections that wait."""
        while self._idle:
            self._idle.pop()[1].close()

    def _authority(self) -> str:
        peer = self._peer
        host = f"[{peer.host}]" if ":" in peer.host else peer.host
        return host if peer.port == (80 if peer.context is None else 443) else f"{host}:{peer.port}"

    async def _connect(self) -> _Streams:
        peer = self._peer
        name = (peer.server_name or peer.host) if peer.context is not None else None
        try:
            return await asyncio.open_connection(peer.host, peer.port, ssl=peer.context, server_hostname=name)
        except ssl.SSLCertVerificationError as error:
            raise CallError(f"tls: failed to verify certificate: x509: {error.verify_message}") from None
        except (OSError, ValueError) as error:
            message = getattr(error, "strerror", None) or str(error)
            raise CallError(f"dial tcp {peer.host}:{peer.port}: {message}") from None

    async def _exchange(self, streams: _Streams, request: bytes, largest: int) -> Answer:
        reader, writer = streams
        reading, kept = _Reading(), False
        parser = httptools.HttpResponseParser(reading)
        try:
            writer.write(request)
            await writer.drain()
            while not reading.complete:
                part = await reader.read(_PIECE)
                if not part:
                    if not reading.answer.headers or "content-length" in reading.answer.headers:
                        raise CallError("EOF", reset=True)
                    break  # the answer ends with the connection
                parser.feed_data(part)
                if reading.size > largest:
                    raise CallError(f"the answer is larger than {largest} bytes")
            kept = reading.complete and parser.should_keep_alive() and len(self._idle) < _MOST_IDLE
        except OSError as error:
            raise CallError(str(error), reset=True) from None
        except httptools.HttpParserError as error:
            raise CallError(f"malformed HTTP response: {error}") from None
        finally:
            if kept:
                self._idle.append(streams)
            else:
                writer.close()
        reading.answer.status, reading.answer.body = parser.get_status_code(), b"".join(reading.parts)
        return reading.answer
