"""The cached route of a path skips stages; the answer is the same as to the first request of the path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.server.client import ask
from tests.until import until

# differences between two requests: the resourceVersion of a list, and so its continue token, since the server writes
# leases meanwhile; a table's ages
# meanwhile; a table's ages
CHANGES = re.compile(rb'(?<="metadata":\{)"resourceVersion":"\d+"(,"continue":"[^"]+")?|"(\d+m)?\d+s"')

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
CONNECTED = frozenset({"attach", "exec", "log", "portforward", "proxy"})  # a kubelet or a service answers these
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (f"{MAPS}/way", {}),
        (f"{MAPS}/way?resourceVersion=0", {}),
        (f"{MAPS}/way?pretty=true", {}),
        (f"{MAPS}/way", {"User-Agent": "curl/8"}),
        (f"{MAPS}/way", {"Accept": TABLE}),
        (f"{MAPS}/way", {"Accept": PROTOBUF}),
        (f"{MAPS}/way", {"Accept": "application/yaml"}),
        (f"{MAPS}/way", {"Accept": "text/html"}),
        (f"{MAPS}/way", {"Accept-Encoding": "gzip"}),
        (f"{MAPS}/way", {"Authorization": "Bearer wrong"}),
        (f"{MAPS}/way", {"Impersonate-User": "nobody"}),
        (f"{MAPS}/way", {"Impersonate-Group": "without-a-user"}),
        (f"{MAPS}/absent", {}),
        (f"{MAPS}/way?resourceVersion=wrong", {}),
        (f"{MAPS}?fieldSelector=metadata.name%3Dway", {}),
        (f"{MAPS}?limit=wrong", {}),
        ("/apis/policy/v1/poddisruptionbudgets?timeout=20s", {}),
    ],
)
def test_the_second_request_of_a_path_is_answered_as_the_first(
    server: ApiServer, path: str, headers: dict[str, str]
) -> None:
    ask(server, "POST", MAPS, {"metadata": {"name": "way"}, "data": {"key": "value"}})
    # a list of CRDs comes last: their changes clear all cached routes
    forget(server)
    first, second, third = (ask(server, "GET", path, headers=headers) for _ in range(3))
    assert seen(first) == seen(second) == seen(third)


def readable(server: ApiServer) -> Iterator[str]:
    """The path of each served list, and of one object for each resource and subresource with a GET."""
    groups = [f"/apis/{each['name']}" for each in ask(server, "GET", "/apis").json["groups"]]
    for version in ["/api/v1", *(path for group in groups for path in versions(server, group))]:
        for resource in ask(server, "GET", version).json["resources"]:
            name, _, subresource = resource["name"].partition("/")
            place = f"{version}/namespaces/default/{name}" if resource["namespaced"] else f"{version}/{name}"
            if "list" in resource["verbs"]:
                yield place
                yield f"{version}/{name}?limit=2"
            if "get" in resource["verbs"] and subresource not in CONNECTED:
                yield f"{place}/way" + (f"/{subresource}" if subresource else "")


def versions(server: ApiServer, group: str) -> list[str]:
    """The served group versions of a group, as paths."""
    return [f"/apis/{each['groupVersion']}" for each in ask(server, "GET", group).json["versions"]]


def test_each_route_answers_alike_before_and_after_it_is_remembered(server: ApiServer) -> None:
    for made in ("configmaps/kube-root-ca.crt", "serviceaccounts/default"):  # by controllers, in their time
        until(lambda made=made: ask(server, "GET", f"/api/v1/namespaces/default/{made}").status == 200)
    for role in ("admin", "edit", "view"):
        path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role}"
        until(lambda path=path: ask(server, "GET", path).json.get("rules"))
    forget(server)
    differing, count = [], 0
    for path in readable(server):
        first, second = ask(server, "GET", path), ask(server, "GET", path)
        count += 1
        if seen(first) != seen(second):
            differing.append(path)
    assert count > 150
    assert differing == []


def seen(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """The parts of an answer that do not differ between two requests."""
    headers = {key.lower(): value for key, value in answer.headers.items()}
    body = CHANGES.sub(b"", answer.body)
    if body != answer.body:
        del headers["content-length"]
    return answer.status, {key: headers[key] for key in headers if key not in ("audit-id", "date")}, body


def forget(server: ApiServer) -> None:
    """Changes a CRD, and back: that clears cached routes."""
    definition = {
        "metadata": {"name": "ways.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "ways", "singular": "way", "kind": "Way", "listKind": "WayList"},
            "scope": "Cluster",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    service = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com"
    assert ask(server, "POST", definitions, definition).status == 201
    until(lambda: ask(server, "GET", service).status == 200)
    assert ask(server, "DELETE", f"{definitions}/ways.example.com").status == 200
    for path in (f"{definitions}/ways.example.com", service, "/apis/example.com"):
        until(lambda path=path: ask(server, "GET", path).status == 404)
