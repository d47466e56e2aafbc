"""Objects that were stored before some of their fields existed can be read and changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.jsontypes import dumps
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient
from tests.forked import api_server
from tests.integration.reads.api import on_etcd
from tests.integration.server.client import ask
from tests.until import until

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


NAMESPACE = "/api/v1/namespaces/default"
UID = "5bd4a5b9-0000-4000-8000-00000000000{}"
QUOTA = {
    "kind": "ResourceQuota",
    "apiVersion": "v1",
    "metadata": {"name": "old", "namespace": "default", "uid": UID.format(2)},
    "spec": {"hard": {"pods": "7500m"}},  # no whole number, which validation refuses by now
}
STORAGE = {"requests": {"storage": "3Gi"}}
CLAIM = {
    "kind": "PersistentVolumeClaim",
    "apiVersion": "v1",
    "metadata": {"name": "old", "namespace": "default", "uid": UID.format(3)},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": STORAGE, "volumeMode": "Filesystem"},
    "status": {"phase": "Pending"},
}
LATER_LIMIT = {"type": "PersistentVolumeClaim", "max": {"storage": "2Gi"}}
STORED = {"services/specs": SERVICE, "resourcequotas": QUOTA, "persistentvolumeclaims": CLAIM}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """A server whose etcd has the objects already."""
    with EmbeddedEtcd() as etcd:

        async def fill(client: EtcdClient) -> None:
            for kind, obj in STORED.items():
                await client.put(f"/registry/{kind}/default/old".encode(), dumps(obj))

        on_etcd(etcd.endpoint, fill)
        with api_server(etcd_servers=etcd.endpoint) as running:
            yield running


def test_a_service_of_one_cluster_ip_is_shown_whole_and_takes_a_label(server: ApiServer) -> None:
    spec = ask(server, "GET", PATH).json["spec"]
    assert (spec["clusterIPs"], spec["ipFamilies"], spec["ipFamilyPolicy"]) == (
        ["10.0.0.77"],
        ["IPv4"],
        "SingleStack",
    )
    _takes_a_label(server, spec)


def test_an_invalid_quota_that_is_stored_stops_no_write_of_its_namespace(server: ApiServer) -> None:
    """Kubernetes 142190: each write that the quota concerns updates its status, and is refused with it there."""
    until(lambda: ask(server, "GET", f"{NAMESPACE}/serviceaccounts/default").status == 200)
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made = ask(server, "POST", f"{NAMESPACE}/pods", pod)
    assert made.status == 201, made.body
    until(
        lambda: (
            ask(server, "GET", f"{NAMESPACE}/resourcequotas/old").json.get("status", {}).get("used") == {"pods": "1"}
        )
    )
    ended = ask(server, "PATCH", f"{NAMESPACE}/pods/p/status", {"status": {"phase": "Succeeded"}}, headers=MERGE)
    assert (ended.status, ended.json["status"]["phase"]) == (200, "Succeeded")
    until(lambda: used(server) == "0")


def used(server: ApiServer) -> str | None:
    """How many pods the quota has counted; None before the first count."""
    status = ask(server, "GET", f"{NAMESPACE}/resourcequotas/old").json.get("status") or {}
    pods: str | None = (status.get("used") or {}).get("pods")
    return pods


def test_a_claim_that_a_later_limit_forbids_takes_a_label(server: ApiServer) -> None:
    """Kubernetes 142170: what a claim requests already is judged again there."""
    limits = {"metadata": {"name": "later"}, "spec": {"limits": [LATER_LIMIT]}}
    assert ask(server, "POST", f"{NAMESPACE}/limitranges", limits).status == 201
    new = {"metadata": {"name": "new"}, "spec": CLAIM["spec"]}
    until(lambda: ask(server, "POST", f"{NAMESPACE}/persistentvolumeclaims?dryRun=All", new).status == 403)
    labels = {"metadata": {"labels": {"a": "b"}}}
    patched = ask(server, "PATCH", f"{NAMESPACE}/persistentvolumeclaims/old", labels, headers=MERGE)
    assert patched.status == 200, patched.body
    assert patched.json["spec"]["resources"] == STORAGE


def _takes_a_label(server: ApiServer, spec: object) -> None:
    patched = ask(server, "PATCH", PATH, {"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
    assert (patched.status, patched.json["spec"]) == (200, spec)
