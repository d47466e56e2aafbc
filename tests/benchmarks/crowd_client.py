"""The client of the crowd: thousands of watches, paced writes and a prober of reads, in one process, cheaply.

Non-blocking TLS sockets under one epoll: no HTTP library, nothing parsed but what is measured. Connections come from
several loopback addresses, as kubelets do from several machines.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

ADDRESSES = 8
AT_ONCE = 32  # connections that are being made
READ = 1 << 18
_MARK = re.compile(rb'"crowd":"\d+-(\d+)"')  # the number of a change, and when it was asked for


@dataclass(slots=True, eq=False)
class Connection:
    """One connection: the bytes to send, and the function that gets what is received."""

    stream: ssl.SSLSocket
    token: str
    received: Callable[[Connection, bytes], None]
    mask: int = 0
    outgoing: bytes = b""
    ready: bool = False  # whether the handshake is done
    hello: float = 0.0  # when that began
    buffer: bytes = b""
    began: float = 0.0
    number: int = 0

    def request(self, method: str, path: str, body: bytes = b"") -> None:
        """Sends a request."""
        head = f"{method} {path} HTTP/1.1\r\nHost: crowd\r\nAuthorization: Bearer {self.token}\r\n"
        if body:
            kind = "merge-patch+json" if method == "PATCH" else "json"
            head += f"Content-Type: application/{kind}\r\nContent-Length: {len(body)}\r\n"
        self.began = time.monotonic()
        self.outgoing += head.encode() + b"\r\n" + body

    def answer(self, data: bytes) -> int:
        """Takes a part of an answer. Returns its status when it is complete, else 0."""
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return 0
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        whole = len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")
        if not whole:
            return 0
        self.buffer = b""
        return int(head[9:12])


@dataclass(slots=True)
class Loop:
    """All connections of the client to one server."""

    address: tuple[str, int]
    token: str
    epoll: select.epoll = field(default_factory=select.epoll)
    connections: dict[int, Connection] = field(default_factory=dict)
    broken: int = 0
    lost: Callable[[Connection], None] | None = None  # is told of each that breaks
    _context: ssl.SSLContext = field(default_factory=lambda: ssl._create_unverified_context())

    def connect(self, received: Callable[[Connection, bytes], None]) -> Connection:
        """Begins a connection; what it is to send may be given to it at once."""
        plain = socket.socket()
        plain.bind((f"127.0.1.{len(self.connections) % ADDRESSES + 1}", 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setblocking(False)
        stream = self._context.wrap_socket(plain, do_handshake_on_connect=False)
        stream.connect_ex(self.address)  # what goes wrong there shows when it is served
        connection = self.connections[stream.fileno()] = Connection(stream, self.token, received)
        connection.mask = select.EPOLLIN | select.EPOLLOUT
        self.epoll.register(stream, connection.mask)
        return connection

    def turn(self, seconds: float) -> None:
        """Waits for the next events on the sockets, and handles them."""
        for number, _ in self.epoll.poll(seconds):
            connection = self.connections.get(number)
            if connection is not None:
                try:
                    self.serve(connection)
                except (OSError, EOFError):
                    self.lose(connection)

    def serve(self, connection: Connection) -> None:
        """Sends and receives as much as possible."""
        want = select.EPOLLIN
        try:
            if not connection.ready:
                connection.hello = connection.hello or time.monotonic()
                connection.stream.do_handshake()
                connection.ready = True
            if connection.outgoing:
                sent = connection.stream.send(connection.outgoing)
                connection.outgoing = connection.outgoing[sent:]
            while data := connection.stream.recv(READ):
                connection.received(connection, data)
                if connection.stream.fileno() < 0:
                    return  # dropped, since it was told to be
                if connection.outgoing:
                    sent = connection.stream.send(connection.outgoing)
                    connection.outgoing = connection.outgoing[sent:]
            raise EOFError
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLWantWriteError:
            want |= select.EPOLLOUT
        if connection.outgoing and connection.ready:
            want |= select.EPOLLOUT
        if want != connection.mask:
            connection.mask = want
            self.epoll.modify(connection.stream, want)

    def lose(self, connection: Connection) -> None:
        """Ends a connection that broke."""
        self.broken += 1
        self.drop(connection)
        if self.lost is not None:
            self.lost(connection)

    def drop(self, connection: Connection) -> None:
        """Ends a connection."""
        self.connections.pop(connection.stream.fileno(), None)
        self.epoll.unregister(connection.stream)
        connection.stream.close()

    def close(self) -> None:
        """Ends all of them."""
        for connection in list(self.connections.values()):
            self.drop(connection)
        self.epoll.close()


@dataclass(slots=True)
class Measured:
    """The measured seconds, one for each change or read."""

    delivered: list[float] = field(default_factory=list)  # from the write's request to its event
    acknowledged: list[float] = field(default_factory=list)  # from the write's request to its answer
    reads: list[float] = field(default_factory=list)
    written: int = 0
    failed: int = 0
    late: float = 0.0  # how far the client fell behind its own pace, at most


def send_all(loop: Loop, requests: list[tuple[str, str, bytes]], connections: int = 32) -> None:
    """Sends requests as fast as they are answered. Raises RuntimeError for one that fails."""
    waiting, done, total = deque(requests), 0, len(requests)

    def received(connection: Connection, data: bytes) -> None:
        nonlocal done
        status = connection.answer(data)
        if not status:
            return
        if status not in (200, 201):
            raise RuntimeError(f"a request was answered {status}")
        done += 1
        if waiting:
            connection.request(*waiting.popleft())

    opened = [loop.connect(received) for _ in range(min(connections, total))]
    for connection in opened:
        connection.request(*waiting.popleft())
    while done < total:
        loop.turn(1.0)
    for connection in opened:
        loop.drop(connection)


class Crowd:
    """Open watches and their events."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.measured = loop, Measured()
        self._opened = 0

    def watch(self, paths: list[str], seconds: float = 300.0) -> None:
        """Opens a watch on each path, several at once. Raises TimeoutError."""
        end, begun = time.monotonic() + seconds, 0
        while self._opened < len(paths):
            while begun < len(paths) and begun - self._opened < AT_ONCE:
                self.loop.connect(self._opening).request("GET", paths[begun])
                begun += 1
            self.loop.turn(1.0)
            if time.monotonic() > end or self.loop.broken:
                raise TimeoutError(f"{self._opened} of {len(paths)} watches, {self.loop.broken} broken")

    def _opening(self, connection: Connection, data: bytes) -> None:
        """Opens watches. A watch counts as open once it has sent its one object."""
        connection.buffer += data
        if b"\r\n\r\n" in connection.buffer and b" 200 " not in connection.buffer[:32]:
            raise RuntimeError(connection.buffer[:400].decode(errors="replace"))
        if b'{"type":"ADDED"' in connection.buffer and connection.buffer.endswith(b"\n"):
            self._opened += 1
            connection.buffer, connection.received = b"", self._event

    def _event(self, connection: Connection, data: bytes) -> None:
        connection.buffer += data
        if not connection.buffer.endswith(b"\n"):
            return
        now = time.monotonic_ns()
        self.measured.delivered += [(now - int(began)) / 1e9 for began in _MARK.findall(connection.buffer)]
        connection.buffer = b""

    def run(self, change: Callable[[int], tuple[str, str, bytes]], read: str, rate: float, seconds: float) -> None:
        """Makes `rate` changes a second (0: another process makes them) and 50 reads a second, and measures."""
        measured, idle = self.measured, deque[Connection]()
        readers = deque[Connection]()

        def answering(into: list[float], done: deque[Connection]) -> Callable[[Connection, bytes], None]:
            def received(connection: Connection, data: bytes) -> None:
                status = connection.answer(data)
                if status:
                    into.append(time.monotonic() - connection.began)
                    measured.failed += status != 200
                    done.append(connection)

            return received

        idle += [self.loop.connect(answering(measured.acknowledged, idle)) for _ in range(64 if rate else 0)]
        readers += [self.loop.connect(answering(measured.reads, readers)) for _ in range(8)]
        while not all(connection.ready for connection in (*idle, *readers)):  # handshakes are not what is measured
            self.loop.turn(1.0)
        began = time.monotonic()
        end, next_read = began + seconds, began
        while (now := time.monotonic()) < end:
            due = began + measured.written / rate if rate else end
            while due <= now and idle:
                self._ask(idle.popleft(), *change(measured.written))
                measured.late = max(measured.late, now - due)
                measured.written += 1
                due = began + measured.written / rate
            if next_read <= now and readers:
                self._ask(readers.popleft(), "GET", read)
                next_read = now + 0.02
            waits = [end, *([due] if idle else []), *([next_read] if readers else [])]
            self.loop.turn(max(0.0, min(waits) - time.monotonic()))

    def _ask(self, connection: Connection, method: str, path: str, body: bytes = b"") -> None:
        connection.request(method, path, body)
        self.loop.serve(connection)

    def settle(self, seconds: float = 5.0) -> None:
        """Waits until all changes in `measured.written` have been delivered."""
        end = time.monotonic() + seconds
        while len(self.measured.delivered) < self.measured.written and time.monotonic() < end:
            self.loop.turn(0.05)
