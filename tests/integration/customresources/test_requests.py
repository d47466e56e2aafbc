"""Requests for custom objects whose answers differ from those for built-in ones, as in kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, webhook
from gateway.jsontypes import loads
from tests.integration.customresources.definitions import DEFINITIONS, MERGE, definition, establish, version
from tests.integration.server.client import ask

GROUP = "requests.example.com"
PATH = f"/apis/{GROUP}/v1/namespaces/default/widgets"
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
FREE = {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
SPEC = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "color": {"type": "string", "default": "red"},
        "free": FREE,
        "inner": EMBEDDED,
    },
}
STATUS = {"type": "object", "properties": {"phase": {"type": "string"}}, "default": {"phase": "New"}}
APPLY = {"Content-Type": "application/apply-patch+yaml"}


@pytest.fixture(scope="module", autouse=True)
def defined(servers: tuple[ApiServer, ApiServer]) -> None:
    subresources = {"status": {}, "scale": SCALE}
    establish(servers[0], definition(GROUP, version("v1", {"spec": SPEC, "status": STATUS}, subresources=subresources)))


def body(name: str) -> dict[str, object]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [("DELETE", "/a/status", "delete"), ("POST", "/a/scale", "create"), ("OPTIONS", "", "")],
)
def test_what_is_not_supported_is_named(server: ApiServer, method: str, path: str, verb: str) -> None:
    answer = ask(server, method, PATH + path)
    assert answer.status == 405
    assert answer.json["message"] == f'{verb} is not supported on resources of kind "widgets.{GROUP}"'
    assert answer.json["details"] == {"group": GROUP, "kind": "widgets"}


@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        ("kind", "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"),
        ("apiVersion", f"the API version in the data () does not match the expected API version ({GROUP}/v1)"),
    ],
)
def test_an_object_says_what_it_is(server: ApiServer, left_out: str, told: str) -> None:
    given = {name: value for name, value in body("unnamed").items() if name != left_out}
    for method, path in (("POST", PATH), ("PUT", f"{PATH}/unnamed")):
        answer = ask(server, method, path, given)
        assert answer.status == 400 and answer.json["message"].startswith(told)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"kind": None}, "Widget in version \"v1\" cannot be handled as a Widget: Object 'Kind' is missing in '{"),
        ({"apiVersion": None}, 'Widget in version "" cannot be handled as a Widget: .apiVersion accessor error: <nil>'),
    ],
)
def test_without_field_validation_an_object_without_its_kind_gets_other_words(
    server: ApiServer, given: dict[str, object], told: str
) -> None:
    answer = ask(server, "POST", f"{PATH}?fieldValidation=Ignore", body("unnamed") | given)
    assert answer.status == 400 and answer.json["message"].startswith(told)


@pytest.mark.parametrize("validation", ["Ignore", "Strict"])
def test_a_patch_makes_no_list_of_an_object(server: ApiServer, validation: str) -> None:
    ask(server, "POST", PATH, body("rooted"))
    patch = [{"op": "replace", "path": "", "value": []}]
    path, headers = f"{PATH}/rooted?fieldValidation={validation}", {"Content-Type": "application/json-patch+json"}
    answer = ask(server, "PATCH", path, patch, headers=headers)
    assert answer.status == 422 and "couldn't get version/kind; json parse error" in answer.json["message"]


@pytest.mark.parametrize("given", [{"apiVersion": None}, {"apiVersion": "", "kind": None}])
def test_a_patched_scale_may_lose_its_version(server: ApiServer, given: dict[str, object]) -> None:
    ask(server, "POST", PATH, body("shrunk") | {"spec": {"replicas": 2}})
    answer = ask(server, "PATCH", f"{PATH}/shrunk/scale", given | {"spec": {"replicas": 3}}, headers=MERGE)
    assert answer.json["spec"] == {"replicas": 3} and answer.json["apiVersion"] == "autoscaling/v1"


def test_an_update_needs_a_name(server: ApiServer) -> None:
    answer = ask(server, "PUT", PATH, body("a"))
    assert (answer.status, answer.json["message"]) == (400, "name must be provided")
    assert ask(server, "PATCH", PATH, {}).status == 415  # the content type is checked first


def test_all_namespaces_have_no_collection_to_delete(server: ApiServer) -> None:
    assert ask(server, "DELETE", f"/apis/{GROUP}/v1/widgets").status == 404


def test_a_patch_is_refused_with_what_came_of_it_in_order(server: ApiServer) -> None:
    assert ask(server, "POST", PATH, body("refused")).status == 201
    change = {"spec": {"z": 1, "b": 1}}
    refused = ask(server, "PATCH", f"{PATH}/refused?fieldValidation=Strict", change, headers=MERGE)
    assert refused.status == 422
    shown = loads(refused.json["message"].partition("Invalid value: ")[2].partition(": strict decoding")[0])
    assert next(iter(loads(shown)["metadata"])) == "creationTimestamp"
    assert list(loads(shown)["spec"]) == ["b", "z"]


@pytest.mark.parametrize(
    ("change", "status", "told"),
    [
        (
            {"apiVersion": "apps/v1"},
            422,
            f'Widget.apps "typed" is invalid: apiVersion: Invalid value: "apps/v1": must be {GROUP}/v1',
        ),
        (
            {"apiVersion": "v1", "kind": "B"},
            422,
            'B "typed" is invalid: [kind: Invalid value: "B": must be Widget, apiVersion:',
        ),
        ({"apiVersion": "a/b/c"}, 422, "unexpected GroupVersion string: a/b/c"),
        ({"apiVersion": None}, 500, "Internal error occurred: Object 'apiVersion' is missing in"),
        ({"kind": ""}, 422, "Object 'Kind' is missing in '{"),
    ],
)
def test_a_patched_object_still_says_what_it_is(server: ApiServer, change: object, status: int, told: str) -> None:
    ask(server, "POST", PATH, body("typed"))
    answer = ask(server, "PATCH", f"{PATH}/typed", change, headers=MERGE)
    assert answer.status == status and told in answer.json["message"], answer.body


def test_a_patch_does_not_clear_managers_by_an_empty_list(server: ApiServer) -> None:
    made = ask(server, "POST", PATH, {**body("managed"), "spec": {"replicas": 1}}).json["metadata"]
    for cleared, left in (([], made["managedFields"]), ([{}], None)):
        answer = ask(server, "PATCH", f"{PATH}/managed", {"metadata": {"managedFields": cleared}}, headers=MERGE)
        assert answer.json["metadata"].get("managedFields") == left


@pytest.mark.parametrize("number", [10**20, 2**64 + 1, -(2**63) - 1])
def test_a_number_beyond_64_bits_is_no_change(server: ApiServer, number: int) -> None:
    name = f"large{abs(number)}"
    assert ask(server, "POST", PATH, {**body(name), "spec": {"free": {"a": number}}}).status == 201
    label = {"metadata": {"labels": {"a": "b"}}}
    once, again = (ask(server, "PATCH", f"{PATH}/{name}", label, headers=MERGE).json["metadata"] for _ in range(2))
    assert once["generation"] == 1 and again == once


def test_a_head_is_a_read_without_its_body(server: ApiServer) -> None:
    answer = ask(server, "HEAD", PATH)
    assert (answer.status, answer.body) == (200, b"")


def test_what_a_scale_brings_has_defaults(server: ApiServer) -> None:
    assert ask(server, "POST", PATH, body("scaled")).status == 201
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "scaled"}, "spec": {"replicas": 2}}
    assert ask(server, "PUT", f"{PATH}/scaled/scale", scale).status == 200
    assert ask(server, "GET", f"{PATH}/scaled").json["spec"] == {"replicas": 2, "color": "red"}


def test_a_null_that_an_apply_leaves_is_read_by_nobody(server: ApiServer) -> None:
    assert ask(server, "POST", PATH, body("nulled")).status == 201
    wanted = {**body("nulled"), "spec": {"free": {"a": None, "b": 1}}}
    shown = ask(server, "PATCH", f"{PATH}/nulled?fieldManager=m&force=true", wanted, headers=APPLY)
    assert shown.status == 200, shown.body
    assert shown.json["spec"] == ask(server, "GET", f"{PATH}/nulled").json["spec"]


@pytest.mark.parametrize("query", ["", "&dryRun=All"])
def test_an_apply_that_creates_shows_the_default_of_the_status(server: ApiServer, query: str) -> None:
    name = f"applied{len(query)}"
    made = ask(server, "PATCH", f"{PATH}/{name}?fieldManager=m{query}", body(name), headers=APPLY)
    assert (made.status, made.json["status"]) == (201, {"phase": "New"})


@pytest.mark.parametrize(("dependencies", "status"), [({}, 422), (None, 201)])
def test_empty_dependencies_are_dependencies(server: ApiServer, dependencies: object, status: int) -> None:
    spec = {"type": "object", "dependencies": dependencies}
    made = ask(server, "POST", f"{DEFINITIONS}?dryRun=All", definition("empty.example.com", version("v1", {"a": spec})))
    assert made.status == status, made.body
    if dependencies is not None:
        assert "dependencies is not supported" in made.json["message"]


def test_an_empty_list_of_items_is_none(server: ApiServer) -> None:
    spec = {"type": "array", "items": {"type": "object", "items": []}}
    made = ask(server, "POST", f"{DEFINITIONS}?dryRun=All", definition("empty.example.com", version("v1", {"a": spec})))
    assert made.status == 201, made.body
    schema = made.json["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["a"]["items"] == {"type": "object"}


def test_what_is_wrong_with_an_applied_embedded_object_is_found_by_validation(server: ApiServer) -> None:
    spec = {"inner": {"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "x"}}}
    applied = {**body("embedding"), "spec": spec}
    answer = ask(server, "PATCH", f"{PATH}/embedding?fieldManager=m", applied, headers=APPLY)
    assert answer.status == 422
    assert [cause["field"] for cause in answer.json["details"]["causes"]] == ["spec.inner.metadata"]
    assert ask(server, "POST", PATH, applied).status == 400


def test_the_metadata_of_a_status_update_does_not_count(server: ApiServer) -> None:
    made = ask(server, "POST", PATH, body("labelled")).json
    made["metadata"]["labels"] = {"a": "no label's value"}
    answer = ask(server, "PUT", f"{PATH}/labelled/status", {**made, "status": {"phase": "Done"}})
    assert answer.status == 200, answer.body
    assert (answer.json["metadata"].get("labels"), answer.json["status"]) == (None, {"phase": "Done"})


def test_what_a_webhook_adds_beside_the_schema_is_not_stored(server: ApiServer) -> None:
    def add(request: dict[str, Any]) -> dict[str, Any]:
        return {**request["object"], "data": 5, "spec": {**request["object"]["spec"], "no": 1}}

    rule = {"apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["CREATE"]}
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "beside"}, "spec": {"replicas": 1}}
    with webhook(server, add, mutating=True, rules=[rule]):
        made = ask(server, "POST", PATH, body)
    assert made.status == 201
    for shown in (made.json, ask(server, "GET", f"{PATH}/beside").json):
        assert "data" not in shown
        assert shown["spec"] == {"color": "red", "replicas": 1}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_the_versions_of_a_group_are_told_whatever_the_method(server: ApiServer, method: str) -> None:
    answer = ask(server, method, f"/apis/{GROUP}/v1")
    assert answer.status == 200
    assert method == "HEAD" or answer.json["kind"] == "APIResourceList"
    assert ask(server, method, "/apis/apps/v1").status == 405


def test_a_scale_that_cannot_be_read_is_of_a_kind_that_no_scheme_has(server: ApiServer) -> None:
    assert ask(server, "POST", PATH, body("unscaled")).status == 201
    problem = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
    for scale in ([], {"apiVersion": "v1", "kind": "Scale"}, {"spec": 1}):
        refused = ask(server, "PUT", f"{PATH}/unscaled/scale", scale)
        assert (refused.status, refused.json["message"]) == (400, problem)


def test_a_version_is_not_to_be_had_in_what_is_no_form_of_it(server: ApiServer) -> None:
    refused = ask(server, "GET", f"/apis/{GROUP}/v1", headers={"Accept": "text/html"})
    assert refused.status == 406 and refused.json["message"].startswith("only the following media types are accepted: ")


def test_a_deep_configuration_is_applied_over_an_annotation_of_kubectl(server: ApiServer) -> None:
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    before = body("annotated") | {"metadata": {"name": "annotated", "annotations": {annotation: "{}"}}}
    assert ask(server, "POST", PATH, before).status == 201
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    applied = body("annotated") | {"spec": {"free": {"b": deep}}}
    path = f"{PATH}/annotated?fieldManager=kubectl&force=true"
    after = ask(server, "PATCH", path, applied, headers=APPLY)
    assert after.status == 200
    assert after.json["metadata"]["annotations"][annotation].count('"a":{') == 300


@pytest.mark.parametrize(
    "sent", [{"kind": "Other"}, {"apiVersion": f"{GROUP}/v9"}, {"kind": "Other", "apiVersion": "v1"}]
)
def test_unknown_fields_of_the_metadata_are_told_for_another_kind_or_version(
    server: ApiServer, sent: dict[str, str]
) -> None:
    obj = {**body("other"), **sent}
    obj["metadata"] = {"name": "other", "color": 1}
    answer = ask(server, "POST", PATH, obj)
    assert answer.status == (422 if "apiVersion" not in sent else 400)
    assert answer.headers["warning"] == '299 - "unknown field \\"metadata.color\\""'


def test_wrong_metadata_is_told_before_another_version(server: ApiServer) -> None:
    obj = {**body("other"), "apiVersion": f"{GROUP}/v9", "metadata": {"name": "other", "labels": []}}
    for path in (f"{PATH}?fieldValidation=Ignore", PATH):
        message = ask(server, "POST", path, obj).json["message"]
        assert message.startswith('Widget in version "v9" cannot be handled as a Widget: json: cannot unmarshal array')


def test_an_object_without_a_kind_is_told_in_its_version(server: ApiServer) -> None:
    answer = ask(server, "POST", f"{PATH}?fieldValidation=Ignore", {"apiVersion": f"{GROUP}/v9"})
    assert answer.json["message"].startswith('Widget in version "v9" cannot be handled as a Widget: Object ')
