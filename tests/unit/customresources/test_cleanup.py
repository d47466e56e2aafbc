"""The deletion of a CRD's objects while the CRD's served versions change."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from gateway.customresources import cleanup
from gateway.endpoints.table import EndpointTable


@dataclass
class Cache:
    """A cache whose objects are held by their finalizers, until it is closed by what happens elsewhere."""

    keys: list[bytes]
    closed: bool = False
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    waiters: list[asyncio.Future[None]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.keys)

    def all_keys(self) -> list[bytes]:
        return self.keys

    def changes(self) -> asyncio.Future[None]:
        self.waiters.append(asyncio.get_running_loop().create_future())
        self.waiting.set()
        return self.waiters[-1]

    def forget(self, waiter: object) -> None:
        """Nobody waits any more."""

    def close(self) -> None:
        self.closed = True
        for waiter in self.waiters:
            waiter.set_result(None)


@dataclass
class Served:
    """The served resource: its newest cache, or none."""

    caches: list[Cache]

    def resource(self) -> Any:
        return "ponds" if self.caches else None

    def of_resource(self, resource: str) -> Any:
        if not self.caches:
            raise KeyError(resource)
        return type("Endpoint", (), {"cache": self.caches[-1]})


async def delete_during(monkeypatch: pytest.MonkeyPatch, served: Served, new: list[Cache]) -> list[bytes]:
    """Deletes the objects of `served`, whose caches change to `new` meanwhile. Returns the keys of the deletions."""
    asked: list[bytes] = []

    async def delete(endpoint: Any, key: bytes) -> None:
        asked.append(key)

    monkeypatch.setattr(cleanup, "_delete", delete)
    (cache,) = served.caches
    deleting = asyncio.ensure_future(cleanup._delete_instances(cast(EndpointTable, served), served.resource))
    await cache.waiting.wait()
    served.caches = new
    cache.close()
    async with asyncio.timeout(30):
        await deleting
    return asked


async def test_what_is_served_no_more_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await delete_during(monkeypatch, Served([Cache([b"a"])]), []) == [b"a"]


async def test_what_is_served_otherwise_is_looked_at_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await delete_during(monkeypatch, Served([Cache([b"a"])]), [Cache([])]) == [b"a"]
