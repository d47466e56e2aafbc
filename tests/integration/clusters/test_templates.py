"""A control plane begins with the objects of another one, as they are at one revision."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, Refused, ask, condition, install, user, wait_for
from apiserver_gateway.testing.clusters import PATH, made
from gateway.clusters.definition import ANNOUNCEMENTS
from storage.etcd import EtcdClient
from tests.integration.clusters.test_isolation import account_token
from tests.integration.clusters.test_life import MAPS, ROOT, absent
from tests.integration.clusters.test_serving import WIDGETS, definition, widget
from tests.integration.server.client import ask as raw
from tests.until import until

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:heapster"
SECRETS = "/api/v1/namespaces/default/secrets"


def copy(server: ApiServer, template: str, name: str) -> dict[str, Any]:
    """Makes a control plane of a template, and returns what its administrator needs."""
    body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": name}}
    ask(server, "POST", PATH, {**body, "spec": {"template": template}})
    wait_for(server, f"{PATH}/{name}", condition("Ready"))
    found: dict[str, Any] = ask(server, "GET", f"/api/v1/namespaces/kube-system/secrets/control-plane-{name}")["data"]
    return found


def token_of(found: dict[str, Any]) -> str:
    return b64decode(found["token"]).decode()


def furnish(cluster: Cluster) -> dict[str, Any]:
    install(cluster, definition("integer"))
    ask(cluster, "POST", WIDGETS, widget(1))
    ask(cluster, "DELETE", ROLE)
    owner = ask(cluster, "POST", MAPS, {"metadata": {"name": "owner"}})["metadata"]
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}]
    ask(cluster, "POST", MAPS, {"metadata": {"name": "owned", "ownerReferences": owners}, "data": {"k": owner["uid"]}})
    ask(cluster, "POST", SECRETS, {"metadata": {"name": "kept"}, "data": {"a": "YQ=="}})
    token = {"name": "token", "annotations": {"kubernetes.io/service-account.name": "default"}}
    ask(cluster, "POST", SECRETS, {"metadata": token, "type": "kubernetes.io/service-account-token"})
    return dict(owner)


async def test_it_has_the_objects_and_no_credentials(server: ApiServer, etcd: EtcdClient) -> None:
    with server.cluster() as cluster:
        owner = furnish(cluster)
        old_token = account_token(cluster)
        name = f"{cluster.name}-copy"
        before = (await etcd.prefix(ROOT + b"templates/", keys_only=True)).kvs
        token = token_of(copy(server, cluster.name, name))
        ask(cluster, "POST", MAPS, {"metadata": {"name": "later"}})

        def get(path: str, status: int = 200) -> Any:
            found = raw(server, "GET", f"/clusters/{name}{path}", token=token)
            assert found.status == status, (path, found.body)
            return found.json

        until(lambda: raw(server, "GET", f"/clusters/{name}{WIDGETS}/w", token=token).status == 200)
        assert get(f"{WIDGETS}/w")["spec"] == {"size": 1}
        owned = get(f"{MAPS}/owned")
        assert owned["metadata"]["ownerReferences"][0]["uid"] == get(f"{MAPS}/owner")["metadata"]["uid"] != owner["uid"]
        assert get(f"{SECRETS}/kept")["data"] == {"a": "YQ=="}
        for path in (
            f"{SECRETS}/token",
            f"{MAPS}/later",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:heapster",
        ):
            get(path, 404)
        assert raw(server, "GET", f"/clusters/{name}{MAPS}", token=old_token).status == 401
        assert raw(server, "GET", f"/clusters/{name}{MAPS}", token=cluster.token).status == 401
        uses = ROOT + b"templates/uses/"
        assert (await etcd.prefix(uses, count_only=True)).count == 1
        ask(server, "DELETE", f"{PATH}/{name}")
        until(lambda: absent(server, name))
        assert (await etcd.prefix(uses, count_only=True)).count == 0
        assert (await etcd.prefix(ROOT + b"templates/", keys_only=True)).kvs == before, "those of the default objects"


async def test_a_copy_stays_when_its_template_is_deleted(server: ApiServer) -> None:
    cluster = made(server)
    ask(cluster, "POST", MAPS, {"metadata": {"name": "mine"}})
    name = f"{cluster.name}-copy"
    token = token_of(copy(server, cluster.name, name))
    cluster.delete()
    until(lambda: absent(server, cluster.name))
    assert raw(server, "GET", f"/clusters/{name}{MAPS}/mine", token=token).status == 200
    ask(server, "DELETE", f"{PATH}/{name}")


def test_a_template_that_is_missing_is_told_and_awaited(server: ApiServer) -> None:
    body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "waits"}}
    ask(server, "POST", PATH, {**body, "spec": {"template": "comes-later"}})

    def told(obj: dict[str, Any]) -> bool:
        return any(each["reason"] == "NoTemplate" for each in (obj.get("status") or {}).get("conditions", ()))

    found = wait_for(server, f"{PATH}/waits", told)
    with pytest.raises(Refused, match="the template cannot be changed"):
        ask(server, "PUT", f"{PATH}/waits", {**found, "spec": {"template": "other"}})
    with server.cluster("comes-later"):
        wait_for(server, f"{PATH}/waits", condition("Ready"))
    ask(server, "DELETE", f"{PATH}/waits")


@pytest.mark.parametrize("ends", [True, False])
async def test_the_end_of_a_copied_namespace_is_announced(server: ApiServer, etcd: EtcdClient, ends: bool) -> None:
    """The controllers of a copy run, even if no request has reached the copy."""
    with server.cluster() as cluster:
        ask(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
        ask(cluster, "POST", "/api/v1/namespaces/team/configmaps", {"metadata": {"name": "a", "finalizers": ["a.b/c"]}})
        if ends:
            ask(cluster, "DELETE", "/api/v1/namespaces/team")
        name = f"{cluster.name}-copy"
        copy(server, cluster.name, name)
        uid = ask(server, "GET", f"{PATH}/{name}")["metadata"]["uid"]
        assert (await etcd.get(ROOT + ANNOUNCEMENTS + uid.encode()) is not None) is ends
        ask(server, "DELETE", f"{PATH}/{name}")
        until(lambda: absent(server, name))
        assert await etcd.get(ROOT + ANNOUNCEMENTS + uid.encode()) is None


MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


@pytest.mark.parametrize("how", ["create", "update", "apply"])
def test_a_template_is_copied_for_users_who_may_change_it(server: ApiServer, one: Cluster, how: str) -> None:
    """Others would read its Secrets: they may name themselves as administrators of the copy."""
    name = f"copier-{how}"
    planes = {"apiGroups": ["apiserver-gateway.dev"], "resources": ["controlplanes"]}
    own = {**planes, "verbs": ["update", "patch", "delete"], "resourceNames": [name]}
    token = user(server, name, rules=[{**planes, "verbs": ["create", "get", "list"]}, own]).token
    body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": name}}
    spec = {"template": one.name, "admins": {"users": [name]}}
    if how != "create":
        assert raw(server, "POST", PATH, {**body, "spec": {}}, token=token).status == 201
    copied = {
        "create": ("POST", PATH, {**body, "spec": spec}, "application/json"),
        "update": ("PATCH", f"{PATH}/{name}", {"spec": spec}, MERGE),
        "apply": ("PATCH", f"{PATH}/{name}?fieldManager=m&force=true", {**body, "spec": spec}, APPLY),
    }
    method, path, content, media_type = copied[how]
    found = raw(server, method, path, content, token=token, headers={"Content-Type": media_type})
    assert found.status == 403
    assert f'user not permitted to update the template "{one.name}"' in found.json["message"]
    if how != "create":
        assert raw(server, "DELETE", f"{PATH}/{name}", token=token).status == 200
