"""What a control plane had is free when it ends, without the garbage collector: that never looks at old objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from gateway.clusters.letting_go import let_go
from gateway.clusters.operations import OwnOperations
from gateway.launch.control_planes import probes_of
from gateway.launch.wiring import gateway_of
from gateway.requests.handler import Handler
from gateway.settings.config import Settings


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("tested", [False, True])
async def test_a_gateway_that_is_let_go_is_free(tested: bool, tmp_path: Path, uncollected: None) -> None:
    settings = Settings(etcd_servers=("http://127.0.0.1:1",), cert_dir=tmp_path, testing_api=tested)
    gateway, other = (gateway_of(replace(settings, etcd_prefix=prefix)) for prefix in ("/one", "/other"))
    operations = OwnOperations(gateway, probes_of)
    handler = Handler(gateway, operations)
    if tested:
        await _record(operations)
        for end in gateway.interposed.at_end:
            end()
    feed = gateway.feed
    await gateway.client.close()
    passed = ref(handler)
    let_go(gateway, handler)
    del gateway, handler, operations
    assert passed() is None
    assert not feed._listeners, "the feed of all control planes goes on"
    assert other.registry.resources
    assert other.services.media.negotiate(b"*/*", "get").media.name  # both have this object
    await other.client.close()


async def _record(operations: OwnOperations) -> None:
    """Makes its testing API, and begins to record."""
    said = list[Any]()

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "PUT", "path": "/testing/recorder", "query_string": b""}
    await operations(scope, receive, send)
    assert said[0]["status"] == 200
