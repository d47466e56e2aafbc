"""The paths that every server has besides the API (version, health, metrics), and the forms of refusals."""

from __future__ import annotations

import contextlib
import gzip
import json
import time
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.hostile.wire import Wire
from tests.integration.server.client import ask, connect

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_answers_carry_the_standard_headers(server: ApiServer) -> None:
    answer = ask(server, "GET", "/api/v1/namespaces/default", headers={"Audit-ID": "mine"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert (answer.headers["cache-control"], answer.headers["audit-id"]) == ("no-cache, private", "mine")
    assert "date" in answer.headers and "server" not in answer.headers


def test_a_token_after_two_spaces_counts_for_nothing_and_is_told(server: ApiServer) -> None:
    refused = ask(server, "GET", "/api/v1/namespaces", token=" abc")
    assert refused.status == 403
    why = "the provided Authorization header contains extra space before the bearer token, and is ignored"
    assert refused.headers["warning"] == f'299 - "{why}"'


def test_who_names_no_user_to_act_as_is_refused(server: ApiServer) -> None:
    answer = ask(server, "GET", "/api/v1/namespaces", headers={"Impersonate-Uid": "7"})
    assert (answer.status, answer.headers["x-content-type-options"]) == (400, "nosniff")


@pytest.mark.parametrize("version", [2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("match", ["&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact", ""])
def test_a_version_that_is_far_ahead_is_told_as_it_was_asked(server: ApiServer, version: int, match: str) -> None:
    path = "/api/v1/namespaces" if match else "/api/v1/namespaces/default"
    answer = ask(server, "GET", f"{path}?resourceVersion={version}{match}")
    assert answer.status == 504
    assert answer.json["message"].startswith(f"Timeout: Too large resource version: {version}, current: ")


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
    assert answer.headers["connection"] == "close" and "cache-control" not in answer.headers


def test_a_path_that_names_no_resource_is_refused_before_caches_are_told(server: ApiServer) -> None:
    answer = ask(server, "GET", "/api/v1/watch", headers={"Audit-ID": "mine"})
    assert (answer.status, answer.headers["audit-id"]) == (500, "mine")
    assert "cache-control" not in answer.headers


@pytest.mark.parametrize(("method", "type_"), [("POST", ""), ("PUT", ""), ("PATCH", "application/merge-patch+json")])
def test_names_that_nothing_has_are_refused_after_the_body_is_read(server: ApiServer, method: str, type_: str) -> None:
    path = "/api/v1/namespaces//configmaps" + ("" if method == "POST" else "/c")
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    refused = ask(server, method, path, config_map, headers={"Content-Type": type_ or "application/json"})
    assert (refused.status, refused.json["message"]) == (400, "Namespace parameter required.")
    assert ask(server, method, path, config_map, headers={"Content-Type": "text/plain"}).status == 415
    if method != "PATCH":
        assert "must be of type ConfigMap" in ask(server, method, path, [1]).json["message"]
        assert ask(server, method, path, config_map, headers={"Accept": "text/html"}).status == 406


def test_a_collection_in_no_namespace_is_deleted_if_there_is_nothing_in_it(server: ApiServer) -> None:
    collection = "/api/v1/namespaces//podtemplates"
    assert ask(server, "DELETE", collection).json["items"] == []
    place = "/api/v1/namespaces/kube-public/podtemplates"
    template = {"metadata": {"name": "t"}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    assert ask(server, "POST", place, template).status == 201
    refused = ask(server, "DELETE", collection)
    assert (refused.status, refused.json["message"]) == (400, "Namespace parameter required.")
    assert ask(server, "DELETE", f"{collection}?fieldSelector=metadata.name=other").status == 200
    assert ask(server, "DELETE", f"{place}/t").status == 200


def test_a_deletion_with_a_parameter_of_watches_has_their_rules(server: ApiServer) -> None:
    path = "/api/v1/namespaces/default/podtemplates?dryRun=All&watch=1"
    assert ask(server, "DELETE", f"{path}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan").status == 200
    refused = ask(server, "DELETE", f"{path}&sendInitialEvents=true")
    assert "sendInitialEvents requires setting resourceVersionMatch" in refused.json["message"]
    refused = ask(server, "GET", "/api/v1/componentstatuses?watch=1&limit=x")
    assert (refused.status, refused.json["message"]) == (400, 'strconv.ParseInt: parsing "x": invalid syntax')


def test_a_patch_of_the_kind_to_what_is_no_name(server: ApiServer) -> None:
    path = "/api/v1/namespaces/default/configmaps/kinds"
    ask(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "kinds"}})
    merge = {"Content-Type": "application/merge-patch+json"}
    refused = ask(server, "PATCH", path, {"kind": 1}, headers=merge)
    assert refused.status == 422
    problem = "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind"
    assert problem in refused.json["message"]


def test_a_deep_value_is_not_what_a_json_patch_expects(server: ApiServer) -> None:
    path = "/api/v1/namespaces/default/configmaps/deep"
    ask(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "deep"}})
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    test = [{"op": "test", "path": "/metadata/name", "value": deep}]
    refused = ask(server, "PATCH", path, test, headers={"Content-Type": "application/json-patch+json"})
    assert (refused.status, refused.json["reason"]) == (422, "Invalid")


def test_bytes_in_yaml_that_are_no_utf8_are_named(server: ApiServer) -> None:
    path, token = "/api/v1/namespaces/default/configmaps", {"Authorization": f"Bearer {server.token}"}
    for body, kind, problem in (
        (b"\xff", "yaml", "yaml: invalid leading UTF-8 octet"),
        (b"a: \xc3", "yaml", "yaml: incomplete UTF-8 octet sequence"),
        (b"", "vnd.kubernetes.protobuf", "empty data"),
    ):
        connection = connect(server)
        connection.request("POST", path, body, token | {"Content-Type": f"application/{kind}"})
        assert f"(must be of type ConfigMap): {problem} (" in json.loads(connection.getresponse().read())["message"]
        connection.close()


def test_metrics_are_compressed_for_who_takes_that(server: ApiServer) -> None:
    answer = ask(server, "GET", "/metrics", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert b"\napiserver_request_total{" in gzip.decompress(answer.body)
    assert "content-encoding" not in ask(server, "GET", "/metrics").headers


@pytest.mark.parametrize("framing", ["Content-Length: 100000", "Transfer-Encoding: chunked"])
def test_a_body_that_takes_longer_than_its_request_may(server: ApiServer, framing: str) -> None:
    """A request without `timeout` has 60 s (less here). The body arrives fast enough all the time."""
    piece = b" " * 100 if "Length" in framing else b"64\r\n" + b" " * 100 + b"\r\n"
    said, began = b"", time.monotonic()
    with Wire(server) as wire:
        wire.request("POST /api/v1/namespaces?timeout=1s", framing, "Content-Type: application/json")
        wire.socket.settimeout(0.05)
        while not said.endswith((b"}", b"}\n")):
            assert time.monotonic() < began + 60, "it goes on listening"
            with contextlib.suppress(OSError):  # the answer has just been sent, and the connection closed
                wire.send(piece)
            with contextlib.suppress(TimeoutError):
                said += wire.socket.recv(65536)
        assert time.monotonic() >= began + 1
    head, _, body = said.partition(b"\r\n\r\n")
    status = json.loads(body)
    assert head.startswith(b"HTTP/1.1 504 ") and b"text/plain; charset=utf-8" in head
    assert status == {  # this handler of kube-apiserver knows no kinds
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: request did not complete within the allotted timeout",
        "reason": "Timeout",
        "details": {},
        "code": 504,
    }


def test_health_can_be_seen_check_by_check(server: ApiServer) -> None:
    assert ask(server, "GET", "/livez", token=None).body == b"ok"
    assert ask(server, "GET", "/readyz/etcd").body == b"ok"
    text = ask(server, "GET", "/readyz?verbose&exclude=etcd&exclude=nosuch").body.decode()
    assert "[+]etcd excluded: ok\n" in text and "[+]informer-sync ok\n" in text
    assert text.endswith('no matches for "nosuch"\nreadyz check passed\n')


def test_version_is_that_of_the_api(server: ApiServer) -> None:
    version = ask(server, "GET", "/version", token=None).json
    assert (version["gitVersion"], version["major"], version["minor"]) == (GIT_VERSIONS[DEFAULT], *DEFAULT.split("."))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(("PROPFIND", path, 200) for path in ("/healthz/ping", "/livez", "/metrics", "/", "/openapi/v3")),
        *(("PROPFIND", path, 405) for path in ("/version", "/openid/v1/jwks", "/apis/apiregistration.k8s.io")),
        *(("GET", path, 200) for path in ("/version//", "/.well-known/openid-configuration/")),
        *(("POST", path, 404) for path in ("/version/x", "/.well-known/openid-configuration/x", "/openapi/v3/x")),
    ],
)
def test_paths_of_operation_answer_any_method(server: ApiServer, method: str, path: str, status: int) -> None:
    answer = ask(server, method, path)
    assert answer.status == status
    assert status < 400 or answer.body == b"" or answer.json["code"] == status


