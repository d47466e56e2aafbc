"""Content negotiation: the media type and form of answers, for errors and for successful requests."""

from __future__ import annotations

import json

import pytest

from tests.integration.representations.conftest import Client
from tests.integration.representations.test_cbor import DEFINITION

PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = ";as=Table;g=meta.k8s.io;v=v1"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/yaml", "application/yaml"),
        (PROTOBUF, PROTOBUF),
        (f"application/json{TABLE},application/json", "application/json"),
        (PROTOBUF + PARTIAL, "application/json"),  # a Status cannot be sent as PartialObjectMetadata
        (f"application/yaml{TABLE}", "application/json"),
    ],
)
@pytest.mark.parametrize(
    ("method", "tail", "body", "status"),
    [
        ("GET", "/none", None, 404),
        ("DELETE", "/none", None, 404),
        ("PATCH", "/none", b"{}", 404),
        ("POST", "", b'{"metadata":{"name":"Bad_"}}', 422),
        ("GET", "?limit=x", None, 400),
    ],
)
def test_a_status_follows_the_accept_header(
    client: Client, method: str, tail: str, body: bytes | None, status: int, accept: str, content_type: str
) -> None:
    headers = MERGE if method == "PATCH" else {}
    refused = client.ask(method, client.configmaps + tail, body, accept, headers)
    assert (refused.status, refused.headers["content-type"]) == (status, content_type)


@pytest.mark.parametrize("accept", ["application/yaml", PROTOBUF, "application/json"])
def test_every_verb_follows_it(client: Client, accept: str) -> None:
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
    path, accounts = client.configmaps, f"/api/v1/namespaces/{client.namespace}/serviceaccounts"
    for method, place, sent, headers in (
        ("POST", path, body, {}),
        ("GET", f"{path}/a", None, {}),
        ("PUT", f"{path}/a", body, {}),
        ("PATCH", f"{path}/a", b'{"data":{"k":"v"}}', MERGE),
        ("GET", path, None, {}),
        ("DELETE", f"{path}/a", None, {}),
        ("DELETE", path, None, {}),
        ("POST", accounts, b'{"metadata":{"name":"a"}}', {}),
        ("POST", f"{accounts}/a/token", b'{"spec":{}}', {}),
    ):
        answer = client.ask(method, place, sent, accept, headers)
        assert (answer.status // 100, answer.headers["content-type"]) == (2, accept)


def test_a_list_and_an_object_are_told_apart_after_the_read(client: Client) -> None:
    assert client.ask("GET", f"{client.configmaps}/none", None, "application/json" + PARTIAL_LIST).status == 404
    assert client.ask("GET", f"{client.configmaps}?limit=x", None, "application/json" + PARTIAL).status == 400
    assert client.ask("GET", client.configmaps, None, "application/json" + PARTIAL).status == 406
    namespace = f"/api/v1/namespaces/{client.namespace}"
    assert client.ask("GET", namespace, None, "application/json" + PARTIAL_LIST).status == 406


def test_the_type_of_a_patch_comes_before_what_is_accepted(client: Client) -> None:
    headers = {"Content-Type": "application/strange"}
    assert client.ask("PATCH", f"{client.configmaps}/a", b"{}", "application/strange", headers).status == 415


def test_custom_objects_are_not_in_protobuf_but_their_metadata_is(client: Client) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert client.ask("POST", definitions, json.dumps(DEFINITION).encode()).status == 201
    path = "/apis/forms.example/v1/things"
    while client.ask("GET", path).status == 404:
        pass
    body = b'{"apiVersion":"forms.example/v1","kind":"Thing","metadata":{"name":"t"}}'
    assert client.ask("POST", path, body).status == 201
    for place in (path, f"{path}/t"):
        refused = client.ask("GET", place, None, PROTOBUF)
        assert (refused.status, refused.headers["content-type"]) == (406, PROTOBUF)
        fallback = client.ask("GET", place, None, f"{PROTOBUF},application/json")
        assert (fallback.status, fallback.headers["content-type"]) == (200, "application/json")
    assert client.ask("GET", f"{path}/t", None, PROTOBUF + PARTIAL).headers["content-type"] == PROTOBUF
    assert client.ask("GET", f"{path}?watch=1", None, PROTOBUF).status == 406
    assert client.ask("GET", f"{path}/t", None, "application/*").status == 200
    listed = client.ask("GET", f"{path}/t", None, "application/json" + PARTIAL_LIST)
    assert listed.status == 406, "kube-apiserver's 500 says nothing of what to do"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/api", "406: Not Acceptable\n\nAvailable representations: "),
        ("/api/v1", "406: Not Acceptable\n\nAvailable representations: "),
        ("/apis", "only the following media types are accepted: "),
        ("/apis/apps", "only the following media types are accepted: "),
        ("/version", "406: Not Acceptable\n\nAvailable representations: application/json"),
    ],
)
def test_documents_say_what_there_is(client: Client, path: str, message: str) -> None:
    refused = client.ask("GET", path, None, "application/strange")
    assert refused.status == 406
    assert refused.json["message"].startswith(message)
    assert refused.body.startswith(b"{\n")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["scheduler", "controller-manager", "etcd-0"]),
        ("?fieldSelector=metadata.name%3Detcd-0", ["etcd-0"]),
        ("?fieldSelector=metadata.name%3Dx", []),
    ],
)
def test_component_statuses_are_listed_in_every_form(client: Client, query: str, names: list[str]) -> None:
    path = f"/api/v1/componentstatuses{query}"
    table = json.loads(client.ask("GET", path, accept=f"application/json{TABLE}").body)
    assert [row["cells"][0] for row in table["rows"] or ()] == names
    assert [row["cells"][1:3] for row in table["rows"] or () if row["cells"][0] == "etcd-0"] == [["Healthy", "ok"]] * (
        "etcd-0" in names
    )
    partial = json.loads(client.ask("GET", path, accept=f"application/json{PARTIAL_LIST}").body)
    assert [item["metadata"]["name"] for item in partial["items"] or ()] == names
    assert [item["metadata"]["name"] for item in json.loads(client.ask("GET", path).body)["items"]] == names


