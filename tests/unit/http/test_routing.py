"""Paths and methods that no resource serves are 404 and 405, as kube-apiserver's router has them."""

import pytest

from gateway.endpoints.routing import served_resource
from gateway.http.request_info import request_info
from gateway.http.status import StatusError
from gateway.kinds.builtin import builtin_registry

RESOURCES = builtin_registry().resources


def code(method: str, path: str) -> int:
    try:
        served_resource(RESOURCES, method, request_info(method, path, {}))
    except StatusError as error:
        return error.code
    return 200


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
        ("DELETE", "/api/v1/namespaces//configmaps", 400),
        ("GET", "/api/v1/namespaces//pods/p/log", 400),
        ("GET", "/api/v1/namespaces//nodes", 404),
        ("GET", "/api/v1/namespaces/a/configmaps/a%b", 400),
        ("HEAD", "/api/v1/namespaces/a/configmaps/..", 405),
        ("OPTIONS", "/api/v1/namespaces/a/configmaps/.", 405),
        ("POST", "/api/v1/namespaces/a/configmaps/..", 405),
        ("DELETE", "/api/v1/namespaces/a/configmaps/..", 400),
        ("HEAD", "/api/v1/nodes/../proxy", 400),
        ("GET", "/api/v1/namespaces/a/configmaps/..", 400),
    ],
)
def test_every_path_form_has_its_methods(method: str, path: str, expected: int) -> None:
    assert code(method, path) == expected
