"""The writes of a part are announced by a key, before the first one and then now and then."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from storage import fence
from storage.errors import Unavailable
from storage.fence import ANNOUNCED, Existence


class _Etcd:
    """Counts transactions; `fails` makes them fail."""

    def __init__(self) -> None:
        self.made, self.fails = list[tuple[bytes, bytes]](), False

    async def txn(self, compare: list[Any], success: list[Any]) -> Any:
        await asyncio.sleep(0)
        if self.fails:
            raise Unavailable("no answer")
        self.made.append((compare[0].key, success[0].request_put.key))
        return SimpleNamespace(succeeded=True)


async def test_many_writes_of_a_moment_are_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now, etcd = [50.0], _Etcd()
    client: Any = etcd
    monkeypatch.setattr(fence, "monotonic", lambda: now[0])
    existence = Existence(b"/part/made", b"/working/part")
    await asyncio.gather(*(existence.announce(client) for _ in range(5)))
    assert etcd.made == [(b"/part/made", b"/working/part")]
    now[0] += ANNOUNCED
    await existence.announce(client)
    assert len(etcd.made) == 2


async def test_a_write_that_could_not_be_announced_is_not_made() -> None:
    etcd = _Etcd()
    client: Any = etcd
    existence, etcd.fails = Existence(b"/part/made", b"/working/part"), True
    with pytest.raises(Unavailable):
        await existence.announce(client)
    etcd.fails = False
    await existence.announce(client)
    assert len(etcd.made) == 1


async def test_a_part_without_an_announcement_makes_none() -> None:
    etcd = _Etcd()
    client: Any = etcd
    await Existence(b"/part/made").announce(client)
    assert not etcd.made
