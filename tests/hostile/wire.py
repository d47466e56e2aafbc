"""Bytes on a TLS connection, for requests that no client library sends."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from dataclasses import dataclass

from apiserver_gateway.testing import ApiServer


@dataclass(frozen=True, slots=True)
class Reply:
    """One response; `headers` has the names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Wire:
    """A TLS connection that sends given bytes. A context manager."""

    def __init__(self, server: ApiServer, timeout: float = 60.0) -> None:
        context = ssl.create_default_context(cafile=str(server.ca_file))
        plain = socket.create_connection(("127.0.0.1", server.port), timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self._file = self.socket.makefile("rb")
        self._authorization = f"Authorization: Bearer {server.token}\r\n".encode()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection at once."""
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Sends bytes as they are."""
        self.socket.sendall(data)

    def offer(self, data: bytes) -> None:
        """Sends as much as the server reads: it reads for half a second after it has answered a refusal."""
        with contextlib.suppress(OSError):
            self.send(data)

    def request(self, line: str, *headers: str, body: bytes = b"", token: bool = True) -> None:
        """Sends a request. `line` is the method and the path, such as "GET /api"."""
        self.send(self.head(line, *headers, token=token) + body)

    def head(self, line: str, *headers: str, token: bool = True) -> bytes:
        """A request up to its body."""
        lines = "".join(f"{header}\r\n" for header in ("Host: localhost", *headers)).encode("latin-1")
        return f"{line} HTTP/1.1\r\n".encode("latin-1") + lines + (self._authorization if token else b"") + b"\r\n"

    def reply(self) -> Reply:
        """The next response. Raises OSError or HTTPException if there is none."""
        line = self._file.readline()
        if not line:
            raise http.client.RemoteDisconnected("no answer")
        status = int(line.split()[1])
        headers = {name.lower(): value for name, value in http.client.parse_headers(self._file).items()}
        if headers.get("transfer-encoding") == "chunked":
            body = b"".join(iter(self._chunk, b""))
        else:
            body = self._file.read(int(headers["content-length"]) if "content-length" in headers else -1)
        return Reply(status, headers, body)

    def _chunk(self) -> bytes:
        size = int(self._file.readline(), 16)
        return self._file.read(size + 2)[:size]

    def answers(self, timeout: float) -> bool:
        """Whether a byte of an answer, or the end of the connection, arrives in time."""
        self.socket.settimeout(timeout)
        try:
            self.socket.recv(1)
        except TimeoutError:
            return False
        return True

    def is_closed(self, timeout: float = 60.0) -> bool:
        """Whether the server closes the connection in time, without another byte."""
        self.socket.settimeout(timeout)
        try:
            return self._file.read(1) == b""
        except (ConnectionError, ssl.SSLError):
            return True
        except TimeoutError:
            return False
