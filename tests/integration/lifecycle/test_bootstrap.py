"""Objects that every cluster has from its start: created through admission and validation, once, and again after a
deletion.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.server.client import ask
from tests.until import until

SERVICE = "/api/v1/namespaces/default/services/kubernetes"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
NAME = "system:basic-user"
DELETED = (SERVICE, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
WHAT = (
    "/api/v1/namespaces",
    SERVICE,
    "/api/v1/namespaces/default/endpoints/kubernetes",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
    ADDRESSES,
    "/apis/networking.k8s.io/v1/servicecidrs/kubernetes",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    BINDINGS,
)


@contextmanager
def furnished(etcd: EmbeddedEtcd) -> Iterator[ApiServer]:
    """A server that has created all of them: roles are created after the first requests are answered."""
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as server:
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        yield server


def got(server: ApiServer, path: str) -> Any:
    return ask(server, "GET", path).json


def managers(obj: Any) -> list[tuple[str, str, str]]:
    fields = obj["metadata"]["managedFields"]
    return [(each["manager"], each["operation"], each.get("subresource", "")) for each in fields]


def say_who_made_them(server: ApiServer) -> None:
    service = got(server, SERVICE)
    assert managers(service) == [("kube-apiserver", "Update", "")]
    assert service["spec"]["clusterIP"] == "10.0.0.1"
    address = got(server, f"{ADDRESSES}/10.0.0.1")
    assert managers(address) == [("kube-apiserver", "Update", "")]
    assert address["spec"]["parentRef"] == {"name": "kubernetes", "namespace": "default", "resource": "services"}
    ranges = got(server, "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
    assert managers(ranges) == [
        ("kubernetes-service-cidr-controller", "Apply", "status"),
        ("kube-apiserver", "Update", ""),
    ]
    assert ranges["status"]["conditions"][0]["type"] == "Ready"
    namespace = got(server, "/api/v1/namespaces/kube-system")
    assert (namespace["spec"], namespace["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "kube-system"}


def bind_to_another_role(server: ApiServer) -> Any:
    binding = got(server, f"{BINDINGS}/{NAME}")
    assert ask(server, "DELETE", f"{BINDINGS}/{NAME}").status == 200
    wrong = {**binding, "metadata": {"name": NAME, "labels": {"mine": "yes"}}}
    wrong["roleRef"] = {**binding["roleRef"], "name": "view"}
    assert ask(server, "POST", BINDINGS, wrong).status == 201
    return binding


def everything(server: ApiServer) -> list[Any]:
    answers = [got(server, path) for path in WHAT]
    return [obj for answer in answers for obj in answer.get("items", [answer])]


def test_what_every_cluster_has_is_made_once_and_mended() -> None:
    with EmbeddedEtcd() as etcd:
        with furnished(etcd) as server:
            say_who_made_them(server)
            made = everything(server)
        with furnished(etcd) as server:
            assert everything(server) == made, "another start writes nothing"
            binding = bind_to_another_role(server)
            uids = {path: got(server, path)["metadata"]["uid"] for path in DELETED}
            for path in DELETED:
                assert ask(server, "DELETE", path).status == 200
        with furnished(etcd) as server:
            found = got(server, f"{BINDINGS}/{NAME}")
            assert (found["roleRef"], found["subjects"]) == (binding["roleRef"], binding["subjects"])
            assert found["metadata"]["labels"] == {"mine": "yes", **binding["metadata"]["labels"]}
            assert all(got(server, path)["metadata"]["uid"] != uid for path, uid in uids.items())
            assert [each["metadata"]["name"] for each in got(server, ADDRESSES)["items"]] == ["10.0.0.1"]
