"""What every server answers about itself, and how it refuses."""

from __future__ import annotations

import json

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.server.client import ask

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_answers_carry_the_standard_headers(server: ApiServer) -> None:
    answer = ask(server, "GET", "/api/v1/namespaces/default", headers={"Audit-ID": "mine"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert (answer.headers["cache-control"], answer.headers["audit-id"]) == ("no-cache, private", "mine")
    assert "date" in answer.headers and "server" not in answer.headers


@pytest.mark.parametrize("path", ["/nosuch", "/apis/nosuch.example.com/v1/things", "/healthz/", "/readyz/nosuch"])
def test_paths_of_nobody_are_not_found_as_text(server: ApiServer, path: str) -> None:
    answer = ask(server, "GET", path)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/api/v2", "/apis/apps/v9/things", "/api/v1/namespaces/a/nosuch"])
def test_paths_below_a_served_group_are_not_found_as_status(server: ApiServer, path: str) -> None:
    answer = ask(server, "GET", path)
    assert answer.json["message"] == "the server could not find the requested resource"


@pytest.mark.parametrize("method", ["BREW", "get", "HEAD", "TRACE"])
def test_methods_that_nothing_serves_are_not_allowed(server: ApiServer, method: str) -> None:
    assert ask(server, method, "/api/v1/namespaces/default").status == 405


def test_a_path_with_a_bad_escape_is_refused(server: ApiServer) -> None:
    answer = ask(server, "GET", "/api/v1/namespaces/%zz")
    assert (answer.status, answer.headers["content-type"]) == (400, "text/plain; charset=utf-8")


def test_health_can_be_seen_check_by_check(server: ApiServer) -> None:
    assert ask(server, "GET", "/livez", token=None).body == b"ok"
    assert ask(server, "GET", "/readyz/etcd").body == b"ok"
    text = ask(server, "GET", "/readyz?verbose&exclude=etcd&exclude=nosuch").body.decode()
    assert "[+]etcd excluded: ok\n" in text and "[+]informer-sync ok\n" in text
    assert text.endswith('no matches for "nosuch"\nreadyz check passed\n')


def test_version_is_that_of_the_api(server: ApiServer) -> None:
    version = ask(server, "GET", "/version", token=None).json
    assert (version["gitVersion"], version["major"], version["minor"]) == ("v1.36.3", "1", "36")


def test_strangers_are_refused_and_anonymous_may_read_what_is_public(server: ApiServer) -> None:
    refused = ask(server, "GET", "/api", token="wrong")
    assert (refused.status, refused.json["message"]) == (401, "Unauthorized")
    forbidden = ask(server, "GET", "/api", token=None)
    assert (forbidden.status, forbidden.headers["x-content-type-options"]) == (403, "nosniff")


def test_aggregated_discovery_is_sent_once(server: ApiServer) -> None:
    first = ask(server, "GET", "/apis", headers={"Accept": AGGREGATED})
    assert (first.json["kind"], first.headers["content-type"]) == ("APIGroupDiscoveryList", AGGREGATED)
    again = ask(server, "GET", "/apis", headers={"Accept": AGGREGATED, "If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_root_lists_the_paths(server: ApiServer) -> None:
    paths = ask(server, "GET", "/").json["paths"]
    assert {"/api", "/apis/", "/apis/apps/v1", "/readyz/shutdown", "/metrics"} <= set(paths)


def test_what_every_cluster_has_is_there(server: ApiServer) -> None:
    namespaces = {each["metadata"]["name"] for each in ask(server, "GET", "/api/v1/namespaces").json["items"]}
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= namespaces
    service = ask(server, "GET", "/api/v1/namespaces/default/services/kubernetes").json
    assert service["spec"]["clusterIP"] == "10.0.0.1"
    range_ = ask(server, "GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes").json
    assert [each["operation"] for each in range_["metadata"]["managedFields"]] == ["Apply", "Update"]
    assert [(each["type"], each["status"]) for each in range_["status"]["conditions"]] == [("Ready", "True")]
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
    assert ask(server, "GET", slices).json["ports"][0]["port"] == server.port
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"
    assert ask(server, "GET", classes).json["value"] == 2000001000


def test_the_kubeconfig_leads_to_the_server(server: ApiServer) -> None:
    config = json.loads(server.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == server.url
    assert config["users"][0]["user"]["token"] == server.token
    assert server.kubeconfig.stat().st_mode & 0o077 == 0


PROTO_2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


@pytest.mark.parametrize(
    ("path", "accept", "status", "content_type"),
    [
        ("/version", "application/yaml", 406, "application/yaml"),
        ("/version", "text/html", 406, "application/json"),
        ("/version", "text/html, */*", 200, "application/json"),
        ("/openapi/v2", "text/html", 406, None),
        ("/openapi/v2", "", 200, "application/json"),
        ("/openapi/v2", f"application/json;q=0.1, {PROTO_2}", 200, PROTO_2),
        ("/openapi/v2", PROTO_2.replace("v2.v1.0", "v2@v1.0"), 200, PROTO_2),
        ("/openapi/v3", "text/html", 200, "text/plain; charset=utf-8"),
        ("/openapi/v3/apis/batch/v1", "text/html", 406, None),
        ("/openapi/v3/apis/batch/v1", "*/*", 200, "application/json"),
    ],
)
def test_each_path_of_operation_has_types_of_its_own(
    server: ApiServer, path: str, accept: str, status: int, content_type: str | None
) -> None:
    answer = ask(server, "GET", path, headers={"Accept": accept})
    assert (answer.status, answer.headers.get("content-type")) == (status, content_type)


@pytest.mark.parametrize(("path", "accept"), [("/api", AGGREGATED), ("/openapi/v2", PROTO_2), ("/openapi/v2", "*/*")])
def test_who_has_a_document_is_told_so_without_a_body(server: ApiServer, path: str, accept: str) -> None:
    etag = ask(server, "GET", path, headers={"Accept": accept}).headers["etag"]
    again = ask(server, "GET", path, headers={"Accept": accept, "If-None-Match": etag})
    assert (again.status, again.body, again.headers.get("content-type")) == (304, b"", None)


def test_the_cache_is_compared_with_etcd_when_somebody_asks(server: ApiServer) -> None:
    found = {each["prefix"]: each for each in ask(server, "GET", "/debug/consistency").json}
    assert {each["status"] for each in found.values()} == {"success"} and len(found) > 40
    assert found["/registry/namespaces/"]["cached"] == found["/registry/namespaces/"]["stored"]
    metrics = ask(server, "GET", "/metrics").body.decode()
    counted = 'apiserver_storage_consistency_checks_total{group="",resource="namespaces",status="success"} 1'
    assert counted in metrics
    assert ask(server, "GET", "/debug/consistency", token=None).status in (401, 403)
