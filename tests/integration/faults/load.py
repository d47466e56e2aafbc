"""Clients that write, read and watch during a fault, and record the answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from types import TracebackType

from tests.integration.reads.api import PATIENCE, Client, Seen, Watch
from tests.integration.server.client import Answer
from tests.limits import Withheld, at_most

AGAIN = 0.1  # seconds until a refused client tries again: a starting server needs the CPU


@dataclass(slots=True)
class Told:
    """The answers to all clients together. `news` is notified of every answer."""

    acknowledged: dict[str, int] = field(default_factory=dict)  # name -> the last number whose write was acknowledged
    revisions: set[int] = field(default_factory=set)  # of acknowledged writes
    refusals: list[Answer] = field(default_factory=list)
    broken: int = 0  # requests without an answer
    answers: int = 0
    slowest: float = 0.0  # of reads: a read may wait for a write that etcd has stored
    news: threading.Condition = field(default_factory=threading.Condition)
    withheld: Withheld = field(default_factory=Withheld)  # for the slowest read

    def wait(self, until: Callable[[], bool]) -> None:
        with self.news:
            assert self.news.wait_for(until, PATIENCE), "nothing of the kind in time"

    def more_acknowledgements(self) -> None:
        """Waits until every writer has ten more acknowledged writes."""
        wanted = {name: number + 10 for name, number in self.acknowledged.items()}
        self.wait(lambda: all(self.acknowledged[name] >= number for name, number in wanted.items()))


class Load:
    """Writers and readers of a namespace. At the end of the block they stop, and their errors are raised."""

    def __init__(self, client: Client, writers: int = 3) -> None:
        self.told = Told({f"w{number}": -1 for number in range(writers)})
        self._client = client
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(2 * writers)
        self._work: list[Future[None]] = []

    def __enter__(self) -> Told:
        for name in self.told.acknowledged:
            self._work += [self._pool.submit(self._write, name), self._pool.submit(self._read, name)]
        self.told.more_acknowledgements()
        return self.told

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._pool.shutdown()
        for work in self._work:
            work.result()

    def _ask(self, client: Client, method: str, path: str, body: object = None) -> Answer | None:
        told, began = self.told, time.monotonic()
        try:
            answer = client.ask(method, path, body)
        except (OSError, HTTPException):
            with told.news:
                told.broken += 1
                told.news.notify_all()
            time.sleep(AGAIN)
            return None
        with told.news:
            told.answers += 1
            if method == "GET":
                told.slowest = max(told.slowest, time.monotonic() - began)
            if answer.status >= 500:
                told.refusals.append(answer)
            told.news.notify_all()
        return answer

    def _write(self, name: str) -> None:
        """Counts up. A number whose write had no answer is not used again."""
        client, number, created = self._client.on(self._client.server), 0, False
        while not self._stop.is_set():
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": str(number)}}
            method, path = ("PUT", f"{client.path}/{name}") if created else ("POST", client.path)
            answer = self._ask(client, method, path, body)
            if answer is not None and answer.status in (200, 201):
                with self.told.news:
                    self.told.acknowledged[name] = number
                    self.told.revisions.add(int(answer.json["metadata"]["resourceVersion"]))
                    self.told.news.notify_all()
            created = created or (answer is not None and answer.status in (201, 409))
            number += 1
        client.close()

    def _read(self, name: str) -> None:
        """A read must show every write that was acknowledged before the read began."""
        client = self._client.on(self._client.server)
        while not self._stop.is_set():
            known = self.told.acknowledged[name]
            answer = self._ask(client, "GET", f"{client.path}/{name}")
            if answer is not None and known >= 0 and answer.status != 429 and answer.status < 500:  # 429: it starts
                assert answer.status == 200 and int(answer.json["data"]["n"]) >= known, (known, answer.body)
        client.close()


@contextmanager
def watching(client: Client, revision: int, last: str) -> Iterator[Future[tuple[list[Seen], int]]]:
    """Watches the namespace from a revision until an object named `last` appears, and resumes when the stream breaks.
    The result is the events, and the number of resumptions. The watch has begun when the block begins.
    """
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(_follow, client, revision, last, begun)
        assert begun.wait(PATIENCE)
        yield following


def _follow(client: Client, revision: int, last: str, begun: threading.Event) -> tuple[list[Seen], int]:
    seen: list[Seen] = []
    resumed = -1
    deadline = time.monotonic() + 3 * PATIENCE
    while time.monotonic() < deadline:
        with suppress(OSError, HTTPException), client.watch(f"resourceVersion={revision}&timeoutSeconds=600") as watch:
            if watch.response.status in (429, 503, 504):  # the server was restarted, and has not seen that revision yet
                continue
            assert watch.response.status == 200, watch.response.read()
            resumed += 1
            begun.set()
            for event in _events(watch):
                seen.append(event)
                revision = event[2]
                if event[1] == last:
                    return seen, resumed
    raise AssertionError(f"{last} was not seen; the last was {seen[-1:]}")


def _events(watch: Watch) -> Iterator[Seen]:
    while line := watch.response.readline():
        event = json.loads(line)
        assert event["type"] != "ERROR", event
        metadata = event["object"]["metadata"]
        yield event["type"], metadata["name"], int(metadata["resourceVersion"])


def check_events(seen: list[Seen], told: Told) -> None:
    """The events are in order, none comes twice, and every acknowledged write is among them."""
    revisions = [revision for _, _, revision in seen]
    assert revisions == sorted(set(revisions))
    assert told.revisions <= set(revisions)


def check_answers(told: Told) -> None:
    """The only errors are 503 and 504 with a Status, and no read waited for more than ten seconds.

    All have Retry-After, except answers to writes that may have been stored: a retry would write twice.
    """
    for answer in told.refusals:
        assert (answer.status in (503, 504), answer.json["kind"]) == (True, "Status"), answer.body
        unknown = "whether it was done" in answer.json["message"]
        assert unknown or int(answer.headers["retry-after"]) > 0
        assert not (unknown and ("retry-after" in answer.headers or "retryAfterSeconds" in answer.json["details"]))
    at_most(told.slowest, 10 + told.withheld.until_now())
