"""Accepting connections: how many there may be, altogether and from one address, and how long TLS may take."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import resource
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gateway.http.ends import unmapped
from gateway.http.first_bytes import Turns, begins_tls, has_gone
from gateway.http.intake import SIZE, Intake
from gateway.http.limits import Limits
from gateway.http.protocol import Protocol
from storage.instruments import counter

logger = logging.getLogger(__name__)

BACKLOG = 4096  # connections that the kernel keeps until they are accepted: its own limit, as Go has it
AT_ONCE = 64  # connections accepted in one turn of the loop
HANDSHAKES_AT_ONCE = 8  # begun in one turn of the loop; the key exchange of each holds it for some 0.3 ms
RESERVE = 128  # descriptors kept for etcd, files and what is under way
LATE, HANDSHAKES_WHEN_LATE = 2.0, 24  # seconds that one has waited, and how many begin then; Go gives up after 10
BETWEEN_REPORTS = 10.0  # seconds
PAUSE = 0.5  # seconds without accepting when there are no descriptors
LEAST_FOR_TLS = 1.0  # seconds that a handshake has, however late its turn comes
DEAD_AFTER = 180  # seconds of silence until the kernel asks whether the other end is still there
_KEEP_ALIVE = tuple(  # macOS has another name for the first of them
    getattr(socket, name) for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL") if hasattr(socket, name)
)

HANDSHAKE_ERRORS = counter(
    "apiserver_tls_handshake_errors_total", "Connections that ended during the TLS handshake."
).labels()

_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

MakeProtocol = Callable[[Limits, Callable[[], None]], Protocol]


@dataclass(frozen=True, slots=True)
class Quota:
    """How many connections there may be in this process."""

    total: int
    per_address: int  # of one IPv4 address, or one /64 of IPv6

    @classmethod
    def for_descriptors(cls, per_address: int) -> Quota:
        """As many as there are descriptors for, and at most half of them from one address."""
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        others = descriptors // 4  # requests that are passed on, see `gateway.outbound.places`
        total = max(descriptors - RESERVE - others, descriptors // 2) if descriptors > 0 else 1 << 30
        return cls(total, min(per_address, max(total // 2, 1)))


class Acceptor:
    """Accepts a listening socket's connections. Has what uvicorn wants of a server: `close` and `wait_closed`."""

    def __init__(
        self, listener: socket.socket, context: ssl.SSLContext, quota: Quota, limits: Limits, make: MakeProtocol
    ) -> None:
        """`make` makes the protocol of one connection, which calls its second argument when it has ended."""
        self._listener, self._context, self._quota, self._make = listener, context, quota, make
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._open: dict[str, int] = {}
        self._total = 0
        self._handshakes: set[asyncio.Task[None]] = set()
        self._turns = Turns(self._loop, HANDSHAKES_AT_ONCE, LATE, HANDSHAKES_WHEN_LATE)
        self._buffer = memoryview(bytearray(SIZE))
        self._refused = 0
        self._reported = -BETWEEN_REPORTS
        self._closed = False

    def use(self, context: ssl.SSLContext) -> None:
        """Sets the TLS context of connections that are accepted from now on."""
        self._context = context

    def start(self) -> None:
        """Begins to accept."""
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)
        self._loop.add_reader(self._listener.fileno(), self._accept)

    def close(self) -> None:
        """Accepts no more; what has not finished its handshake is dropped, and the kernel refuses what comes now.

        Else that would wait until the process has ended: clients that are refused go on where they were, as client-go's
        watches do, and those of several servers find another one.
        """
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._listener.fileno())
            with contextlib.suppress(OSError):  # where a listening socket can't be shut down
                self._listener.shutdown(socket.SHUT_RD)
            for handshake in self._handshakes:
                handshake.cancel()

    async def wait_closed(self) -> None:
        """Waits until all handshakes have ended."""
        await asyncio.gather(*self._handshakes, return_exceptions=True)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _SHORTAGE:
                    raise
                self._pause(error)
                return
            self._admit(connection, address_of(peer[0]))

    def _admit(self, connection: socket.socket, address: str) -> None:
        count = self._open.get(address, 0)
        if count >= self._quota.per_address or self._total >= self._quota.total:
            connection.close()
            whose = "from this address" if count >= self._quota.per_address else "altogether"
            self._report(f"too many connections {whose}", address, count)
            return
        self._open[address] = count + 1
        self._total += 1
        task = self._loop.create_task(self._shake_hands(connection, address))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _shake_hands(self, connection: socket.socket, address: str) -> None:
        """Starts serving the connection; releases its place if that fails."""
        protocol = self._make(self._limits, partial(self._gone, address))
        deadline = self._loop.time() + self._limits.head_seconds
        try:
            _keep_alive(connection)
            async with asyncio.timeout_at(deadline):
                if not await begins_tls(self._loop, connection):
                    raise ConnectionError("no TLS handshake")
                await self._turns.take()
                if has_gone(connection):  # it would cost as much as one that goes on, and hold that up
                    raise ConnectionError("closed before its turn")
            await self._loop.connect_accepted_socket(
                lambda: Intake(protocol, self._buffer),
                connection,
                ssl=self._context,
                ssl_handshake_timeout=max(deadline - self._loop.time(), LEAST_FOR_TLS),
            )
        except (OSError, asyncio.CancelledError) as error:
            HANDSHAKE_ERRORS.inc()
            if protocol.transport is None:
                connection.close()
            logger.debug("handshake failed", extra={"address": address, "error": str(error)})
        finally:
            if protocol.transport is None:  # else it tells itself
                self._gone(address)

    def _gone(self, address: str) -> None:
        self._total -= 1
        left = self._open[address] - 1
        if left:
            self._open[address] = left
        else:
            del self._open[address]

    def _pause(self, error: OSError) -> None:
        """Stops accepting for a while: the socket stays readable, and the loop would turn for nothing."""
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(PAUSE, self._resume)
        self._report(f"cannot accept connections: {error.strerror}", "", 0)

    def _resume(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _report(self, what: str, address: str, count: int) -> None:
        """Logs a refusal, and how many there were since the last time, but not each of them."""
        self._refused += 1
        now = self._loop.time()
        if now - self._reported >= BETWEEN_REPORTS:
            extra = {"address": address, "connections": count, "total": self._total, "refused": self._refused}
            logger.warning(what, extra=extra)
            self._reported, self._refused = now, 0


def address_of(host: str) -> str:
    """Whose a connection counts as: an IPv4 address, or the /64 of an IPv6 one, which is what one user has."""
    host = unmapped(host)
    if ":" not in host:
        return host
    address = ipaddress.IPv6Address(host.partition("%")[0])
    return str(ipaddress.IPv6Network((address, 64), strict=False))


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in _KEEP_ALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, DEAD_AFTER)
