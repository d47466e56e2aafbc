"""Tells a service manager that the server is ready, and that it stops (sd_notify(3))."""

from __future__ import annotations

import contextlib
import os
import socket

READY, STOPPING = "READY=1", "STOPPING=1"


def notify(state: str) -> None:
    """Sends a message to systemd, if its socket is named in the environment (NOTIFY_SOCKET). Errors are ignored."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if place[:1] not in ("/", "@"):
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.connect(f"\0{place[1:]}" if place[0] == "@" else place)  # @ is the abstract namespace
        manager.send(state.encode())
