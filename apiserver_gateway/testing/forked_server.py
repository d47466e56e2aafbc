"""A server process that a template has forked. As it is not a child of this process, a socket tells its pid and end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time

WAIT_TIMEOUT = 60.0  # seconds


class ForkedServer:
    """A server process that a template has forked. It has the methods of subprocess.Popen that ApiServer uses."""

    def __init__(self, words: socket.socket) -> None:
        """`words` is the socket to which the template and the server write lines."""
        self._words, self._said = words, b""
        self.pid = 0
        self.returncode: int | None = None

    def line(self, timeout: float) -> str:
        """The next line of the server; "" if it ends, or writes no line within `timeout` seconds."""
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

    def wait(self, timeout: float = WAIT_TIMEOUT) -> int:
        """Waits for the end of the process; returns its exit status. Raises subprocess.TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while self.returncode is None:
            if not self.line(deadline - time.monotonic()) and self.returncode is None:
                if time.monotonic() >= deadline:
                    raise subprocess.TimeoutExpired("a forked server", timeout)
                self.returncode = -signal.SIGKILL  # the template has ended, and its servers with it
        return self.returncode

    def send_signal(self, how: signal.Signals) -> None:
        """Sends a signal, if the process still runs."""
        if self.returncode is None and self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, how)

    def kill(self) -> None:
        """Kills the process."""
        self.send_signal(signal.SIGKILL)
