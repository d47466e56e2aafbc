"""What clients see of a server that starts: when each kind of request is answered first, and whether ever wrongly."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.benchmarks.compare import Server
from tests.benchmarks.objects import TOKEN

PAUSE = 0.02  # seconds between two requests of a kind
LATER = frozenset({429, 500, 503})  # what says that it is to be asked again


@dataclass(slots=True)
class Seen:
    """Results for one path: seconds until any answer and until the first success, and the successful answers."""

    path: str
    answered: float = 0.0
    served: float = 0.0
    refusals: int = 0
    said: list[tuple[int, bytes]] = field(default_factory=list)

    def wrong(self, right: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        """The successful answers that differ from the one after the start."""
        return [each for each in self.said if (each[0], content(each[1])) != (right[0], content(right[1]))]


def content(body: bytes) -> Any:
    """The parts that must be equal in all answers: without a list's resourceVersion and continue token."""
    try:
        said = json.loads(body)
    except ValueError:
        return body
    if isinstance(said, dict) and "items" in said:
        return said["kind"], said["items"]
    return said


def ask(url: str, path: str, timeout: float = 60.0) -> tuple[int, bytes]:
    """Returns status and body. Raises OSError if no server listens."""
    host, _, port = url.removeprefix("https://").partition(":")
    connection = http.client.HTTPSConnection(host, int(port), context=ssl._create_unverified_context(), timeout=timeout)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@contextmanager
def watched(server: Server, paths: Mapping[str, str], began: float) -> Iterator[dict[str, Seen]]:
    """Requests each path again and again until the end of the block; `began` is the server's start time."""
    over, found = threading.Event(), {name: Seen(path) for name, path in paths.items()}

    def look(seen: Seen) -> None:
        while not over.wait(PAUSE):
            try:
                status, body = ask(server.url, seen.path)
            except OSError:
                continue
            now = time.monotonic() - began
            seen.answered = seen.answered or now
            if status in LATER:
                seen.refusals += 1
            else:
                seen.served = seen.served or now
                seen.said.append((status, body))

    threads = [threading.Thread(target=look, args=(each,)) for each in found.values()]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        over.set()
        for thread in threads:
            thread.join()
