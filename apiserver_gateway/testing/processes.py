"""Processes of the server's program, which end with the process that started them."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from typing import IO


def spawn(words: Sequence[str], control: socket.socket, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts a command. It writes to the socket `control` when it is ready, and ends when the other end is closed.

    Both standard output and standard error go to `output`.
    """
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[control.fileno()],
        start_new_session=True,
    )


def first_line(control: socket.socket, timeout: float) -> str:
    """The first line from a process; "" if it ends before, or writes no line within `timeout` seconds."""
    control.settimeout(timeout)
    try:
        with control.makefile("r", encoding="utf-8") as words:
            return words.readline()
    except TimeoutError:
        return ""