def test_a_path_that_cannot_be_read_is_told_as_it_was_sent_and_escaped(server: ApiServer) -> None:
    answer = ask(server, "GET", "/api/v1/watch?a=%3C&b=<")
    sent = "/api/v1/watch?a=%3C&amp;b=&lt;"
    why = f"failed to create RequestInfo: unable to determine kind and namespace from url, {sent}"
    assert (answer.status, answer.body.decode()) == (500, f'Internal Server Error: "{sent}": {why}\n')


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


def comparisons(server: ApiServer) -> float:
    """How often the check compared the namespaces in the cache with etcd's, and found no difference."""
    family = 'apiserver_storage_consistency_checks_total{group="",resource="namespaces",status="success"} '
    lines = ask(server, "GET", "/metrics").body.decode().splitlines()
    return sum(float(line.removeprefix(family)) for line in lines if line.startswith(family))


def test_the_cache_is_compared_with_etcd_when_somebody_asks(server: ApiServer) -> None:
    before = comparisons(server)
    found = {each["prefix"]: each for each in ask(server, "GET", "/debug/consistency").json}
    assert comparisons(server) == before + 1
    assert {each["status"] for each in found.values()} == {"success"} and len(found) > 40
    assert found["/registry/namespaces/"]["cached"] == found["/registry/namespaces/"]["stored"]
    assert ask(server, "GET", "/debug/consistency", token=None).status in (401, 403)
