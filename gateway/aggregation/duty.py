"""Which of the processes of a server looks whether extension servers are there: one does it for all.

Who does it has a name in the abstract namespace, which only one can have at a time, and which is free as soon as its
process has ended, however that ended.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

LOOK = 1.0  # seconds between attempts


class Duty:
    """The duty of one process. `place` is the directory that all processes of the server share, None with one."""

    def __init__(self, place: Path | None) -> None:
        self._name = None if place is None or sys.platform != "linux" else f"\0{place}/availability"
        self._claim: socket.socket | None = None

    async def taken(self) -> None:
        """Waits until it is this process' turn, which then lasts."""
        while not self._take():
            await asyncio.sleep(LOOK)

    def leave(self) -> None:
        """Ends the duty: another process may take it."""
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
