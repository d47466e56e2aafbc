"""Processes of the server's program, which end with the one that started them."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from typing import IO


def spawn(words: Sequence[str], control: socket.socket, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Runs a command that says by `control` that it is ready, and ends when our end of that is closed."""
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[control.fileno()],
        start_new_session=True,
    )


def first_line(control: socket.socket, timeout: float) -> str:
    """What it says, "" if it ends or says nothing in so many seconds."""
    control.settimeout(timeout)
    try:
        with control.makefile("r", encoding="utf-8") as words:
            return words.readline()
    except TimeoutError:
        return ""
