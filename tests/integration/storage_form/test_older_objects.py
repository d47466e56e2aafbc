"""Objects that were stored before some of their fields existed can be read and changed."""

from __future__ import annotations

from apiserver_gateway.testing import ApiServer
from gateway.jsontypes import dumps
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient
from tests.forked import api_server
from tests.integration.reads.api import on_etcd
from tests.integration.server.client import ask

PORT = {"port": 80, "targetPort": 80, "protocol": "TCP"}
SERVICE = {
    "kind": "Service",
    "apiVersion": "v1",
    "metadata": {"name": "old", "namespace": "default", "uid": "5bd4a5b9-0000-4000-8000-000000000001"},
    "spec": {"clusterIP": "10.0.0.77", "type": "ClusterIP", "sessionAffinity": "None", "ports": [PORT]},
    "status": {"loadBalancer": {}},
}
PATH = "/api/v1/namespaces/default/services/old"
MERGE = {"Content-Type": "application/merge-patch+json"}


def test_a_service_of_one_cluster_ip_is_shown_whole_and_takes_a_label() -> None:
    with EmbeddedEtcd() as etcd:

        async def fill(client: EtcdClient) -> None:
            await client.put(b"/registry/services/specs/default/old", dumps(SERVICE))

        on_etcd(etcd.endpoint, fill)
        with api_server(etcd_servers=etcd.endpoint) as server:
            spec = ask(server, "GET", PATH).json["spec"]
            assert (spec["clusterIPs"], spec["ipFamilies"], spec["ipFamilyPolicy"]) == (
                ["10.0.0.77"],
                ["IPv4"],
                "SingleStack",
            )
            _takes_a_label(server, spec)


def _takes_a_label(server: ApiServer, spec: object) -> None:
    patched = ask(server, "PATCH", PATH, {"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
    assert (patched.status, patched.json["spec"]) == (200, spec)