def test_a_component_is_as_healthy_as_it_answers_on_this_machine(client: Client) -> None:
    answered = json.loads(client.ask("GET", "/api/v1/componentstatuses/scheduler").body)
    (condition,) = answered["conditions"]
    refused = 'Get "https://127.0.0.1:10259/healthz": dial tcp 127.0.0.1:10259: connect: connection refused'
    found = (condition["status"], condition["message"])
    assert found in (("False", refused), ("True", "ok"))  # a scheduler may run here


@pytest.mark.parametrize(
    ("query", "status"), [("limit=x", 400), ("fieldSelector=a%3Db", 400), ("resourceVersionMatch=Exact", 422)]
)
def test_component_statuses_take_the_options_of_lists(client: Client, query: str, status: int) -> None:
    assert client.ask("GET", f"/api/v1/componentstatuses?{query}").status == status


def test_an_event_at_no_version_is_a_bad_request(client: Client) -> None:
    refused = client.ask("GET", f"/api/v1/namespaces/{client.namespace}/events/e?resourceVersion=x")
    assert (refused.status, json.loads(refused.body)["message"][:25]) == (400, "invalid resource version:")


def test_any_other_object_at_no_version_is_an_internal_error_as_recorded(client: Client) -> None:
    """kube-apiserver answers 500, too. No client depends on another code."""
    answer = client.ask("GET", f"/api/v1/namespaces/{client.namespace}/configmaps/c?resourceVersion=abc")
    assert (answer.status, json.loads(answer.body)["code"]) == (500, 500)
    assert 'resourceVersion: Invalid value: "abc"' in json.loads(answer.body)["message"]


@pytest.mark.parametrize(
    ("group", "fields"),
    [
        ("api/v1", ["involvedObject.namespace"]),
        ("apis/events.k8s.io/v1", ["involvedObject.namespace", "metadata.name", "eventTime", "type"]),
    ],
)
def test_what_is_wrong_with_an_event_comes_before_its_metadata(client: Client, group: str, fields: list[str]) -> None:
    refused = client.ask("POST", f"/{group}/namespaces/{client.namespace}/events", b"{}")
    assert [cause["field"] for cause in json.loads(refused.body)["details"]["causes"]] == fields


def test_a_write_is_carried_out_before_its_answer_is_found_to_have_no_such_form(client: Client) -> None:
    path, bad_table = client.configmaps, f"application/json{TABLE}"
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"formed"},"data":{"a":"1"}}'
    assert client.ask("POST", path, body, f"application/json{PARTIAL_LIST}").status == 406
    change = b'{"data":{"b":"2"}}'
    assert client.ask("PATCH", f"{path}/formed?includeObject=All", change, bad_table, MERGE).status == 400
    assert json.loads(client.ask("GET", f"{path}/formed").body)["data"] == {"a": "1", "b": "2"}
    assert client.ask("GET", f"{path}/none?includeObject=All", None, bad_table).status == 404
    assert client.ask("DELETE", path, None, f"application/json{PARTIAL}").status == 406
    assert client.ask("GET", f"{path}/formed").status == 404


def test_a_status_has_one_form(client: Client) -> None:
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"gone"}}'
    assert client.ask("POST", client.configmaps, body).status == 201
    answer = client.ask("DELETE", f"{client.configmaps}/gone", None, f"application/json{PARTIAL_LIST}")
    assert (answer.status, json.loads(answer.body)["kind"]) == (200, "Status")


@pytest.mark.parametrize(
    ("accept", "warned"),
    [
        (f"{PROTOBUF}{TABLE}", True),  # the resource refuses it
        (f"application/json{PARTIAL}", True),
        ("text/html", False),  # negotiation fails before the resource sees the request
    ],
)
def test_a_resource_that_refuses_a_representation_says_that_it_is_deprecated(
    client: Client, accept: str, warned: bool
) -> None:
    refused = client.ask("GET", f"/api/v1/namespaces/{client.namespace}/endpoints", accept=accept)
    assert refused.status == 406
    assert ("Endpoints is deprecated" in refused.headers.get("warning", "")) is warned
