"""What is served of a definition is brought in step with it by one worker at a time, and the newest state wins."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.controllers.definitions import Definitions
from gateway.controllers.queue import work
from gateway.jsontypes import JsonObject
from storage.errors import Unavailable

NAME = "widgets.e.com"


def definition(version: str) -> JsonObject:
    return {
        "metadata": {"name": NAME, "uid": "u", "resourceVersion": version},
        "spec": {"group": "e.com", "names": {"plural": "widgets", "kind": "Widget"}},
    }


class Settling(Definitions):
    """Definitions of which it is told what is served, and which may be held up or fail in between."""

    def __init__(self, workers: int) -> None:
        endpoints: Any = SimpleNamespace(registry=SimpleNamespace(resources={}))
        super().__init__(endpoints, lambda _: None)
        self.served: list[str] = []
        self.under_way = self.most = 0
        self.failures = 0
        self.began, self.go_on = asyncio.Event(), asyncio.Event()
        self.worker = asyncio.create_task(work(self.queue, self._look_at, workers))

    async def _settle(self, name: str) -> None:
        seen = self._known.all[name]
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.began.set()
        await self.go_on.wait()
        self.under_way -= 1
        if self.failures:
            self.failures -= 1
            raise Unavailable("etcd is away")
        self.served.append(seen["metadata"]["resourceVersion"])

    def change(self, version: str) -> None:
        self._known.all[NAME] = definition(version)
        self._changed([NAME], 1)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("failures", [0, 1])
async def test_two_changes_of_a_definition_never_overlap(workers: int, failures: int) -> None:
    made = Settling(workers)
    made.failures = failures
    made.change("1")
    await made.began.wait()
    for version in "234":
        made.change(version)  # while the first one waits, say, for etcd
        await asyncio.sleep(0)
    assert made.under_way == 1
    made.go_on.set()
    while not made.queue.idle:
        await asyncio.sleep(0)
    assert made.most == 1
    assert made.served[-1] == "4" and made.served == sorted(made.served)
    made.worker.cancel()


async def test_it_is_ready_once_all_has_been_looked_at_that_was_stored() -> None:
    made = Settling(1)
    made.change("1")
    await made.began.wait()
    assert not made.ready.is_set()
    made.go_on.set()
    await asyncio.wait_for(made.ready.wait(), 30)
    made.worker.cancel()


async def test_it_is_ready_at_once_where_nothing_is_stored() -> None:
    made = Settling(1)
    made._changed([], 1)
    assert made.ready.is_set()
    made.worker.cancel()
