"""APIs that --runtime-config switches off have no path and are in no document; the server itself still uses them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, ServerDidNotStart
from tests.forked import api_server
from tests.integration.server.client import ask
from tests.until import until


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server(
        "--runtime-config=batch/v1=false,apps/v1/statefulsets=false,rbac.authorization.k8s.io/v1=false,autoscaling/v1=false"
    ) as made:
        until(lambda: ask(made, "GET", "/readyz").status == 200)  # the default roles exist
        yield made


NO_GROUP, NO_RESOURCE = b"404 page not found", b"the server could not find the requested resource"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/apis/batch/v1/namespaces/default/jobs", NO_GROUP),
        ("/apis/batch/v1", NO_GROUP),
        ("/apis/batch", NO_GROUP),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", NO_GROUP),
        ("/apis/apps/v1/namespaces/default/statefulsets/a", NO_RESOURCE),
        ("/apis/apps/v1/statefulsets", NO_RESOURCE),
        ("/apis/autoscaling/v1", NO_RESOURCE),
        ("/apis/autoscaling/v1/horizontalpodautoscalers", NO_RESOURCE),
    ],
)
def test_what_is_switched_off_is_not_found(server: ApiServer, path: str, said: bytes) -> None:
    """With kube-apiserver's messages: a group that is served has another 404 than one that is not."""
    answer = ask(server, "GET", path)
    assert answer.status == 404 and said in answer.body


def test_documents_do_not_tell_of_it(server: ApiServer) -> None:
    groups = {each["name"] for each in ask(server, "GET", "/apis").json["groups"]}
    assert "apps" in groups and "batch" not in groups
    named = {each["name"] for each in ask(server, "GET", "/apis/apps/v1").json["resources"]}
    assert "deployments" in named and not any(each.startswith("statefulsets") for each in named)
    paths = ask(server, "GET", "/openapi/v3").json["paths"]
    assert "apis/apps/v1" in paths and "apis/batch/v1" not in paths
    apis = ask(server, "GET", "/apis/apiregistration.k8s.io/v1/apiservices").json["items"]
    assert not any(each["metadata"]["name"] == "v1.batch" for each in apis)


def test_the_server_goes_on_with_what_it_needs(server: ApiServer) -> None:
    """The RBAC API is off: roles are still created, bound and used for decisions."""
    review = {
        "spec": {
            "user": "a",
            "groups": ["system:authenticated"],
            "nonResourceAttributes": {"path": "/version", "verb": "get"},
        }
    }
    answer = ask(server, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert answer.status == 201 and answer.json["status"]["allowed"]
    until(lambda: ask(server, "GET", "/readyz").status == 200)


def test_an_api_that_is_not_known_ends_the_start_in_a_line() -> None:
    refused = r"--runtime-config: unknown api groups example\.org/v1"
    with pytest.raises(ServerDidNotStart, match=refused), api_server("--runtime-config=example.org/v1=true"):
        pass
