"""A small process that kills the server if it does not stop in time.

Python runs signal handlers between two instructions of its main thread. A single long call in C can block them, and all
other threads too. So the watching is done by a separate process. A signal wakes that process: Python's C handler writes
the number of each signal to a descriptor (`signal.set_wakeup_fd`).
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
    """Kills this process if it still runs `seconds` after SIGTERM or SIGINT. To be made before there are threads.

    When this process has ended, for whatever reason, the small process calls `ended`. Keep a reference to this object:
    when it is collected, its socket closes, and the small process takes that for the end of the server.
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
        """Sends each signal to the small process. To be called on the main thread, while `loop` runs there."""
        loop.add_reader(self._ours.fileno(), self._woken)
        signal.set_wakeup_fd(self._ours.fileno(), warn_on_full_buffer=False)

    def _woken(self) -> None:
        """Reads what the small process sends back. It wakes the loop, so that Python runs its signal handlers."""
        with contextlib.suppress(BlockingIOError):
            self._ours.recv(64)


def _guard(server: socket.socket, pid: int, seconds: float) -> None:
    """Runs in the small process: returns when the server has ended, or kills it `seconds` after a signal to stop."""
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
        logger.error("the server did not stop within %g s, killed", seconds)
        os.kill(pid, signal.SIGKILL)
