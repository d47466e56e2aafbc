"""A small process that kills the server if it does not stop in time.

Python runs signal handlers between two instructions of its main thread. A single long call in C blocks them, and all
other threads too; so the watching is done by a process of its own. The signal wakes it: Python's C handler writes the
number of each signal to a descriptor (`signal.set_wakeup_fd`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import signal
import socket
import time
from collections.abc import Callable

logger = logging.getLogger("gateway")

_STOP = frozenset({signal.SIGTERM, signal.SIGINT})


class StopGuard:
    """Ends this process `seconds` after SIGTERM or SIGINT at the latest. To be made before there are threads.

    `ended` is called in the small process when this one has ended, however that came about: or this object, which is to
    be kept.
    """

    def __init__(self, seconds: float, ended: Callable[[], object] = lambda: None) -> None:
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        server = os.getpid()
        if os.fork():
            theirs.close()
            return
        status = 1
        try:
            self._ours.close()
            _guard(theirs, server, seconds)
            ended()
            status = 0
        finally:
            os._exit(status)

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins. To be called on the main thread, while `loop` runs there."""
        loop.add_reader(self._ours.fileno(), self._woken)
        signal.set_wakeup_fd(self._ours.fileno(), warn_on_full_buffer=False)

    def _woken(self) -> None:
        """The guard sends back what it was told, so that the loop turns and Python gets to its handlers."""
        with contextlib.suppress(BlockingIOError):
            self._ours.recv(64)


def _guard(server: socket.socket, pid: int, seconds: float) -> None:
    """Waits for the server's end, or for it to be told to end."""
    for sig in (*_STOP, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    deadline: float | None = None
    while True:
        patience = None if deadline is None else max(deadline - time.monotonic(), 0)
        if not select.select([server], [], [], patience)[0]:
            break
        told = server.recv(64)
        if not told:
            return
        with contextlib.suppress(OSError):
            server.send(told, socket.MSG_DONTWAIT)
        if deadline is None and not _STOP.isdisjoint(told):
            deadline = time.monotonic() + seconds
    if os.getppid() == pid:
        logger.error("did not stop within %g s, killed", seconds)
        os.kill(pid, signal.SIGKILL)
