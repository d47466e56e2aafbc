"""One HTTP/1.1 exchange with a stranger's server, on the event loop: however slow he is, nobody else waits for him."""

from __future__ import annotations

import asyncio
import ssl

import httptools

MAX_ANSWER = 64 << 20  # bytes
MAX_HEAD = 1 << 20  # bytes, of an answer's head; Go's client takes 10 MB
_PIECE = 64 << 10


class BadAnswer(Exception):
    """What came back is no answer, or too large; the message says why."""


class _Answer:
    """What a parser of httptools tells of an answer. Provisional ones (1xx) are passed over."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.body = bytearray()
        self.head = 0
        self.has_head = self.is_complete = self.is_framed = False

    def feed(self, data: bytes) -> None:
        """Takes what has come. Raises BadAnswer."""
        if not self.has_head:
            self.head += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise BadAnswer("unexpected upgrade of the connection") from None
        except httptools.HttpParserError as error:
            if not self.is_complete:
                raise BadAnswer(f"malformed HTTP response: {error}") from None
        if not self.has_head and self.head > MAX_HEAD:
            raise BadAnswer(f"the answer's head is larger than {MAX_HEAD} bytes")
        if len(self.body) > MAX_ANSWER:
            self.body.clear()
            raise BadAnswer(f"the answer is larger than {MAX_ANSWER} bytes")

    def end(self) -> None:
        """Takes the end of the connection, which ends a body of no stated length. Raises BadAnswer."""
        if not self.has_head or self.is_framed:
            raise BadAnswer("unexpected EOF" if self.has_head else "EOF")
        self.is_complete = True

    # the parser's callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() in (b"content-length", b"transfer-encoding"):
            self.is_framed = True

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        self.has_head = self.status >= 200

    def on_body(self, body: bytes) -> None:
        if not self.is_complete:
            self.body += body

    def on_message_complete(self) -> None:
        self.is_complete = self.has_head


async def post(
    host: str, port: int, name: str, path: str, body: bytes, trust: ssl.SSLContext, timeout: float
) -> tuple[int, bytearray]:
    """Posts JSON to an address whose certificate has to be for `name`; the answer's status and body.

    Raises BadAnswer, OSError and ssl.SSLError, and TimeoutError when all of it takes longer than `timeout` seconds.
    """
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {name}\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    if not (path + name).isprintable() or " " in path + name:
        raise BadAnswer("invalid control character in URL")
    async with asyncio.timeout(timeout):
        reader, writer = await asyncio.open_connection(host, port, ssl=trust, server_hostname=name)
        try:
            writer.write(head.encode("utf-8") + body)
            answer = _Answer()
            while not answer.is_complete:
                data = await reader.read(_PIECE)
                if data:
                    answer.feed(data)
                else:
                    answer.end()
        finally:
            writer.transport.abort()
    return answer.status, answer.body
