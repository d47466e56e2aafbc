"""What a control plane had is free when it ends, without the garbage collector: that never looks at old objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
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


async def test_a_gateway_that_is_let_go_is_free(tmp_path: Path, uncollected: None) -> None:
    settings = Settings(etcd_servers=("http://127.0.0.1:1",), cert_dir=tmp_path)
    gateway, other = (gateway_of(replace(settings, etcd_prefix=prefix)) for prefix in ("/one", "/other"))
    handler = Handler(gateway, OwnOperations(gateway, probes_of))
    await gateway.client.close()
    passed = ref(handler)
    let_go(gateway, handler)
    del gateway, handler
    assert passed() is None
    assert other.registry.resources
    assert other.services.media.negotiate(b"*/*", "get").media.name  # both have this object
    await other.client.close()
