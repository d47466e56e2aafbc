"""The sockets of the served port: one, or one for each of several processes (SO_REUSEPORT).

With SO_REUSEPORT the kernel lets any process of the same user share the port. Two servers that got the same port by
mistake would each receive half of the connections. So a server first checks that the port is unused, unless
--permit-port-sharing allows sharing. Workers whose parent was killed may still listen for a moment, and answer their
last requests for longer. A new server waits for the former, and does not mind the latter.

0.0.0.0 and :: both mean all addresses of both families, as in Go and so in kube-apiserver: one socket accepts both.
Without IPv6, 0.0.0.0 means all IPv4 addresses.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass

ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})
ORPHANS = 10.0  # seconds that workers whose parent was killed may still listen
LOOK = 0.05  # seconds between two looks whether they do


@dataclass(frozen=True, slots=True)
class ListeningPort:
    """A bound address. If it is `shared`, the socket `held` never listens; each process gets its own from `another`.
    `claim` keeps other servers away.
    """

    address: str
    port: int
    held: socket.socket
    shared: bool
    claim: socket.socket | None = None

    def leave(self) -> None:
        """Closes what only the parent of the processes holds, in a fork of it: it is free when the parent has ended."""
        self.held.close()
        if self.claim is not None:
            self.claim.close()

    def another(self) -> socket.socket:
        """One more socket on the shared address. Raises OSError."""
        return _bound(self.address, self.port, shared=True)


@contextmanager
def listen(address: str, port: int, shared: bool, permitted: bool = False) -> Iterator[ListeningPort]:
    """Binds an address until the block ends; port 0 means a free port.

    `shared` lets other processes of this server bind it too; `permitted` also lets other servers of the same user.
    Raises OSError, also if another server uses the address and sharing is not permitted.
    """
    if address in ANY_ADDRESS and socket.has_dualstack_ipv6():
        address = "::"
    if permitted:
        with _bound(address, port, shared=True) as bound:
            yield ListeningPort(address, bound.getsockname()[1], bound, True)
        return
    if not shared or not port:
        with _bound(address, port, shared=shared) as bound:
            yield ListeningPort(address, bound.getsockname()[1], bound, shared)
        return
    with _claim(address, port) as claim:
        _wait_until_unused(address, port)
        with _bound(address, port, shared=True) as bound:
            yield ListeningPort(address, port, bound, True, claim)


def loopback(address: str) -> str:
    """An address by which this host reaches a server that listens on `address`: a loopback address for 0.0.0.0 and ::,
    otherwise `address` itself.
    """
    if address not in ANY_ADDRESS:
        return address
    if address == "::":
        with suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind(("::1", 0))
            return "::1"
    return "127.0.0.1"


def _wait_until_unused(address: str, port: int) -> None:
    """Waits until no process listens. Raises OSError if another program does, or a process of ours for too long."""
    deadline = time.monotonic() + ORPHANS
    while True:
        try:
            return _bound(address, port, shared=False).close()
        except OSError:
            _bound(address, port, shared=True).close()  # raises OSError if the process that listens does not share
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK)


def _claim(address: str, port: int) -> AbstractContextManager[socket.socket | None]:
    """Claims a name that only one process can have at a time. Raises OSError if another process has it.

    Two servers that start at the same moment would both find the port unused, as neither listens yet. The name is a
    socket in the abstract namespace: like a port it belongs to a network namespace, and it ends with its socket.
    """
    if sys.platform != "linux":
        return nullcontext()
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0apiserver-gateway {address} {port} {os.getuid()}")
    except OSError:
        claim.close()
        raise
    return claim


def _bound(address: str, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address == "::":
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not socket.has_dualstack_ipv6())
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((address, port))
    except OSError:
        bound.close()
        raise
    bound.set_inheritable(True)
    return bound
