"""RequestInfo is computed from method, path and query."""

import pytest

from gateway.http.exchange import parse_query
from gateway.http.request_info import MalformedPath, RequestInfo, request_info


def info(method: str, url: str) -> RequestInfo:
    path, _, query = url.partition("?")
    return request_info(method, path, parse_query(query.encode()))


def summary(method: str, url: str) -> tuple[str, ...]:
    found = info(method, url)
    return (found.verb, found.group, found.version, found.namespace, found.resource, found.subresource, found.name)


RESOURCE_REQUESTS = [
    ("GET", "/api/v1/namespaces", ("list", "", "v1", "", "namespaces", "", "")),
    ("GET", "/api/v1/namespaces/other", ("get", "", "v1", "other", "namespaces", "", "other")),
    ("GET", "/api/v1/namespaces/other/", ("get", "", "v1", "other", "namespaces", "", "other")),
    ("GET", "/api/v1/namespaces/other/status", ("get", "", "v1", "other", "namespaces", "status", "other")),
    ("PUT", "/api/v1/namespaces/other/finalize", ("update", "", "v1", "other", "namespaces", "finalize", "other")),
    ("GET", "/api/v1/namespaces/other/pods", ("list", "", "v1", "other", "pods", "", "")),
    ("GET", "/api/v1/namespaces/other/pods/foo", ("get", "", "v1", "other", "pods", "", "foo")),
    ("HEAD", "/api/v1/namespaces/other/pods/foo", ("get", "", "v1", "other", "pods", "", "foo")),
    ("GET", "/api/v1/pods", ("list", "", "v1", "", "pods", "", "")),
    ("POST", "/api/v1/pods", ("create", "", "v1", "", "pods", "", "")),
    ("GET", "/api/v1/nodes/n", ("get", "", "v1", "", "nodes", "", "n")),
    ("GET", "/api/v1/nodes/n/proxy/a/b", ("get", "", "v1", "", "nodes", "proxy", "n")),
    ("GET", "/api/v1/namespaces/a/pods/p/log", ("get", "", "v1", "a", "pods", "log", "p")),
    ("GET", "/apis/apps/v1/deployments", ("list", "apps", "v1", "", "deployments", "", "")),
    (
        "PATCH",
        "/apis/apps/v1/namespaces/a/deployments/d/scale",
        ("patch", "apps", "v1", "a", "deployments", "scale", "d"),
    ),
    (
        "DELETE",
        "/apis/apps/v1/namespaces/a/deployments",
        ("deletecollection", "apps", "v1", "a", "deployments", "", ""),
    ),
    ("DELETE", "/apis/apps/v1/namespaces/a/deployments/d", ("delete", "apps", "v1", "a", "deployments", "", "d")),
    ("OPTIONS", "/api/v1/namespaces/a/pods", ("", "", "v1", "a", "pods", "", "")),
    ("GET", "/api/v1/watch/pods", ("watch", "", "v1", "", "pods", "", "")),
    ("GET", "/api/v1/watch/namespaces/a/pods/p", ("watch", "", "v1", "a", "pods", "", "p")),
    ("GET", "/apis/apps/v1/watch/namespaces/a/deployments", ("watch", "apps", "v1", "a", "deployments", "", "")),
    ("GET", "/api/v1/proxy/namespaces/a/pods/p", ("proxy", "", "v1", "a", "pods", "", "p")),
]


@pytest.mark.parametrize(("method", "url", "expected"), RESOURCE_REQUESTS)
def test_resource_paths_are_split_by_position(method: str, url: str, expected: tuple[str, ...]) -> None:
    assert info(method, url).is_resource
    assert summary(method, url) == expected


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/version"]
)
def test_other_paths_are_no_resource_requests(path: str) -> None:
    found = info("GET", path)
    assert (found.is_resource, found.verb, found.path) == (False, "get", path)


@pytest.mark.parametrize(
    ("query", "verb"),
    [
        ("watch=true", "watch"),
        ("watch=1", "watch"),
        ("watch=", "watch"),
        ("watch", "watch"),
        ("watch=yes", "watch"),
        ("watch=false", "list"),
        ("watch=FALSE", "list"),
        ("watch=0", "list"),
        ("", "list"),
    ],
)
def test_the_watch_parameter_makes_a_list_a_watch(query: str, verb: str) -> None:
    assert info("GET", f"/api/v1/pods?{query}").verb == verb


def test_the_watch_parameter_does_not_concern_single_objects() -> None:
    assert info("GET", "/api/v1/namespaces/a/pods/p?watch=1").verb == "get"


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("metadata.name=p", "p"),
        ("metadata.name==p", "p"),
        ("spec.nodeName=n,metadata.name=p", "p"),
        ("metadata.name!=p", ""),
        ("metadata.name=", ""),
        ("metadata.name=a/b", ""),
        ("metadata.name=..", ""),
        ("metadata.name", ""),
        ("metadata.namespace=x", ""),
    ],
)
def test_a_field_selector_can_pin_a_list_to_one_name(selector: str, name: str) -> None:
    found = info("GET", f"/api/v1/namespaces/a/pods?fieldSelector={selector}")
    assert (found.verb, found.name) == ("list", name)


@pytest.mark.parametrize("path", ["/api/v1/watch", "/api/v1/proxy", "/apis/apps/v1/watch"])
def test_a_verb_without_a_resource_is_malformed(path: str) -> None:
    with pytest.raises(MalformedPath):
        info("GET", path)
