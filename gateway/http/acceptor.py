"""Accepts connections, within limits: their number altogether and from one address, and the time for TLS."""

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
from gateway.http.first_bytes import TurnQueue, begins_tls, has_gone
from gateway.http.intake import SIZE, Intake
from gateway.http.limits import HttpLimits
from gateway.http.protocol import Protocol
from storage.instruments import counter

logger = logging.getLogger(__name__)

BACKLOG = 4096  # connections that the kernel queues until they are accepted: Linux's default maximum, as in Go
AT_ONCE = 64  # connections accepted in one turn of the loop
HANDSHAKES_AT_ONCE = 8  # begun in one turn of the loop; the key exchange of each blocks it for some 0.3 ms
RESERVE = 128  # descriptors kept for etcd, files and requests in progress
LATE, HANDSHAKES_WHEN_LATE = 2.0, 24  # seconds; handshakes a turn when one waits longer; Go gives up after 10 s
BETWEEN_REPORTS = 10.0  # seconds
PAUSE = 0.5  # seconds without accepting when there are no descriptors
LEAST_FOR_TLS = 1.0  # seconds that a handshake gets at least, however late its turn comes
DEAD_AFTER = 180  # seconds of silence until the kernel sends a TCP keep-alive
_KEEP_ALIVE = tuple(  # TCP_KEEPALIVE is macOS's name of TCP_KEEPIDLE
    getattr(socket, name) for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL") if hasattr(socket, name)
)

HANDSHAKE_ERRORS = counter(
    "apiserver_tls_handshake_errors_total", "Connections that ended during the TLS handshake."
).labels()

_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

MakeProtocol = Callable[[HttpLimits, Callable[[], None]], Protocol]


@dataclass(frozen=True, slots=True)
class ConnectionQuota:
    """How many connections there may be in this process."""

    total: int
    per_address: int  # of one IPv4 address, or one /64 of IPv6

    @classmethod
    def for_descriptors(cls, per_address: int) -> ConnectionQuota:
        """The quota for the process's file descriptors. At most half of all connections may come from one address."""
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        others = descriptors // 4  # for connections to other servers, see `gateway.outbound.places`
        total = max(descriptors - RESERVE - others, descriptors // 2) if descriptors > 0 else 1 << 30
        return cls(total, min(per_address, max(total // 2, 1)))


class Acceptor:
    """Accepts the connections of a listening socket. Has the methods that uvicorn calls: `close` and `wait_closed`."""

    def __init__(
        self,
        listener: socket.socket,
        context: ssl.SSLContext,
        quota: ConnectionQuota,
        limits: HttpLimits,
        make: MakeProtocol,
    ) -> None:
        """`make` makes the protocol of one connection, which calls the second argument when the connection ends."""
        self._listener, self._context, self._quota, self._make = listener, context, quota, make
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._open: dict[str, int] = {}
        self._total = 0
        self._handshakes: set[asyncio.Task[None]] = set()
        self._turns = TurnQueue(self._loop, HANDSHAKES_AT_ONCE, LATE, HANDSHAKES_WHEN_LATE)
        self._buffer = memoryview(bytearray(SIZE))
        self._refused = 0
        self._reported = -BETWEEN_REPORTS
        self._closed = False

    def use(self, context: ssl.SSLContext) -> None:
        """Sets the TLS context of connections that are accepted after this call."""
        self._context = context

    def start(self) -> None:
        """Starts listening and accepting."""
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)
        self._loop.add_reader(self._listener.fileno(), self._accept)

    def close(self) -> None:
        """Stops accepting: unfinished handshakes are cancelled, and the kernel refuses new connections.

        Without the shutdown of the socket, new connections would wait until the process ends. A client that is refused
        can try again at once, at another server if there are several.
        """
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._listener.fileno())
            with contextlib.suppress(OSError):  # some systems cannot shut a listening socket down
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
        """Does the TLS handshake and starts to serve the connection; releases its place in the quota if that fails."""
        protocol = self._make(self._limits, partial(self._gone, address))
        deadline = self._loop.time() + self._limits.head_seconds
        try:
            _keep_alive(connection)
            async with asyncio.timeout_at(deadline):
                if not await begins_tls(self._loop, connection):
                    raise ConnectionError("no TLS handshake")
                await self._turns.take()
                if has_gone(connection):  # its handshake would cost as much as another, and delay that one
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
            if protocol.transport is None:  # otherwise the protocol calls _gone
                self._gone(address)

    def _gone(self, address: str) -> None:
        self._total -= 1
        left = self._open[address] - 1
        if left:
            self._open[address] = left
        else:
            del self._open[address]

    def _pause(self, error: OSError) -> None:
        """Stops accepting for PAUSE seconds; otherwise the socket, still readable, would keep the loop busy."""
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(PAUSE, self._resume)
        self._report(f"cannot accept connections: {error.strerror}", "", 0)

    def _resume(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _report(self, what: str, address: str, count: int) -> None:
        """Logs a refusal, at most every BETWEEN_REPORTS seconds, with the number of refusals since the last entry."""
        self._refused += 1
        now = self._loop.time()
        if now - self._reported >= BETWEEN_REPORTS:
            extra = {"address": address, "connections": count, "total": self._total, "refused": self._refused}
            logger.warning(what, extra=extra)
            self._reported, self._refused = now, 0


def address_of(host: str) -> str:
    """The address by which a client's connections are counted: the IPv4 address, or the /64 network of an IPv6 one,
    since one user usually has a whole /64.
    """
    host = unmapped(host)
    if ":" not in host:
        return host
    address = ipaddress.IPv6Address(host.partition("%")[0])
    return str(ipaddress.IPv6Network((address, 64), strict=False))


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option in _KEEP_ALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, DEAD_AFTER)
