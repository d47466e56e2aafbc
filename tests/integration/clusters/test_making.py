"""The objects that all control planes begin with are made by one process, or whole by none."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import default_objects as default_objects_module
from gateway.clusters.default_objects import clear, default_objects
from gateway.clusters.templates import ClusterTemplate
from storage.errors import StorageError
from storage.etcd import EtcdClient
from storage.fence import Fence
from storage.leading import Leading
from tests.conftest import PATIENCE


class _Scratch:
    """A part in which nothing is made but what the test does meanwhile."""

    def __init__(self, client: EtcdClient, root: bytes, meanwhile: Any) -> None:
        endpoints = SimpleNamespace(registry=SimpleNamespace(groups={}))
        cache, self._meanwhile = _Cache(root), meanwhile
        store = SimpleNamespace(reads=SimpleNamespace(fresh=self._fresh))
        self.database = SimpleNamespace(client=client, cache=cache, store=store)
        self.gateway = SimpleNamespace(endpoints=endpoints, settings=SimpleNamespace(controllers=()))

    async def begin(self) -> None: ...

    async def end(self) -> None: ...

    def lead(self, fence: object) -> None: ...

    async def _fresh(self) -> bool:
        await self._meanwhile()
        return True


class _Cache(list[Any]):
    """A cache without resources."""

    def __init__(self, root: bytes) -> None:
        super().__init__()
        self.root = root


@pytest.fixture(autouse=True)
def nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> bool:
        return True

    for name in ("bootstrap", "bootstrap_roles", "_controlled"):
        monkeypatch.setattr(default_objects_module, name, nothing)
    monkeypatch.setattr(
        default_objects_module, "BootstrapObjects", lambda _: SimpleNamespace(create_missing=nothing, refused=set())
    )
    monkeypatch.setattr(default_objects_module, "wanted", lambda _: ())


async def made(client: EtcdClient, root: bytes, meanwhile: Any) -> ClusterTemplate:
    template, has_roles = await default_objects(
        cast(Any, _Scratch(client, root, meanwhile)), await leading(client, root)
    )
    assert has_roles
    return template


async def leading(client: EtcdClient, root: bytes) -> Leading:
    """What a leader writes with. Its lease is beside the root."""
    fence = Fence(b"/lease" + root, lambda _: True)
    fence.revision = (await client.put(fence.key, b"")).revision
    return Leading(client, fence)


async def removed(client: EtcdClient, root: bytes) -> None:
    await clear(await leading(client, root), root)


async def test_objects_that_another_process_removes_are_no_template(etcd_client: EtcdClient, prefix: bytes) -> None:
    with pytest.raises(StorageError, match="another process has removed"):
        await made(etcd_client, prefix, lambda: removed(etcd_client, prefix))


async def test_two_processes_at_once_leave_whole_objects(etcd_client: EtcdClient, prefix: bytes) -> None:
    """The one that began first fails, and removes nothing of the other one."""
    first_goes_on, second_began = asyncio.Event(), asyncio.Event()

    async def first_waits() -> None:
        await first_goes_on.wait()

    async def second_waits() -> None:
        second_began.set()
        await asyncio.wait([first])

    first = asyncio.create_task(made(etcd_client, prefix, first_waits))
    async with asyncio.timeout(PATIENCE):
        while not (await etcd_client.prefix(prefix, count_only=True)).count:
            await asyncio.sleep(0)
    second = asyncio.create_task(made(etcd_client, prefix, second_waits))
    await second_began.wait()
    first_goes_on.set()
    found = await asyncio.gather(first, second, return_exceptions=True)
    assert isinstance(found[0], StorageError) and isinstance(found[1], ClusterTemplate)
    assert not (await etcd_client.prefix(prefix, count_only=True)).count
