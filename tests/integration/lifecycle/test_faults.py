"""A namespace's deletion is completed, and nothing else is deleted, whatever process ends meanwhile."""

from __future__ import annotations

import asyncio

from apiserver_gateway.testing import api_server
from gateway.jsontypes import dumps
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient
from tests.hasty import hasty
from tests.integration.crash import crash
from tests.integration.lifecycle.api import Api
from tests.integration.lifecycle.leases import DURATION, SHORT
from tests.limits import within
from tests.until import until

CONTENTS = 400
HELD = {"a", "b"}  # secrets with finalizers, so that the namespace cannot be deleted before the fault


async def fill(client: EtcdClient, api: Api) -> Api:
    """Makes a namespace to be deleted, and one to keep, with the same objects."""
    spared = Api(api.server, "spared").begin()
    for each in (api, spared):
        for name in HELD:
            each.create(name, resource="secrets", finalizers=["example.com/f"])

    async def put(each: Api, number: int) -> None:
        meta = {"name": f"o-{number}", "namespace": each.namespace, "uid": f"{each.namespace}-{number}"}
        value = dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta})
        await client.put(f"/registry/configmaps/{each.namespace}/o-{number}".encode(), value)

    await asyncio.gather(*(put(each, number) for each in (api, spared) for number in range(CONTENTS)))
    return spared


def under_way(api: Api) -> bool:
    """Whether some objects of a namespace have been deleted."""
    return len(api.names()) < CONTENTS


async def ends_well(client: EtcdClient, api: Api, spared: Api) -> None:
    """Removes the finalizers, waits until the namespace is deleted, and checks the keys in etcd."""
    until(lambda: all(api.patch(name, {"finalizers": None}, "secrets").status in (200, 404) for name in HELD))
    until(lambda: api.ask("GET", f"/api/v1/namespaces/{api.namespace}").status == 404)
    keys = [kv.key for kv in (await client.prefix(b"/registry/", keys_only=True)).kvs]
    of_namespace = [key for key in keys if f"/{api.namespace}/".encode() in key]
    assert [key for key in of_namespace if not key.startswith(b"/registry/events/")] == []
    assert spared.names() == {f"o-{number}" for number in range(CONTENTS)}
    assert spared.names("secrets") == HELD


async def test_a_namespace_ends_though_the_leader_is_killed(own_etcd: EmbeddedEtcd, own_client: EtcdClient) -> None:
    endpoint = own_etcd.endpoint
    with hasty(SHORT, etcd_servers=endpoint) as one, hasty(SHORT, etcd_servers=endpoint) as other:
        api = Api(other, "doomed").begin()
        spared = await fill(own_client, api)
        api.ask("DELETE", "/api/v1/namespaces/doomed")
        until(lambda: under_way(api))
        one.kill()
        with within(DURATION + 5):
            await ends_well(own_client, api, spared)


async def test_a_namespace_ends_though_etcd_is_killed(own_etcd: EmbeddedEtcd, own_client: EtcdClient) -> None:
    with api_server(etcd_servers=own_etcd.endpoint) as server:
        api = Api(server, "doomed").begin()
        spared = await fill(own_client, api)
        api.ask("DELETE", "/api/v1/namespaces/doomed")
        until(lambda: under_way(api))
        crash(own_etcd)
        own_etcd.start()
        until(lambda: api.ask("GET", api.path()).status == 200)
        await ends_well(own_client, api, spared)


def test_a_cascade_goes_on_when_etcd_is_back(own_etcd: EmbeddedEtcd) -> None:
    with api_server(etcd_servers=own_etcd.endpoint) as server:
        api = Api(server, "t").begin()
        owner, living = api.create("owner"), api.create("living")
        for number in range(100):
            api.create(f"child-{number}", [owner])
        kept = {f"kept-{number}" for number in range(20)}
        for name in kept:
            api.create(name, [owner, living])
        api.delete("owner", "Background")
        crash(own_etcd)
        own_etcd.start()
        until(lambda: api.ask("GET", api.path()).status == 200)
        until(lambda: api.names() == {"living", *kept})


async def test_what_comes_late_into_a_namespace_that_is_gone_goes_too(
    own_etcd: EmbeddedEtcd, own_client: EtcdClient
) -> None:
    with api_server(etcd_servers=own_etcd.endpoint) as server:
        api = Api(server, "t").begin()
        api.create("a")
        stored = await own_client.get(b"/registry/configmaps/t/a")
        assert stored is not None
        api.ask("DELETE", "/api/v1/namespaces/t")
        until(lambda: api.ask("GET", "/api/v1/namespaces/t").status == 404)
        await own_client.put(stored.key, stored.value)
        await own_client.put(b"/registry/configmaps/never/a", stored.value)
        until(lambda: not api.names())
        assert await own_client.get(b"/registry/configmaps/never/a") is not None
