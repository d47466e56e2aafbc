"""The Lease service on a real etcd."""

from __future__ import annotations

import asyncio

import pytest

from storage.etcd import DELETE, EtcdClient, LeaseNotFound


async def test_a_key_goes_with_its_lease(etcd_client: EtcdClient, prefix: bytes) -> None:
    lease = await etcd_client.leases.grant(60)
    await etcd_client.create(prefix, b"v", lease=lease.id)
    assert await etcd_client.leases.keep_alive(lease.id) == lease.ttl == 60
    async with etcd_client.watch(prefix) as watch:
        await etcd_client.leases.revoke(lease.id)
        async with asyncio.timeout(60):
            (event,) = (await anext(watch)).events
    assert event.type == DELETE
    assert await etcd_client.get(prefix) is None


async def test_a_lease_that_is_gone_is_not_renewed(etcd_client: EtcdClient) -> None:
    lease = await etcd_client.leases.grant(60)
    await etcd_client.leases.revoke(lease.id)
    with pytest.raises(LeaseNotFound):
        await etcd_client.leases.keep_alive(lease.id)
    with pytest.raises(LeaseNotFound):
        await etcd_client.leases.revoke(lease.id)
