"""What creates and updates set themselves: statuses, generations, and fields that are not stored."""

import pytest

from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategies import DEFAULT, MODULES, strategy_for
from gateway.validation.checks import same
from tests.unit.validation.objects import created, updated

SPECIFIED = {
    "networking.k8s.io/v1/ingresses": {"spec": {"ingressClassName": "a"}},
    "networking.k8s.io/v1/networkpolicies": {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
    "policy/v1/poddisruptionbudgets": {"spec": {"minAvailable": 2}},
    "flowcontrol.apiserver.k8s.io/v1/flowschemas": {"spec": {"matchingPrecedence": 200}},
    "resource.k8s.io/v1/resourceslices": {"spec": {"devices": []}},
    "apiextensions.k8s.io/v1/customresourcedefinitions": {"spec": {"names": {"categories": ["all"]}}},
}


@pytest.mark.parametrize("resource", MODULES, ids=str)
def test_every_resource_of_the_table_has_a_strategy(resource: GroupResource) -> None:
    assert strategy_for(*resource) is not DEFAULT


@pytest.mark.parametrize(("resource", "changes"), SPECIFIED.items())
def test_a_generation_counts_changes_of_the_desired_state(resource: str, changes: JsonObject) -> None:
    assert created(resource)["metadata"]["generation"] == 1
    assert updated(resource, changes)[0]["metadata"]["generation"] == 2
    labelled, _ = updated(resource, {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("resource", "status"),
    [
        ("v1/services", {"loadBalancer": {}}),
        ("v1/persistentvolumeclaims", {"phase": "Pending"}),
        ("networking.k8s.io/v1/ingresses", {"loadBalancer": {}}),
        (
            "apiextensions.k8s.io/v1/customresourcedefinitions",
            {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
        ),
    ],
)
def test_nobody_creates_or_changes_a_status_with_the_object(resource: str, status: JsonObject) -> None:
    claimed = {"status": {"phase": "Bound", "loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}
    assert created(resource, claimed)["status"] == status
    assert updated(resource, claimed)[0]["status"] == status


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ({"a": []}, {}, True),
        ({"a": [{"b": []}]}, {"a": [{}]}, True),
        ({"a": ""}, {}, False),  # an entry of a map
        ({"a": {}}, {}, False),  # a pointer to nothing
    ],
)
def test_semantic_equality(a: JsonObject, b: JsonObject, equal: bool) -> None:
    assert same(a, b) is equal


def test_an_external_name_has_no_addresses() -> None:
    before = {"spec": {"clusterIP": "10.0.0.10", "clusterIPs": ["10.0.0.10"], "ipFamilies": ["IPv4"]}}
    changes = {"spec": {"type": "ExternalName", "externalName": "example.com"}}
    service, errors = updated("v1/services", changes, before)
    assert errors == []
    assert not {"clusterIP", "clusterIPs", "ipFamilies"} & {key for key, value in service["spec"].items() if value}


def test_an_api_service_without_a_service_is_available() -> None:
    (condition,) = created("apiregistration.k8s.io/v1/apiservices")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")


def test_a_new_storage_version_joins_the_stored_ones() -> None:
    schema: JsonObject = {"openAPIV3Schema": {"type": "object"}}
    versions = [
        {"name": "v1", "served": True, "storage": False, "schema": schema},
        {"name": "v2", "served": True, "storage": True, "schema": schema},
    ]
    resource = "apiextensions.k8s.io/v1/customresourcedefinitions"
    definition, errors = updated(resource, {"spec": {"versions": versions}})
    assert errors == []
    assert definition["status"]["storedVersions"] == ["v1", "v2"]
