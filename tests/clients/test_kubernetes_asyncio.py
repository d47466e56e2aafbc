"""kubernetes_asyncio: create, list and watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kubernetes_asyncio import client, config, watch

from apiserver_gateway.testing import ApiServer

PATIENCE = 60


@pytest.fixture
async def core(server: ApiServer, namespace: str) -> AsyncIterator[Any]:
    """The client of the core group, in the test's namespace, which exists."""
    await config.load_kube_config(str(server.kubeconfig))
    async with client.ApiClient() as connection:
        api: Any = client.CoreV1Api(connection)
        await api.create_namespace({"metadata": {"name": namespace}})
        yield api


async def test_create_and_list(core: Any, namespace: str) -> None:
    names = [f"map-{number}" for number in range(10)]
    await asyncio.gather(
        *(core.create_namespaced_config_map(namespace, {"metadata": {"name": name}}) for name in names)
    )
    found = await core.list_namespaced_config_map(namespace)
    assert [item.metadata.name for item in found.items] == names


async def test_watch(core: Any, namespace: str) -> None:
    start = (await core.list_namespaced_config_map(namespace)).metadata.resource_version
    seen = []
    async with asyncio.timeout(PATIENCE), watch.Watch() as watching:
        events = watching.stream(core.list_namespaced_config_map, namespace, resource_version=start)
        await core.create_namespaced_config_map(namespace, {"metadata": {"name": "one"}})
        await core.delete_namespaced_config_map("one", namespace)
        async for event in events:
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 2:
                break
    assert seen == [("ADDED", "one"), ("DELETED", "one")]
