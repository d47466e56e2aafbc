"""Ports for programs that have to be told one, and begin to listen on it later."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

_TAKEN: list[socket.socket] = []  # by this process, as long as it lives

# Below those that the kernel gives to whoever connects or asks for any: none of these takes one meanwhile.
LOWEST, HIGHEST = 12_000, 29_000


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, and that nobody else is given: not by this function in another process.

    The sign of that is the port of the same number for datagrams, which the process keeps.
    """
    with ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            port = random.SystemRandom().randrange(LOWEST, HIGHEST)
            taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                taken.bind(("127.0.0.1", port))
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                taken.close()
                continue
            _TAKEN.append(taken)
            found.append(port)
        return found
