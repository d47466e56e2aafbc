"""A watch in a thread of a test, as in an informer."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from apiserver_gateway.testing import ApiServer
from apiserver_gateway.testing.requests import answer

ENDED, BROKEN = {"type": "ENDED"}, {"type": "BROKEN"}


class Watching:
    """The messages of a watch: its events, ENDED when it ends, BROKEN when its connection breaks."""

    def __init__(self) -> None:
        self._events: queue.Queue[dict[str, Any]] = queue.Queue()

    def put(self, event: dict[str, Any]) -> None:
        self._events.put(event)

    def next(self, seconds: float = 60.0) -> dict[str, Any]:
        """The next event. Raises queue.Empty if none comes in time."""
        return self._events.get(timeout=seconds)

    def name(self) -> tuple[str, str]:
        """The next event's type and its object's name."""
        event = self.next()
        return event["type"], event.get("object", {}).get("metadata", {}).get("name", "")

    def is_silent(self, seconds: float = 0.3) -> bool:
        """Whether no event comes in that time."""
        try:
            self.put(self.next(seconds))
        except queue.Empty:
            return True
        return False


@contextmanager
def watching(server: ApiServer, path: str, query: str = "") -> Iterator[Watching]:
    """A watch that has begun."""
    found = Watching()
    begun = threading.Event()

    def run() -> None:
        try:
            with answer(server, "GET", f"{path}?watch=true&{query}", timeout=90) as events:
                begun.set()
                rest = b""
                while got := events.read1(1 << 16):  # unlike a loop over its lines, this tells a break from an end
                    *lines, rest = (rest + got).split(b"\n")
                    for line in lines:
                        found.put(json.loads(line))
            found.put(ENDED)
        except Exception:  # whatever broke it
            found.put(BROKEN)
        finally:
            begun.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert begun.wait(60)
    yield found
