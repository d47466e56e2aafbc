"""Each control plane may serve a Kubernetes version of its own: kinds, fields, defaults, rules, roles and documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, Refused, ask, wait_for
from apiserver_gateway.testing.clusters import PATH
from apiserver_gateway.testing.connections import SentRequest
from gateway.controllers.bootstrap_roles import default_roles
from gateway.release.minors import DEFAULT, GIT_VERSIONS
from gateway.release.release import release_of
from tests.integration.clusters.test_life import MAPS
from tests.integration.server.client import ask as raw
from tests.until import until

PODS = "/api/v1/namespaces/default/pods"
CORE = "/openapi/v3/api/v1"
NEW_FIELD = "bindMountOptions"  # since 1.37
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def planes(server: ApiServer) -> Iterator[dict[str, Cluster]]:
    with ExitStack() as stack:
        yield {minor: stack.enter_context(server.cluster(version=minor)) for minor in GIT_VERSIONS}


@pytest.mark.parametrize("minor", GIT_VERSIONS)
def test_it_says_its_version(planes: dict[str, Cluster], minor: str) -> None:
    found = ask(planes[minor], "GET", "/version")
    assert (f"{found['major']}.{found['minor']}", found["gitVersion"]) == (minor, GIT_VERSIONS[minor])


@pytest.mark.parametrize("minor", GIT_VERSIONS)
def test_it_has_the_groups_and_roles_of_its_version(planes: dict[str, Cluster], minor: str) -> None:
    groups = {each["name"]: each["versions"] for each in ask(planes[minor], "GET", "/apis")["groups"]}
    served = {each["version"] for each in groups["resource.k8s.io"]} if "resource.k8s.io" in groups else set()
    assert served == {"v1"}
    policies = ask(planes[minor], "GET", "/apis/admissionregistration.k8s.io/v1")["resources"]
    assert ("mutatingadmissionpolicies" in {each["name"] for each in policies}) == (minor >= "1.36")
    wanted = {each.content["metadata"]["name"] for each in default_roles(release_of(minor=minor))}
    found = ask(planes[minor], "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
    assert {each["metadata"]["name"] for each in found} <= wanted
    assert ask(planes[minor], "GET", "/apis/apiregistration.k8s.io/v1/apiservices")["items"]


@pytest.mark.parametrize("minor", GIT_VERSIONS)
def test_it_has_the_fields_of_its_version(server: ApiServer, planes: dict[str, Cluster], minor: str) -> None:
    is_there = minor == DEFAULT
    schemas = ask(planes[minor], "GET", CORE)["components"]["schemas"]
    assert (NEW_FIELD in json.dumps(schemas)) == is_there
    whole = ask(planes[minor], "GET", "/openapi/v2")
    assert ((NEW_FIELD in json.dumps(whole["definitions"])), whole["info"]["version"]) == (is_there, minor)
    mount = {"name": "a", "mountPath": "/a", NEW_FIELD: ["noexec"]}
    spec = {"containers": [{"name": "c", "image": "i", "volumeMounts": [mount]}]}
    spec |= {"volumes": [{"name": "a", "emptyDir": {}}]}
    body = {"metadata": {"name": "fields"}, "spec": spec}
    path = f"/clusters/{planes[minor].name}{PODS}?fieldValidation=Strict&dryRun=All"
    strict = raw(server, "POST", path, body, token=planes[minor].token)
    assert ("unknown field" in json.dumps(strict.json)) != is_there, strict.json


@pytest.mark.parametrize("minor", GIT_VERSIONS)
def test_protobuf_has_the_objects_of_its_version(server: ApiServer, planes: dict[str, Cluster], minor: str) -> None:
    plane = planes[minor]
    ask(plane, "POST", MAPS, {"metadata": {"name": "seen"}, "data": {"a": "b"}})
    path = f"/clusters/{plane.name}{MAPS}/seen"
    found = raw(server, "GET", path, token=plane.token, headers={"Accept": PROTOBUF})
    assert found.status == 200 and found.body.startswith(b"k8s\0") and b"seen" in found.body


def change(server: ApiServer, plane: Cluster, version: str | None) -> None:
    """Gives a control plane another version; None stands for that of the server."""
    headers = {"Content-Type": "application/merge-patch+json"}
    path = f"{PATH}/{plane.name}"
    assert raw(server, "PATCH", path, {"spec": {"version": version}}, headers=headers).status == 200


def test_another_version_later_is_as_a_restart(server: ApiServer) -> None:
    with server.cluster(version="1.34") as plane:
        ask(plane, "POST", MAPS, {"metadata": {"name": "kept"}})
        uid = ask(plane, "GET", f"{MAPS}/kept")["metadata"]["uid"]
        with plane.connections.answer(plane, SentRequest("GET", f"{MAPS}?watch=true", None, plane.token), 60) as watch:
            change(server, plane, DEFAULT)
            watch.read()  # ends
        until(lambda: ask(plane, "GET", "/version")["gitVersion"] == GIT_VERSIONS[DEFAULT])
        assert ask(plane, "GET", f"{MAPS}/kept")["metadata"]["uid"] == uid
        newer = {
            each.content["metadata"]["name"] for each in default_roles(release_of()) if each.resource == "clusterroles"
        }
        roles = ask(plane, "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles")["items"]
        assert newer <= {each["metadata"]["name"] for each in roles}
        change(server, plane, None)  # that of the server
        until(lambda: ask(plane, "GET", "/version")["gitVersion"] == GIT_VERSIONS[DEFAULT])
        change(server, plane, "1.35")
        until(lambda: ask(plane, "GET", "/version")["gitVersion"] == GIT_VERSIONS["1.35"])
        assert ask(plane, "GET", f"{MAPS}/kept")["metadata"]["uid"] == uid


def test_the_root_keeps_its_own(server: ApiServer, planes: dict[str, Cluster]) -> None:
    for plane in planes.values():
        ask(plane, "GET", "/version")
    assert ask(server, "GET", "/version")["gitVersion"] == GIT_VERSIONS[DEFAULT]
    assert NEW_FIELD in json.dumps(ask(server, "GET", CORE))


def test_a_version_that_is_not_served_is_refused(server: ApiServer) -> None:
    body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "of-old"}}
    with pytest.raises(Refused, match="Unsupported value"):
        ask(server, "POST", PATH, {**body, "spec": {"version": "1.33"}})


def test_a_table_of_control_planes_shows_the_version(server: ApiServer, planes: dict[str, Cluster]) -> None:
    name = planes["1.35"].name
    wait_for(server, f"{PATH}/{name}", bool)
    path = f"{PATH}/{name}"
    table = raw(server, "GET", path, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}).json
    shown = dict(zip([each["name"] for each in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    assert shown["Version"] == "1.35"


def test_an_earlier_version_does_not_show_fields_of_a_later_one(server: ApiServer) -> None:
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    spec = {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}
    condition = {"type": "AbleToScale", "status": "True", "observedGeneration": 7}
    with server.cluster(version=DEFAULT) as plane:
        found = ask(plane, "POST", path, {"metadata": {"name": "h"}, "spec": spec})
        found = ask(plane, "PUT", f"{path}/h/status", found | {"status": {"conditions": [condition]}})
        assert found["status"]["conditions"][0]["observedGeneration"] == 7
        change(server, plane, "1.34")
        until(lambda: ask(plane, "GET", "/version")["gitVersion"] == GIT_VERSIONS["1.34"])
        shown = [ask(plane, "GET", f"{path}/h"), ask(plane, "GET", path)["items"][0]]
        assert [list(each["status"]["conditions"][0]) for each in shown] == 2 * [
            ["type", "status", "lastTransitionTime"]
        ]
        change(server, plane, DEFAULT)
        until(lambda: ask(plane, "GET", "/version")["gitVersion"] == GIT_VERSIONS[DEFAULT])
        assert ask(plane, "GET", f"{path}/h")["status"]["conditions"][0]["observedGeneration"] == 7
