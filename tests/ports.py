"""Free ports for programs that must be told their port before they listen on it."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

_TAKEN: list[socket.socket] = []  # reserved by this process, as long as it lives

# Below the kernel's range of ephemeral ports, so that no other program gets one of them meanwhile.
LOWEST, HIGHEST = 12_000, 29_000


def free_ports(count: int) -> list[int]:
    """Loopback ports that no process listens on, and that this function returns to no other process.

    A UDP socket with the same port number, which the process keeps open, reserves the port.
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
