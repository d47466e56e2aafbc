"""A control plane in memory goes on after work that fails."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from gateway.clusters.awake import Awake
from storage.fence import Fence


async def test_controllers_that_fail_are_begun_anew(caplog: pytest.LogCaptureFixture) -> None:
    stopping, begun = asyncio.Event(), list[object]()

    async def lead(fence: object) -> None:
        begun.append(fence)
        if len(begun) == 1:
            raise ValueError("this time")
        stopping.set()

    gateway = SimpleNamespace(stopping=stopping, controllers=SimpleNamespace(lead=lead))
    await Awake._lead(cast(Awake, SimpleNamespace(gateway=gateway)), cast(Fence, "the fence"))
    assert begun == ["the fence"] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "the controllers of a control plane failed, beginning anew"
    ]
