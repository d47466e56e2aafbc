"""CBOR, behind its feature gate: answers hold the same values as JSON, and bodies are decoded like JSON."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import cbor2
import pytest

from gateway.encodings.cbor import answer, content, decode
from tests.integration.representations.conftest import Client
from tests.integration.server.client import Answer

CBOR = "application/cbor"
PARTIAL = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.forms.example"},
    "spec": {
        "group": "forms.example",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def written(value: Any) -> bytes:
    return answer(content(value, None))


def config_map(name: str, **members: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, **members}


def create(client: Client, name: str, **members: Any) -> dict[str, Any]:
    made = client.ask("POST", client.configmaps, written(config_map(name, **members)), CBOR, {"Content-Type": CBOR})
    assert (made.status, made.headers["content-type"]) == (201, CBOR)
    found: dict[str, Any] = decode(made.body)
    return found


@pytest.mark.parametrize("form", ["", PARTIAL])
def test_an_object_in_cbor_is_that_in_json(cbor_client: Client, form: str) -> None:
    made = create(cbor_client, "a", data={"k": "v"}, binaryData={"b": "AAEC"})
    path = f"{cbor_client.configmaps}/a"
    in_cbor = cbor_client.ask("GET", path, None, CBOR + form)
    in_json = cbor_client.ask("GET", path, None, "application/json" + form)
    assert in_cbor.headers["content-type"] == CBOR
    assert in_cbor.body.startswith(bytes.fromhex("d9d9f7"))
    assert decode(in_cbor.body) == in_json.json
    assert form or in_json.json == made


@pytest.mark.parametrize("form", ["", PARTIAL_LIST])
@pytest.mark.parametrize("query", ["", "?limit=2", "?labelSelector=none%3Dof"])
def test_a_list_in_cbor_is_that_in_json(cbor_client: Client, form: str, query: str) -> None:
    for name in "abc":
        create(cbor_client, name)
    path = cbor_client.configmaps + query
    in_cbor = decode(cbor_client.ask("GET", path, None, CBOR + form).body)
    in_json = cbor_client.ask("GET", path, None, "application/json" + form).json
    for found in (in_cbor, in_json):
        found["metadata"].pop("continue", None)  # contains the time
        found["items"] = found["items"] or []
    assert without_version(in_cbor) == without_version(in_json)


def without_version(found: dict[str, Any]) -> dict[str, Any]:
    """A list or bookmark without its resourceVersion: the server writes leases between two requests."""
    version = found["metadata"].pop("resourceVersion")
    assert version.isdecimal()
    return found


def test_a_status_comes_in_cbor(cbor_client: Client) -> None:
    missing = cbor_client.ask("GET", f"{cbor_client.configmaps}/none", None, CBOR)
    assert (missing.status, missing.headers["content-type"]) == (404, CBOR)
    assert decode(missing.body)["reason"] == "NotFound"


@pytest.mark.parametrize("form", ["", PARTIAL])
def test_a_watch_is_a_sequence_of_items(cbor_client: Client, form: str) -> None:
    for name in "ab":
        create(cbor_client, name)
    stream, lines = (watched(cbor_client, media + form) for media in (CBOR, "application/json"))
    assert stream.headers["content-type"] == "application/cbor-seq"
    in_cbor, in_json = items(stream.body), [json.loads(line) for line in lines.body.splitlines()]
    for *_, bookmark in (in_cbor, in_json):
        assert bookmark["type"] == "BOOKMARK"
        without_version(bookmark["object"])
    assert in_cbor == in_json


def watched(client: Client, accept: str) -> Answer:
    """The events of a watch from its initial state to the bookmark after it; the timeout is as short as possible."""
    query = "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    for seconds in (1, 5, 30):
        found = client.ask("GET", f"{client.configmaps}?{query}&timeoutSeconds={seconds}", None, accept)
        if b"BOOKMARK" in found.body:
            return found
    pytest.fail(f"a watch as {accept} tells of no bookmark")


def items(stream: bytes) -> list[Any]:
    """The items of a CBOR sequence, each of which begins with the self-described tag."""
    source, found = BytesIO(stream), []
    while (start := source.tell()) < len(stream):
        assert stream[start : start + 3] == bytes.fromhex("d9d9f7")
        cbor2.CBORDecoder(source).decode()
        found.append(decode(stream[start : source.tell()]))
    return found


def test_what_ends_a_watch_is_said_in_cbor(cbor_client: Client) -> None:
    ended = cbor_client.ask("GET", f"{cbor_client.configmaps}?watch=1&resourceVersion=99999999", None, CBOR)
    (event,) = items(ended.body)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_configuration_is_applied_in_cbor(cbor_client: Client) -> None:
    path = f"{cbor_client.configmaps}/applied?fieldManager=tests"
    headers = {"Content-Type": "application/apply-patch+cbor"}
    for status in (201, 200):
        applied = cbor_client.ask("PATCH", path, written(config_map("applied", data={"a": "b"})), CBOR, headers)
        assert applied.status == status
    assert decode(applied.body)["metadata"]["managedFields"][0]["operation"] == "Apply"


def test_options_of_a_deletion_are_read(cbor_client: Client) -> None:
    create(cbor_client, "a")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "another"}}
    refused = cbor_client.ask("DELETE", f"{cbor_client.configmaps}/a", written(options), "", {"Content-Type": CBOR})
    assert (refused.status, refused.json["reason"]) == (409, "Conflict")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unable to determine group/version/kind: EOF"),
        (b"\xa1\x44kind", "unexpected EOF"),
        (b"\xa2\x44kind\x41a\x44kind\x41b", "Duplicate map key"),
        (b"\x40\x40", "1 bytes of extraneous data starting at index 1"),
    ],
)
def test_what_is_no_cbor_is_refused(cbor_client: Client, body: bytes, message: str) -> None:
    refused = cbor_client.ask("POST", cbor_client.configmaps, body, "", {"Content-Type": CBOR})
    assert (refused.status, refused.json["reason"]) == (400, "BadRequest")
    assert message in refused.json["message"]


def test_custom_objects_have_no_schema_but_are_said_too(cbor_client: Client) -> None:
    made = cbor_client.ask(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json.dumps(DEFINITION).encode()
    )
    assert made.status == 201
    path = "/apis/forms.example/v1/things"
    while cbor_client.ask("GET", path).status == 404:
        pass
    thing = {"kind": "Thing", "apiVersion": "forms.example/v1", "metadata": {"name": "t"}, "f": 1.5, "n": [None, -7]}
    assert cbor_client.ask("POST", path, written(thing), CBOR, {"Content-Type": CBOR}).status == 201
    in_cbor, in_json = decode(cbor_client.ask("GET", path, None, CBOR).body), cbor_client.ask("GET", path).json
    assert without_version(in_cbor) == without_version(in_json)
    assert decode(cbor_client.ask("GET", f"{path}/t", None, CBOR).body) == cbor_client.ask("GET", f"{path}/t").json


def test_tables_are_not_in_cbor(cbor_client: Client) -> None:
    refused = cbor_client.ask("GET", cbor_client.configmaps, None, CBOR + ";as=Table;g=meta.k8s.io;v=v1")
    assert refused.status == 406
    assert "application/cbor" in refused.json["message"]


def test_json_stays_the_first_choice(cbor_client: Client) -> None:
    assert cbor_client.ask("GET", cbor_client.configmaps, None, "*/*").headers["content-type"] == "application/json"


def test_without_the_gate_there_is_none(client: Client) -> None:
    refused = client.ask("GET", client.configmaps, None, CBOR)
    assert (refused.status, "application/cbor" in refused.json["message"]) == (406, False)
    headers = {"Content-Type": CBOR}
    assert client.ask("POST", client.configmaps, written(config_map("a")), "", headers).status == 415
    headers = {"Content-Type": "application/apply-patch+cbor"}
    path = f"{client.configmaps}/a?fieldManager=tests"
    assert client.ask("PATCH", path, written(config_map("a")), "", headers).status == 415


DOCUMENTS = {
    "versions": ("/api", "", 200),
    "groups": ("/apis", "", 200),
    "a group": ("/apis/apps", "", 200),
    "a version of a group": ("/apis/apps/v1", "", 200),
    "all resources": ("/apis", ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", 200),
    "the state of the server": ("/statusz", ";g=config.k8s.io;v=v1beta1;as=Statusz", 200),
    "its flags": ("/flagz", ";g=config.k8s.io;v=v1beta1;as=Flagz", 200),
    "a page that is only text": ("/statusz", "", 406),
    "a document that is only JSON": ("/version", "", 406),
    "an unknown version": ("/apis/apps/v9", "", 404),
    "an unknown resource": ("/api/v1/things", "", 404),
    "a timeout that is none": ("/api/v1/namespaces?timeout=invalid", "", 400),
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents_and_early_errors_are_in_cbor(cbor_client: Client, case: str) -> None:
    path, parameters, status = DOCUMENTS[case]
    in_cbor = cbor_client.ask("GET", path, None, CBOR + parameters)
    form = parameters if status == 200 else ""
    assert (in_cbor.status, in_cbor.headers["content-type"]) == (status, CBOR + form)
    found = decode(in_cbor.body)
    if status != 200:
        assert (found["kind"], found["code"]) == ("Status", status)
    elif path != "/statusz":  # its uptime goes on
        assert found == cbor_client.ask("GET", path, None, "application/json" + parameters).json


def test_a_request_without_rights_is_refused_in_cbor(cbor_client: Client) -> None:
    for headers, status in (({"Authorization": "Bearer none"}, 401), ({"Impersonate-User": "nobody"}, 403)):
        refused = cbor_client.ask("GET", cbor_client.configmaps, None, CBOR, headers)
        assert (refused.status, refused.headers["content-type"]) == (status, CBOR)
        assert decode(refused.body)["code"] == status


def test_documents_of_older_servers_are_not_in_cbor(older: Client) -> None:
    for path in ("/api", "/apis", "/apis/apps"):
        assert older.ask("GET", path, None, CBOR).status == 406
    in_cbor = older.ask("GET", "/apis/apps/v1", None, CBOR)
    assert (in_cbor.status, in_cbor.headers["content-type"]) == (200, CBOR)
    refused = older.ask("GET", "/api/v1/namespaces?timeout=invalid", None, CBOR)
    assert (refused.status, refused.headers["content-type"]) == (400, "application/json")


def test_the_resources_of_a_custom_group_are_listed_in_json(cbor_client: Client) -> None:
    spec: Any = DEFINITION["spec"]
    group = {**spec, "group": "listed.example"}
    definition = {**DEFINITION, "metadata": {"name": "things.listed.example"}, "spec": group}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert cbor_client.ask("POST", path, json.dumps(definition).encode()).status == 201
    while cbor_client.ask("GET", "/apis/listed.example/v1").status == 404:
        pass
    assert cbor_client.ask("GET", "/apis/listed.example/v1", None, CBOR).status == 406
    both = cbor_client.ask("GET", "/apis/listed.example/v1", None, f"{CBOR}, application/json;q=0.9")
    assert (both.headers["content-type"], both.json["resources"][0]["name"]) == ("application/json", "things")
    of_group = cbor_client.ask("GET", "/apis/listed.example", None, CBOR)
    assert decode(of_group.body)["name"] == "listed.example"
