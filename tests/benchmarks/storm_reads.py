"""Reads one object 50 times a second until standard input ends, then prints the seconds that each read took, as JSON.

Before that it prints a line as soon as it reads.

    python -m tests.benchmarks.storm_reads URL TOKEN PATH

A read that comes late, since all connections wait, counts from when it was due.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections import deque

from tests.benchmarks.crowd import Server
from tests.benchmarks.crowd_client import Connection, Loop

CONNECTIONS, EACH = 8, 0.02
REFUSED = 1.0  # seconds until a read that is answered 429 is repeated, as its Retry-After says


class Reads:
    """Reads on a few connections; one that breaks is made again, and a read that is refused (429) is repeated."""

    def __init__(self, loop: Loop, path: str) -> None:
        self.took = list[float]()
        self.idle = deque[Connection]()
        self._loop, self._path = loop, path
        self._again = deque[tuple[float, Connection]]()  # refused ones, and when they ask again
        loop.lost = self._lost
        for _ in range(CONNECTIONS):
            self._connect(0.0)

    def turn(self, seconds: float) -> None:
        """Waits for the next event, and handles it."""
        while self._again and self._again[0][0] <= time.monotonic():
            connection = self._again.popleft()[1]
            if connection.stream.fileno() >= 0:
                self._ask(connection, connection.began)
        self._loop.turn(seconds)

    def read(self, due: float) -> None:
        """Begins a read that was due then, on a connection that is idle."""
        self._ask(self.idle.popleft(), due)

    def _connect(self, began: float) -> None:
        connection = self._loop.connect(self._received)
        connection.request("GET", self._path)
        connection.began = began

    def _lost(self, connection: Connection) -> None:
        if connection in self.idle:
            self.idle.remove(connection)
            connection.began = 0.0
        self._connect(connection.began)

    def _ask(self, connection: Connection, began: float) -> None:
        connection.request("GET", self._path)
        connection.began = began
        try:
            self._loop.serve(connection)
        except (OSError, EOFError):
            self._loop.lose(connection)

    def _received(self, connection: Connection, data: bytes) -> None:
        match connection.answer(data):
            case 0:
                return
            case 200:
                if connection.began:
                    self.took.append(time.monotonic() - connection.began)
                self.idle.append(connection)
            case 429:
                self._again.append((time.monotonic() + REFUSED, connection))
            case status:
                raise RuntimeError(f"a read was answered {status}")


def main() -> None:
    url, token, path = sys.argv[1:]
    reads = Reads(Loop(Server(url, token).address, token), path)
    while len(reads.idle) < CONNECTIONS:
        reads.turn(1.0)
    print("reading", flush=True)
    due = time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        while reads.idle and due <= time.monotonic():
            reads.read(due)
            due += EACH
        reads.turn(max(0.0, min(EACH, due - time.monotonic())))
    print(json.dumps(reads.took))


if __name__ == "__main__":
    main()
