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


def main() -> None:
    url, token, path = sys.argv[1:]
    loop, idle, took = Loop(Server(url, token).address, token), deque[Connection](), list[float]()

    def received(connection: Connection, data: bytes) -> None:
        status = connection.answer(data)
        if status:
            if connection.began:
                took.append(time.monotonic() - connection.began)
            if status != 200:
                raise RuntimeError(f"a read was answered {status}")
            idle.append(connection)

    for _ in range(CONNECTIONS):
        connection = loop.connect(received)
        connection.request("GET", path)
        connection.began = 0.0
    while len(idle) < CONNECTIONS:
        loop.turn(1.0)
    print("reading", flush=True)
    due = time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        while idle and due <= time.monotonic():
            connection = idle.popleft()
            connection.request("GET", path)
            connection.began, due = due, due + EACH
            loop.serve(connection)
        loop.turn(max(0.0, min(EACH, due - time.monotonic())))
    print(json.dumps(took))


if __name__ == "__main__":
    main()
