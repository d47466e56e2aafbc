"""kr8s: create, list, label, watch and wait."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import kr8s
import pytest
from kr8s.asyncio.objects import ConfigMap, Deployment, Namespace

from apiserver_gateway.testing import ApiServer

PATIENCE = 60


@pytest.fixture
async def api(server: ApiServer, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """kr8s's client, in the test's namespace, which exists.

    kr8s writes the CA certificate to a temporary file and does not delete it, so that file is in `tmp_path`.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    connection = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig), namespace=namespace)
    await (await Namespace({"metadata": {"name": namespace}}, api=connection)).create()
    return connection


async def config_map(api: Any, namespace: str, name: str) -> Any:
    made = await ConfigMap({"metadata": {"name": name, "namespace": namespace}, "data": {"a": "b"}}, api=api)
    await made.create()
    return made


async def test_create_list_and_label(api: Any, namespace: str) -> None:
    for name in ("one", "two"):
        await config_map(api, namespace, name)
    first = await ConfigMap.get("one", namespace=namespace, api=api)
    await first.label({"colour": "blue"})
    assert [found.name async for found in api.get("configmaps", namespace=namespace)] == ["one", "two"]
    labelled = api.get("configmaps", namespace=namespace, label_selector={"colour": "blue"})
    assert [found.name async for found in labelled] == ["one"]


async def test_watch(api: Any, namespace: str) -> None:
    seen = []
    async with asyncio.timeout(PATIENCE):
        first = await config_map(api, namespace, "one")
        async for event, found in api.watch("configmaps", namespace=namespace):
            seen.append((event, found.name))
            if len(seen) == 1:
                await first.patch({"data": {"a": "c"}})
            elif len(seen) == 2:
                await first.delete()
            else:
                break
    assert seen == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]


async def test_scale(api: Any, namespace: str) -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    web = await Deployment({"metadata": {"name": "web", "namespace": namespace}, "spec": spec}, api=api)
    await web.create()
    # kr8s's scale() waits for pods, and no controller creates them here
    await web.patch({"spec": {"replicas": 3}}, subresource="scale")
    await web.refresh()
    assert web.replicas == 3
