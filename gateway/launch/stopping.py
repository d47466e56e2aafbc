"""Stopping in any case: a small process beside the server that ends it when it was told to stop and does not.

Python runs signal handlers between two of its instructions, on its main thread. A single call that computes for long
keeps them from running, and every other thread of Python too; so who watches is a process of its own. The signal itself
wakes it: Python's C handler writes the number of each signal to a descriptor (`signal.set_wakeup_fd`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import sys
import time

_STOP = frozenset({signal.SIGTERM, signal.SIGINT})


class StopGuard:
    """Ends this process `seconds` after SIGTERM or SIGINT at the latest. To be made before there are threads."""

    def __init__(self, seconds: float) -> None:
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
        print(f"apiserver-gateway: did not stop within {seconds:g} s, killed", file=sys.stderr, flush=True)
        os.kill(pid, signal.SIGKILL)
