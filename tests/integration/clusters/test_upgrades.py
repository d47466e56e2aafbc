"""A control plane gets the default roles and APIServices of a newer version of the server when that loads it."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from apiserver_gateway.testing import Cluster, api_server, ask, wait_for
from apiserver_gateway.testing.clusters import PATH, made
from gateway.controllers.bootstrap_roles import default_roles
from gateway.release.release import release_of
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.integration.clusters.test_life import MAPS

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
KEPT = b"apiserver-gateway/roles"


def names(minor: str) -> set[str]:
    found = default_roles(release_of(minor=minor))
    return {each.content["metadata"]["name"] for each in found if each.resource == "clusterroles"}


def roles(cluster: Cluster) -> set[str]:
    cluster.connections.close()
    return {each["metadata"]["name"] for each in ask(cluster, "GET", ROLES)["items"]}


async def keys(endpoint: str, root: str) -> int:
    """How often the roles of a control plane were completed by another version."""
    async with EtcdClient(EtcdSettings(endpoints=(endpoint,), timeout=PATIENCE)) as client:
        found = await client.prefix(root.encode())
        return sum(kv.version for kv in found.kvs if kv.key.endswith(KEPT))


def test_it_gets_the_roles_of_a_newer_minor(etcd_endpoint: str) -> None:
    prefix = f"/upgrade-{uuid4().hex}"
    flags = "--control-planes", f"--etcd-prefix={prefix}"
    older, newer = "1.34", "1.37"
    with api_server(*flags, f"--kubernetes-version={older}", etcd_servers=etcd_endpoint) as server:
        cluster = made(server, "kept")
        assert names(newer) - roles(cluster), "the newer minor has other roles"
        ask(cluster, "DELETE", f"{ROLES}/system:node-problem-detector")
        ask(cluster, "DELETE", f"{SERVICES}/v1.apps")
        ask(cluster, "POST", MAPS, {"metadata": {"name": "own"}})
        certificates = server.directory
        assert asyncio.run(keys(etcd_endpoint, f"{prefix}-clusters/")) == 0, "its own version writes nothing"
    for _ in range(2):  # the second one finds that it has them
        with api_server(*flags, f"--kubernetes-version={newer}", etcd_servers=etcd_endpoint) as server:
            wait_for(server, f"{PATH}/kept", bool)
            there = Cluster(server, "kept", cluster.token, certificates / "kubeconfig-kept")
            assert names(newer) <= roles(there)
            conditions = ask(there, "GET", f"{SERVICES}/v1.apps")["status"]["conditions"]
            assert [each["status"] for each in conditions] == ["True"]
            assert ask(there, "GET", f"{MAPS}/own")
            assert asyncio.run(keys(etcd_endpoint, f"{prefix}-clusters/")) == 1
