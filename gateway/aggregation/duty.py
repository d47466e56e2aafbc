"""Selects the one process of a server that checks the availability of extension API servers for all its processes.

This process binds a Unix socket to a name in the abstract namespace. Only one process can bind it. The kernel frees the
name when the process ends, even by a crash.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

LOOK = 1.0  # seconds between two attempts


class Duty:
    """The claim of one process. `place` is the directory that the server's processes share; None for one process."""

    def __init__(self, place: Path | None) -> None:
        self._name = None if place is None or sys.platform != "linux" else f"\0{place}/availability"
        self._claim: socket.socket | None = None

    async def acquire(self) -> None:
        """Waits until this process has the duty. It keeps it until `leave`."""
        while not self._take():
            await asyncio.sleep(LOOK)

    def leave(self) -> None:
        """Gives the duty up, so that another process can take it."""
        if self._claim is not None:
            self._claim.close()
            self._claim = None

    def _take(self) -> bool:
        if self._name is None or self._claim is not None:
            return True
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(self._name)
        except OSError:
            claim.close()
            return False
        self._claim = claim
        return True
