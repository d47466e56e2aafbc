"""Files that are read anew when they change: CAs, keys, tokens, configurations. A file that has become wrong is logged
and counted, and what was read last stays in force.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds between looks

_Seen = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class Followed:
    """What is read of some files: `reload` reads them, and raises OSError or ValueError for what cannot be used."""

    what: str
    paths: tuple[Path, ...]
    reload: Callable[[], None]

    def seen(self) -> _Seen:
        """What tells one state of the files from another."""
        return tuple(map(_state, self.paths))


class Following:
    """Looks at files from time to time."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval, self._any = interval, asyncio.Event()
        self._followed: list[tuple[Followed, list[_Seen]]] = []

    def add(self, followed: Followed) -> None:
        """Follows something else from now on."""
        self._followed.append((followed, [followed.seen()]))
        self._any.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Looks until the event is set."""
        await self._any.wait()
        while not stopping.is_set():
            try:
                await asyncio.wait_for(stopping.wait(), self._interval)
            except TimeoutError:
                self.look()

    def look(self) -> None:
        """Reads anew what has changed."""
        for each, seen in self._followed:
            now = each.seen()
            if now == seen[0] or None in now:
                continue  # a file that is being replaced is looked at again
            seen[0] = now
            try:
                each.reload()
            except (OSError, ValueError) as error:
                logger.error("%s: what has changed cannot be used: %s", each.what, error)
            else:
                logger.info("%s: read anew", each.what)


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
