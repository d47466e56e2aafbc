"""If etcd has lost a lease, the write is repeated with a new one; the client sees no error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from gateway.endpoints.expiry import Expiry
from storage.change import Put, write_once
from storage.errors import LeaseNotFound
from storage.etcd.lease import Leases
from storage.etcd.results import LeaseGrant
from storage.protocol import Store, Swap


class Granting:
    """Grants leases 1, 2, …"""

    def __init__(self) -> None:
        self.granted = 0
        self.ttl = 0

    async def grant(self, ttl: int) -> LeaseGrant:
        self.granted += 1
        self.ttl = ttl
        return LeaseGrant(self.granted, ttl)


class Forgetful:
    """A store that has lost the leases `lost`: writes with one of them raise LeaseNotFound."""

    def __init__(self, lost: tuple[int, ...] = (1,)) -> None:
        self.lost, self.used = lost, list[int]()

    async def create(self, key: bytes, value: bytes, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        self.used.append(lease)
        if lease in self.lost:
            raise LeaseNotFound("lost")
        return 7

    async def update(self, key: bytes, value: bytes, expected: int, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        return await self.create(key, value, lease)


async def test_a_lost_lease_is_replaced_once_for_all() -> None:
    granting, store = Granting(), Forgetful()
    expiry = Expiry(cast(Leases, granting), 3600)
    puts = [Put(b"", await expiry.lease(), None, expiry.another) for _ in range(3)]
    for put in puts:
        assert (await write_once(cast(Store, store), b"k", None, put)).revision == 7
    assert granting.granted == 2 and await expiry.lease() == 2


async def test_it_is_not_tried_for_ever() -> None:
    store, expiry = Forgetful((1, 2)), Expiry(cast(Leases, Granting()), 3600)
    with pytest.raises(LeaseNotFound):
        await write_once(cast(Store, store), b"k", None, Put(b"", await expiry.lease(), None, expiry.another))
    assert store.used == [1, 2]


@pytest.mark.parametrize(("seconds", "granted"), [(3600, 3660), (600, 630), (10, 10)])
async def test_sharing_a_lease_lengthens_no_life_by_more_than_a_twentieth(seconds: int, granted: int) -> None:
    granting = Granting()
    await Expiry(cast(Leases, granting), seconds).lease()
    assert granting.ttl == granted
