"""Faulty and unusual writes, answered as kube-apiserver 1.37.2 answers them; a differential fuzzer found the cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import Answer, ask, connect

CORE = "/api/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}
YAML = {"Content-Type": "application/yaml"}
NO_MAP = (
    "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value "
    "of type map[string]interface {}"
)
POD = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": POD["containers"]}},
    }
    with api_server() as started:
        ask(started, "POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        yield started


def job(**metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "j", **metadata},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}},
    }


@pytest.mark.parametrize(
    ("given", "gets"),
    [
        ({"labels": {"a": "b"}}, False),
        ({}, True),
        ({"labels": {}}, True),
        ({"name": "", "generateName": "j"}, False),
    ],
)
def test_a_job_whose_labels_come_from_its_template_gets_generated_labels(
    server: ApiServer, given: dict[str, Any], gets: bool
) -> None:
    made = ask(server, "POST", f"{JOBS}?dryRun=All", job(**given)).json
    assert made["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == made["metadata"]["name"]
    assert ("batch.kubernetes.io/job-name" in made["metadata"]["labels"]) is gets
    assert made["metadata"]["labels"]["a"] == "b"


def test_owners_stay_where_a_list_item_has_no_key(server: ApiServer) -> None:
    path = f"{CORE}/serviceaccounts"
    made = ask(server, "POST", f"{path}?fieldManager=c", {"metadata": {"name": "keyless"}, "secrets": [{"name": "s"}]})
    patched = ask(server, "PATCH", f"{path}/keyless", {"secrets": [{"name": None}]}, headers=MERGE).json
    assert patched["secrets"] == [{}]
    assert patched["metadata"]["managedFields"] == made.json["metadata"]["managedFields"]


def in_text(server: ApiServer, method: str, path: str, text: str, headers: dict[str, str]) -> Answer:
    connection = connect(server)
    try:
        connection.request(method, path, text.encode(), {"Authorization": f"Bearer {server.token}", **headers})
        response = connection.getresponse()
        return Answer(response.status, {}, response.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"apiVersion" "v1"}',
            "error decoding patch: error converting YAML to JSON: yaml: did not find expected ',' or '}'",
        ),
        ("a: b: c", "error encoding patch: yaml: mapping values are not allowed in this context"),
        ('"x"', NO_MAP),
    ],
)
@pytest.mark.parametrize("of", ["", "/status", "/scale"])
def test_a_configuration_that_is_no_yaml_gets_the_same_words_by_every_subresource(
    server: ApiServer, text: str, message: str, of: str
) -> None:
    answer = in_text(server, "PATCH", f"{DEPLOYMENTS}/d{of}?fieldManager=m", text, APPLY)
    assert (answer.status, answer.json["message"]) == (400, message)


@pytest.mark.parametrize(("text", "status"), [("a: b: c", 400), ('{"a" "b"}', 404), ('"x"', 404)])
def test_only_what_is_no_json_is_refused_before_the_object_is_read(server: ApiServer, text: str, status: int) -> None:
    assert in_text(server, "PATCH", f"{DEPLOYMENTS}/absent/status?fieldManager=m", text, APPLY).status == status


def test_json_sent_as_yaml_is_read_in_the_order_of_its_names(server: ApiServer) -> None:
    text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":"x","binaryData":{"a":"a"}}'
    answer = in_text(server, "POST", f"{CORE}/configmaps", text, YAML)
    assert answer.json["message"].endswith("illegal base64 data at input byte 0")
    answer = in_text(server, "POST", f"{CORE}/configmaps", text, {"Content-Type": "application/json"})
    assert "Go struct field ConfigMap.data" in answer.json["message"]


@pytest.mark.parametrize(("labels", "shown"), [({"a": None}, "{}"), (None, "null")])
def test_an_error_shows_empty_labels_of_a_template_as_sent(server: ApiServer, labels: object, shown: str) -> None:
    answer = ask(
        server, "PATCH", f"{DEPLOYMENTS}/d", {"spec": {"template": {"metadata": {"labels": labels}}}}, headers=MERGE
    )
    assert answer.status == 422
    assert f"labels: Invalid value: {shown}: `selector` does not match" in answer.json["message"]


def test_a_strategic_merge_patch_names_an_unknown_field_without_the_keys_of_maps(server: ApiServer) -> None:
    path = "/apis/resource.k8s.io/v1/resourceslices"
    devices = [{"name": "d", "attributes": {"ok": {"bool": True}}}]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n", "pool": pool, "devices": devices}
    made = ask(server, "POST", path, {"metadata": {"name": "s"}, "spec": spec})
    assert made.status == 201, made.body
    change = {"spec": {"devices": [{"name": "d", "attributes": {"ok": {"bool": True, "other": {}}}}]}}
    strict = f"{path}/s?fieldValidation=Strict"
    answer = ask(server, "PATCH", strict, change, headers=STRATEGIC)
    assert answer.json["message"].endswith('unknown field "spec.devices[0].attributes.other"')
    answer = ask(server, "PATCH", strict, change, headers=MERGE)
    assert answer.json["message"].endswith('unknown field "spec.devices[0].attributes.ok.other"')


def test_the_generated_name_of_an_address_is_the_address(server: ApiServer) -> None:
    address = {"metadata": {"generateName": "10.0.0.99"}, "spec": {"parentRef": {"resource": "services", "name": "s"}}}
    answer = ask(server, "POST", "/apis/networking.k8s.io/v1/ipaddresses?dryRun=All", address)
    assert answer.json["metadata"]["name"] == "10.0.0.99"
