"""A process that another one has forked for us: it is no child of ours, so a socket tells of it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time

PATIENCE = 60.0  # seconds


class Forked:
    """A server's process that a template forked: what it does of subprocess.Popen is what ApiServer asks of one."""

    def __init__(self, words: socket.socket) -> None:
        """`words` is the socket by which the template tells of it, and the server of itself."""
        self._words, self._said = words, b""
        self.pid = 0
        self.returncode: int | None = None

    def line(self, timeout: float) -> str:
        """What the server says next; "" where it ends, or says nothing in time."""
        deadline = time.monotonic() + timeout
        while (line := self._line(deadline)).startswith("pid "):
            self.pid = int(line.split()[1])
        if line.startswith("exit "):
            self.returncode = int(line.split()[1])
            return ""
        return line

    def _line(self, deadline: float) -> str:
        while b"\n" not in self._said:
            self._words.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                said = self._words.recv(4096)
            except (TimeoutError, ConnectionError):
                said = b""
            if not said:
                return ""
            self._said += said
        line, _, self._said = self._said.partition(b"\n")
        return line.decode()

    def wait(self, timeout: float = PATIENCE) -> int:
        """Waits for its end; its exit status. Raises subprocess.TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while self.returncode is None:
            if not self.line(deadline - time.monotonic()) and self.returncode is None:
                if time.monotonic() >= deadline:
                    raise subprocess.TimeoutExpired("a forked server", timeout)
                self.returncode = -signal.SIGKILL  # the template is gone, and its servers with it
        return self.returncode

    def send_signal(self, how: signal.Signals) -> None:
        """Sends a signal, if the process is there."""
        if self.returncode is None and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, how)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)
