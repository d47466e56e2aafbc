"""Paths and methods without a resource get 404 and 405, as from kube-apiserver's router."""

from typing import Any

import pytest

from gateway.customresources.model import model_of, resources_of
from gateway.endpoints.routing import misnamed, served_resource
from gateway.http.request_info import request_info
from gateway.http.status import StatusError
from gateway.kinds.builtin import builtin_registry

RESOURCES = builtin_registry().resources


def code(method: str, path: str, resources: Any = RESOURCES) -> int:
    info = request_info(method, path, {})
    try:
        resource = served_resource(resources, method, info)
    except StatusError as error:
        return error.code
    return 200 if misnamed(resource, info) is None else 400


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/namespaces/a/configmaps/c", 200),
        ("HEAD", "/api/v1/namespaces/a/configmaps/c", 405),
        ("OPTIONS", "/api/v1/namespaces/a/configmaps/c", 405),
        ("BREW", "/api/v1/namespaces/a/configmaps/c", 405),
        ("POST", "/api/v1/namespaces/a/configmaps/c", 405),
        ("PUT", "/api/v1/namespaces/a/configmaps", 405),
        ("PATCH", "/api/v1/namespaces/a/configmaps", 405),
        ("DELETE", "/api/v1/namespaces/a/configmaps", 200),
        ("GET", "/api/v1/configmaps", 200),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("GET", "/api/v1/configmaps/x", 404),
        ("GET", "/api/v1/namespaces/a/configmaps/c/status", 404),
        ("GET", "/api/v1/namespaces/a/nosuch", 404),
        ("GET", "/api/v1/namespaces/a/nodes", 404),
        ("GET", "/api/v1/namespaces/a/namespaces", 404),
        ("POST", "/api/v1/namespaces/a/namespaces", 404),
        ("GET", "/api/v1/namespaces/a/namespaces/a", 404),
        ("DELETE", "/api/v1/namespaces/a/namespaces/a", 404),
        ("GET", "/api/v1/watch/namespaces/a/namespaces/a", 404),
        ("GET", "/api/v1/watch/namespaces/a", 200),
        ("GET", "/api/v1/namespaces/a/namespaces/b", 404),
        ("GET", "/api/v1/nodes/n/y/z", 404),
        ("GET", "/api/v1/namespaces/a/pods/p/log/x", 404),
        ("GET", "/api/v1/nodes/n/proxy/any/path", 200),
        ("HEAD", "/api/v1/nodes/n/proxy", 200),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/api/v1/namespaces/a/status", 200),
        ("DELETE", "/api/v1/namespaces/a/status", 405),
        ("GET", "/api/v1/namespaces/a/finalize", 405),
        ("PUT", "/api/v1/namespaces/a/finalize", 200),
        ("GET", "/api/v1/namespaces/a/bindings", 405),
        ("GET", "/api/v1/namespaces/a/bindings/b", 404),
        ("GET", "/api/v1/bindings", 404),
        ("GET", "/api/v1/namespaces/a/pods/x/binding", 405),
        ("GET", "/apis/apps/v9/things", 404),
        ("GET", "/api/v1/watch/configmaps", 200),
        ("POST", "/api/v1/watch/configmaps", 405),
        ("GET", "/api/v1/watch/namespaces/a/configmaps/c", 200),
        ("GET", "/apis/apps/v1/watch/deployments/x", 404),
        ("GET", "/api/v1/watch/nodes/n", 200),
        ("GET", "/api/v1/proxy/nodes/x", 404),
        ("GET", "/api/v1//pods", 404),
        ("GET", "/api/v1/namespaces//configmaps", 200),
        ("GET", "/api/v1/namespaces//configmaps/c", 400),
        ("POST", "/api/v1/namespaces//configmaps", 400),
        ("POST", "/api/v1/namespaces//configmaps/c", 405),
        ("DELETE", "/api/v1/namespaces//configmaps", 200),
        ("DELETE", "/api/v1/namespaces//configmaps/c", 400),
        ("GET", "/api/v1/namespaces//pods/p/log", 400),
        ("GET", "/api/v1/namespaces//nodes", 404),
        ("GET", "/api/v1/namespaces/a/configmaps/a%b", 400),
        ("HEAD", "/api/v1/namespaces/a/configmaps/..", 405),
        ("OPTIONS", "/api/v1/namespaces/a/configmaps/.", 405),
        ("POST", "/api/v1/namespaces/a/configmaps/..", 405),
        ("DELETE", "/api/v1/namespaces/a/configmaps/..", 400),
        ("HEAD", "/api/v1/nodes/../proxy", 400),
        ("GET", "/api/v1/namespaces/a/configmaps/..", 400),
        ("GET", "/api/v1/namespaces/a/pods//status", 400),
        ("POST", "/api/v1/namespaces/a/pods//status", 405),
        ("GET", "/api/v1/namespaces/a/pods//status/x", 404),
        ("GET", "/api/v1/pods//status", 404),
        ("GET", "/api/v1/watch/namespaces/a/pods//status", 404),
    ],
)
def test_every_path_form_has_its_methods(method: str, path: str, expected: int) -> None:
    assert code(method, path) == expected


def definition(plural: str, scope: str) -> dict[str, Any]:
    subresources = {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": subresources}
    names = {"plural": plural, "kind": plural.title()}
    spec = {"group": "e.com", "scope": scope, "names": names, "versions": [version]}
    return {"metadata": {}, "spec": spec, "status": {"acceptedNames": names}}


def custom_resources() -> dict[tuple[str, str, str, str], Any]:
    found = {}
    for each in (definition("gads", "Namespaced"), definition("cads", "Cluster")):
        for resource in resources_of(each, model_of(each, lambda _: None)):
            found[resource.group, resource.version, resource.resource, resource.subresource] = resource
    return found


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "namespaces/a/gads/x", 200),
        ("HEAD", "namespaces/a/gads/x", 200),
        ("POST", "namespaces/a/gads/x", 200),  # the name is the body's
        ("PUT", "namespaces/a/gads", 400),
        ("OPTIONS", "namespaces/a/gads/x", 405),
        ("GET", "namespaces/a/gads/x/scale", 200),
        ("GET", "namespaces/a/gads/x/scale/y", 200),
        ("PATCH", "namespaces/a/gads/x/status/y/z", 200),
        ("GET", "namespaces/a/gads/x/status//", 200),
        ("GET", "namespaces/a/gads/x/other/y", 404),
        ("DELETE", "namespaces/a/gads/x/status/y", 405),
        ("GET", "namespaces/a/gads//status", 405),
        ("PUT", "namespaces/a/gads//status", 400),
        ("GET", "gads", 200),
        ("GET", "gads/x", 404),
        ("GET", "gads/x/status", 404),
        ("DELETE", "gads", 404),
        ("GET", "watch/gads/x", 200),
        ("POST", "watch/namespaces/a/gads", 200),
        ("GET", "watch/namespaces/a/gads/x/status", 405),
        ("GET", "proxy/namespaces/a/gads/x", 405),
        ("GET", "cads/x/scale/y", 200),
        ("GET", "namespaces/a/cads/x", 404),
        ("GET", "watch/namespaces/a/cads", 404),
    ],
)
def test_custom_objects_are_found_by_scope_and_verb_alone(method: str, path: str, expected: int) -> None:
    assert code(method, f"/apis/e.com/v1/{path}", custom_resources()) == expected
