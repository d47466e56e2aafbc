"""A namespace is not deleted while its contents are unknown."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from gateway.controllers.cache_sync import all_seen
from storage.errors import Unavailable
from storage.reads import Reads


def seen(*, fresh: bool) -> None:
    async def ask() -> bool:
        return fresh

    asyncio.run(all_seen(cast(Reads, SimpleNamespace(fresh=ask))))


def test_a_cache_that_is_behind_says_nothing_of_what_is_left() -> None:
    with pytest.raises(Unavailable, match="behind"):
        seen(fresh=False)
    seen(fresh=True)
