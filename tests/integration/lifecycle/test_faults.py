"""Nothing is left behind, and nothing that lives is deleted, whatever ends in between."""

from __future__ import annotations

from gateway.testing import api_server
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.integration.lifecycle.api import Api, until


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
        own_etcd.kill()
        own_etcd.start()
        until(lambda: api.ask("GET", api.path()).status == 200)
        until(lambda: api.names() == {"living", *kept})


async def test_what_comes_late_into_a_namespace_that_is_gone_goes_too(own_etcd: EmbeddedEtcd) -> None:
    with api_server(etcd_servers=own_etcd.endpoint) as server:
        api = Api(server, "t").begin()
        api.create("a")
        async with EtcdClient(EtcdSettings((own_etcd.endpoint,))) as client:
            stored = await client.get(b"/registry/configmaps/t/a")
            assert stored is not None
            api.ask("DELETE", "/api/v1/namespaces/t")
            until(lambda: api.ask("GET", "/api/v1/namespaces/t").status == 404)
            await client.put(stored.key, stored.value)
            await client.put(b"/registry/configmaps/never/a", stored.value)
            until(lambda: not api.names(), 10)
            assert await client.get(b"/registry/configmaps/never/a") is not None
