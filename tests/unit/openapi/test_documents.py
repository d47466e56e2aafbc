"""OpenAPI documents have the parts that kubectl uses, and no dangling references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.jsontypes import loads
from gateway.kinds.builtin import builtin_registry
from gateway.openapi import documents
from gateway.openapi.documents import Documents
from gateway.release.release import release_of
from gateway.schema.catalog import serving
from tests.unit.openapi.definitions import custom

DOCUMENTS = Documents(builtin_registry())
PLACES = list(loads(DOCUMENTS.index({}))["paths"])


def document(place: str) -> Any:
    made = DOCUMENTS.document(place)
    assert made is not None
    return loads(made)


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


@pytest.mark.parametrize("place", PLACES)
def test_every_reference_leads_to_a_schema(place: str) -> None:
    content = document(place)
    known = {f"#/components/schemas/{name}" for name in content["components"].get("schemas", {})}
    assert set(references(content)) <= known


@pytest.mark.parametrize("place", PLACES)
def test_operation_ids_are_unique(place: str) -> None:
    operations = [
        operation["operationId"]
        for item in document(place)["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(operations) == len(set(operations))


def test_writes_say_that_fields_are_validated() -> None:
    item = document("apis/apps/v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    for method in ("put", "patch"):
        assert "fieldValidation" in {parameter["name"] for parameter in item[method]["parameters"]}
    assert item["patch"]["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert "application/strategic-merge-patch+json" in item["patch"]["requestBody"]["content"]


def test_schemas_say_how_lists_merge() -> None:
    schemas = document("api/v1")["components"]["schemas"]
    ports = schemas["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["port", "protocol"]
    assert (ports["x-kubernetes-patch-strategy"], ports["x-kubernetes-patch-merge-key"]) == ("merge", "port")
    assert ports["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.ServicePort"}


def test_what_is_not_served_has_no_document() -> None:
    assert DOCUMENTS.document("apis/apps/v2") is None


DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
KINDS = "x-kubernetes-group-version-kind"


def versions_of_delete_options(schema: Any) -> list[str]:
    kinds = schema[KINDS]
    assert {each["kind"] for each in kinds} == {"DeleteOptions"}
    return [f"{each['group']}/{each['version']}" for each in kinds]


@pytest.mark.parametrize(
    ("minor", "number", "scheduling"),
    [("1.34", 55, "v1alpha1"), ("1.35", 55, "v1alpha1"), ("1.36", 53, "v1alpha2"), ("1.37", 55, "v1alpha3")],
)
def test_documents_of_definitions_say_in_which_versions_clients_know_delete_options(
    minor: str, number: int, scheduling: str
) -> None:
    registry = builtin_registry(release=release_of(minor=minor))
    registry.add(custom("one.example.com", "zebra"))
    made = Documents(registry).document("apis/one.example.com/v1")
    assert made is not None
    versions = versions_of_delete_options(loads(made)["components"]["schemas"][DELETE_OPTIONS])
    assert len(versions) == number and f"scheduling.k8s.io/{scheduling}" in versions
    assert versions == sorted(versions)
    assert {"/v1", "extensions/v1beta1", "apps/v1beta2", "resource.k8s.io/v1alpha3"} < set(versions)
    assert not {"apiextensions.k8s.io/v1", "one.example.com/v1"} & set(versions)


def test_other_documents_say_it_of_their_own_versions() -> None:
    schemas = document("apis/apps/v1")["components"]["schemas"]
    assert versions_of_delete_options(schemas[DELETE_OPTIONS]) == ["/v1", "apps/v1"]
    schemas = document("api/v1")["components"]["schemas"]
    assert versions_of_delete_options(schemas[DELETE_OPTIONS]) == ["/v1"]


def test_documents_have_nothing_that_is_not_asked_of_them() -> None:
    content = document("apis/authorization.k8s.io/v1")
    assert DELETE_OPTIONS not in content["components"]["schemas"]
    assert not [path for path in content["paths"] if path.endswith("{name}")]


EMBEDDED: dict[str, Any] = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["spec"]}
EITHER = [{"type": "integer"}, {"type": "string"}]
METADATA = [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]


def of_a_definition(**properties: Any) -> Any:
    registry = builtin_registry()
    registry.add(custom("one.example.com", "zebra", **properties))
    made = Documents(registry).document("apis/one.example.com/v1")
    assert made is not None
    return loads(made)


def test_schemas_of_definitions_say_what_their_extensions_mean() -> None:
    said = {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": EITHER}, {"pattern": "a"}]}
    content = of_a_definition(
        list={"type": "array", "items": EMBEDDED}, either={"x-kubernetes-int-or-string": True}, said=said
    )
    spec = content["components"]["schemas"]["com.example.one.v1.Widget"]["properties"]["spec"]["properties"]
    item = spec["list"]["items"]
    assert item["required"] == ["spec", "kind", "apiVersion"]
    assert (item["properties"]["metadata"]["allOf"], item["properties"]["kind"]["type"]) == (METADATA, "string")
    assert spec["either"]["anyOf"] == EITHER
    assert "anyOf" not in spec["said"]


def test_operations_of_definitions_are_described_as_their_own() -> None:
    content = of_a_definition(n={"type": "integer"})
    assert content["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    place = "/apis/one.example.com/v1/namespaces/{namespace}/widgets"
    scale = content["paths"][f"{place}/{{name}}/scale"]
    kind = {"group": "one.example.com", "kind": "Widget", "version": "v1"}
    assert all(scale[method]["x-kubernetes-group-version-kind"] == kind for method in ("get", "put", "patch"))
    assert list(scale["patch"]["responses"]) == ["200", "401"]
    assert list(scale["put"]["requestBody"]["content"]) == ["application/json", "application/yaml"]
    assert "requestBody" not in content["paths"][place]["delete"]
    assert [each["name"] for each in scale["get"]["parameters"]] == ["resourceVersion"]


@pytest.mark.parametrize(("place", "path"), [("api/v1", "/api/v1/pods"), ("apis/apps/v1", "/apis/apps/v1/deployments")])
def test_what_lists_of_all_namespaces_take_is_said_of_the_path(place: str, path: str) -> None:
    item = document(place)["paths"][path]
    assert "parameters" not in item["get"]
    assert {"labelSelector", "watch", "pretty"} < {each["name"] for each in item["parameters"]}


def test_what_all_kinds_have_is_described_of_definitions_too() -> None:
    widget = of_a_definition(n={"type": "integer"})["components"]["schemas"]["com.example.one.v1.Widget"]["properties"]
    described = document("api/v1")["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"]["properties"]
    assert (widget["kind"], widget["apiVersion"]) == (described["kind"], described["apiVersion"])
    assert widget["metadata"]["description"].startswith("Standard object's metadata")


@pytest.mark.parametrize("place", ["api/v1", "apis/apps/v1"])
def test_operations_without_parameters_have_no_list_of_them(place: str) -> None:
    """A client of kube-openapi that reads a document and writes it gets the same."""
    operations = [
        made for item in document(place)["paths"].values() for made in item.values() if isinstance(made, dict)
    ]
    assert all(operation.get("parameters") != [] for operation in operations)


def parameters(item: Any) -> list[str]:
    return [each["name"] for each in item.get("parameters", ())]


def test_what_all_operations_of_a_path_take_is_said_once_by_name() -> None:
    paths = document("api/v1")["paths"]
    collection = paths["/api/v1/namespaces/{namespace}/configmaps"]
    assert parameters(collection) == ["namespace", "pretty"]
    assert parameters(collection["delete"])[:3] == ["continue", "dryRun", "fieldSelector"]
    assert "shardSelector" in parameters(collection["get"])
    finalize = paths["/api/v1/namespaces/{name}/finalize"]
    assert parameters(finalize) == ["dryRun", "fieldManager", "fieldValidation", "name", "pretty"]
    assert not parameters(finalize["put"])


def test_connections_and_logs_say_what_they_take() -> None:
    paths = document("api/v1")["paths"]
    pod = "/api/v1/namespaces/{namespace}/pods/{name}"
    assert set(paths[f"{pod}/exec"]) == {"get", "post", "parameters"}
    assert parameters(paths[f"{pod}/exec"])[0] == "command"
    proxied = paths[f"{pod}/proxy/{{path}}"]
    assert set(proxied) == {"get", "put", "post", "delete", "options", "head", "patch", "parameters"}
    assert [(each["name"], each["in"]) for each in proxied["parameters"]][-2:] == [("path", "path"), ("path", "query")]
    assert proxied["head"]["operationId"] == "connectCoreV1HeadNamespacedPodProxyWithPath"
    log = paths[f"{pod}/log"]
    assert log["get"]["responses"]["200"]["content"]["text/plain"] == {"schema": {"type": "string"}}
    assert "tailLines" in parameters(log)


def test_deletes_say_whether_they_answer_the_object() -> None:
    paths = document("api/v1")["paths"]

    def answered(path: str) -> str:
        content = paths[path]["delete"]["responses"]["200"]["content"]["application/json"]
        return str(content["schema"]["$ref"]).rpartition(".")[2]

    place = "/api/v1/namespaces/{namespace}"
    assert answered(f"{place}/pods/{{name}}") == "Pod"
    assert answered(f"{place}/configmaps/{{name}}") == "Status"
    assert answered("/api/v1/namespaces/{name}") == "Status"  # which has to be emptied first


def test_what_has_no_objects_has_documents_too() -> None:
    assert {".well-known/openid-configuration", "api", "apis", "apis/apps", "openid/v1/jwks", "version"} < set(PLACES)
    group = document("apis/rbac.authorization.k8s.io")
    operation = group["paths"]["/apis/rbac.authorization.k8s.io/"]["get"]
    assert (operation["operationId"], operation["tags"]) == ("getRbacAuthorizationAPIGroup", ["rbacAuthorization"])
    schema = group["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup"]
    assert schema["required"] == ["name", "versions"]
    assert schema[KINDS] == [{"group": "", "kind": "APIGroup", "version": "v1"}]
    assert schema["properties"]["versions"]["x-kubernetes-list-type"] == "atomic"


def test_a_group_of_definitions_has_none() -> None:
    registry = builtin_registry()
    registry.add(custom("one.example.com", "zebra"))
    places = loads(Documents(registry).index({}))["paths"]
    assert "apis/one.example.com/v1" in places
    assert "apis/one.example.com" not in places


def test_schemas_say_what_elements_may_be_and_what_excludes_what() -> None:
    schemas = document("api/v1")["components"]["schemas"]

    def of(name: str) -> Any:
        return schemas[f"io.k8s.api.core.v1.{name}"]

    assert of("ServiceSpec")["properties"]["ipFamilies"]["items"]["enum"] == ["", "IPv4", "IPv6"]
    assert of("SeccompProfile")["x-kubernetes-unions"][0]["discriminator"] == "type"
    assert of("LocalObjectReference")["properties"]["name"]["default"] == ""
    assert "default" not in of("SecretReference")["properties"]["name"]


@pytest.mark.parametrize(("minor", "members"), [("1.36", ["$ref"]), ("1.37", ["description", "allOf"])])
def test_a_reference_stands_alone_unless_its_field_is_described(minor: str, members: list[str]) -> None:
    with serving(minor):
        made = Documents(builtin_registry(release=release_of(minor=minor))).document("apis/networking.k8s.io/v1")
        assert made is not None
        rule = loads(made)["components"]["schemas"]["io.k8s.api.networking.v1.IngressRule"]
    assert list(rule["properties"]["http"]) == members


def test_documents_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_SIZE", 200_000)
    made = Documents(builtin_registry())
    for place in made.places:
        assert made.document(place) == made.document(place)
    kept = made._made.values()
    assert kept and sum(map(len, kept)) <= 200_000


def test_hashes_are_kept_of_documents_only() -> None:
    made = Documents(builtin_registry())
    assert made.hash_of("api/v1") == made.hash_of("api/v1") != made.hash_of("apis/none/v1")
    assert list(made._hashes) == ["api/v1"]
