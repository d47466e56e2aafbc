"""The Node authorizer: a kubelet reads the objects that pods on its node refer to, and writes only its own objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import namespace
from gateway.release.minors import DEFAULT
from tests.integration.access.conftest import World
from tests.integration.server.client import ask
from tests.until import until

UNKNOWN_AUDIENCE = "is not authorized to request tokens for " + (
    "this audience" if DEFAULT == "1.36" else 'audience "bank"'
)

NODE = "node-a-token"


@pytest.fixture(scope="module")
def home(world: World) -> Iterator[str]:
    """A namespace with a pod on each of two nodes, and the objects that the pods refer to."""
    with namespace(world.server) as name:
        for node in ("a", "b"):
            world.create("/api/v1/nodes", {"metadata": {"name": node}})
            for kind in ("secrets", "configmaps"):
                world.create(f"/api/v1/namespaces/{name}/{kind}", {"metadata": {"name": f"of-{node}"}})
            world.create(f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": f"robot-{node}"}})
            assert world.create(f"/api/v1/namespaces/{name}/pods", pod(node)).status == 201
        until(lambda: world.get(f"/api/v1/namespaces/{name}/pods/pod-a", NODE).status == 200)  # by the watch cache
        yield name


def pod(node: str) -> dict[str, Any]:
    volumes = [
        {"name": "s", "secret": {"secretName": f"of-{node}"}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": f"claim-{node}"}},
    ]
    environment = [{"configMapRef": {"name": f"of-{node}"}}]
    container = {"name": "c", "image": "i", "envFrom": environment}
    spec = {"nodeName": node, "serviceAccountName": f"robot-{node}", "containers": [container], "volumes": volumes}
    return {"metadata": {"name": f"pod-{node}"}, "spec": spec}


@pytest.mark.parametrize("kind", ["secrets", "configmaps", "pods", "serviceaccounts"])
def test_it_reads_what_its_pods_name(world: World, home: str, kind: str) -> None:
    prefix = {"pods": "pod", "serviceaccounts": "robot"}.get(kind, "of")
    where = f"/api/v1/namespaces/{home}/{kind}"
    assert world.get(f"{where}/{prefix}-a", NODE).status == 200
    refused = world.get(f"{where}/{prefix}-b", NODE)
    assert refused.status == 403
    assert "no relationship found between node 'a' and this object" in refused.json["message"]
    assert world.get(where, NODE).status == 403


def test_it_lists_its_own_pods_alone(world: World, home: str) -> None:
    found = world.get("/api/v1/pods?fieldSelector=spec.nodeName%3Da", NODE).json["items"]
    assert "pod-a" in {each["metadata"]["name"] for each in found}  # other tests put pods on the node as well
    assert {each["spec"]["nodeName"] for each in found} == {"a"}
    assert world.get("/api/v1/pods?fieldSelector=spec.nodeName%3Db", NODE).status == 403
    assert world.get("/api/v1/pods?fieldSelector=spec.nodeName!%3Db", NODE).status == 403
    assert world.get("/api/v1/pods", NODE).status == 403


def test_what_a_pod_no_longer_names_is_out_of_reach(world: World, home: str) -> None:
    where = f"/api/v1/namespaces/{home}"
    world.create(f"{where}/secrets", {"metadata": {"name": "late"}})
    late = pod("a")
    late["metadata"]["name"] = "late"
    late["spec"]["volumes"] = [{"name": "s", "secret": {"secretName": "late"}}]
    assert world.get(f"{where}/secrets/late", NODE).status == 403
    assert world.create(f"{where}/pods", late).status == 201
    until(lambda: world.get(f"{where}/secrets/late", NODE).status == 200)
    assert ask(world.server, "DELETE", f"{where}/pods/late?gracePeriodSeconds=0").status == 200
    until(lambda: world.get(f"{where}/secrets/late", NODE).status == 403)


def test_it_sees_its_own_node_and_writes_no_other(world: World, home: str) -> None:
    assert world.get("/api/v1/nodes/a", NODE).status == 200
    assert "cannot read 'b', only its own Node object" in world.get("/api/v1/nodes/b", NODE).json["message"]
    assert "cannot read all nodes" in world.get("/api/v1/nodes", NODE).json["message"]
    refused = world.create("/api/v1/nodes", {"metadata": {"name": "c"}}, NODE)
    assert 'node "a" is not allowed to modify node "c"' in refused.json["message"]


def test_it_changes_no_labels_that_steer_workloads(world: World, home: str) -> None:
    def labelled(key: str) -> Any:
        kind = {"Content-Type": "application/merge-patch+json"}
        body = {"metadata": {"labels": {key: "x"}}}
        return ask(world.server, "PATCH", "/api/v1/nodes/a", body, token=NODE, headers=kind)

    assert labelled("example.org/any").status == 200
    assert labelled("topology.kubernetes.io/zone").status == 200
    for key in ("node-restriction.kubernetes.io/x", "node-role.kubernetes.io/control-plane"):
        refused = labelled(key)
        assert (refused.status, key in refused.json["message"]) == (403, True)


def test_it_makes_mirror_pods_and_nothing_else(world: World, home: str) -> None:
    where = f"/api/v1/namespaces/{home}/pods"
    refused = world.create(where, {"metadata": {"name": "plain"}, "spec": {"containers": []}}, NODE)
    assert 'node "a" can only create mirror pods' in refused.json["message"]
    uid = world.get("/api/v1/nodes/a").json["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": uid, "controller": True}
    mirror: dict[str, Any] = {
        "metadata": {
            "name": "mirror",
            "annotations": {"kubernetes.io/config.mirror": "x"},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]},
    }
    assert world.create(where, mirror, NODE).status == 201
    mirror["metadata"]["name"] = "other"
    mirror["spec"]["volumes"] = [{"name": "s", "csi": {"driver": "d"}}]
    assert "can not create pods that reference csidrivers" in world.create(where, mirror, NODE).json["message"]


def test_it_gets_tokens_for_its_pods_alone(world: World, home: str) -> None:
    def asked(node: str, kind: str = "pod", **spec: Any) -> Any:
        found = world.get(f"/api/v1/namespaces/{home}/pods/{kind}-{node}").json["metadata"]
        ref = {"apiVersion": "v1", "kind": "Pod", "name": f"{kind}-{node}", "uid": found["uid"]}
        body = {"spec": {"boundObjectRef": ref, **spec}}
        return world.create(f"/api/v1/namespaces/{home}/serviceaccounts/robot-{node}/token", body, NODE)

    assert asked("a").status == 201
    assert asked("b").status == 403
    absent = 'error validating audience "bank": persistentvolumeclaim "claim-a" not found'
    assert absent in asked("a", audiences=["bank"]).json["message"]
    bare = pod("a")
    bare["metadata"]["name"], bare["spec"]["volumes"] = "bare-a", []
    assert world.create(f"/api/v1/namespaces/{home}/pods", bare).status == 201
    refused = asked("a", "bare", audiences=["bank"])
    assert UNKNOWN_AUDIENCE in refused.json["message"]
    refused = world.create(f"/api/v1/namespaces/{home}/serviceaccounts/robot-a/token", {"spec": {}}, NODE)
    assert "node requested token not bound to a pod" in refused.json["message"]


def test_it_gets_tokens_for_the_audiences_of_its_pods_drivers(world: World, home: str) -> None:
    for name, audience in (("driver-a", "bank"), ("driver-b", "")):
        requests = [{"audience": audience}] if audience else []
        driver = {"metadata": {"name": name}, "spec": {"tokenRequests": requests}}
        assert world.create("/apis/storage.k8s.io/v1/csidrivers", driver).status == 201
    where = f"/api/v1/namespaces/{home}"

    def answer(driver: str) -> Any:
        made = pod("a")
        made["metadata"]["name"] = f"csi-{driver}"
        made["spec"]["volumes"] = [{"name": "v", "csi": {"driver": driver}}]
        uid = world.create(f"{where}/pods", made).json["metadata"]["uid"]
        ref = {"apiVersion": "v1", "kind": "Pod", "name": f"csi-{driver}", "uid": uid}
        body = {"spec": {"boundObjectRef": ref, "audiences": ["bank"]}}
        return world.create(f"{where}/serviceaccounts/robot-a/token", body, NODE)

    assert answer("driver-a").status == 201
    assert UNKNOWN_AUDIENCE in answer("driver-b").json["message"]
    assert (
        'error validating audience "bank": csidriver.storage.k8s.io "gone" not found' in answer("gone").json["message"]
    )


def test_its_lease_is_its_own(world: World, home: str) -> None:
    where = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    assert world.create(where, {"metadata": {"name": "a"}}, NODE).status == 201
    assert world.create(where, {"metadata": {"name": "b"}}, NODE).status == 403
    assert world.get(f"{where}/b", NODE).status == 403
