"""Reads conditions and versions of a stored CustomResourceDefinition."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.customresourcedefinitions import FINALIZER
from gateway.validation.custom_resource_definition import is_established

__all__ = ["FINALIZER", "condition", "ends_unserved", "is_established", "is_true", "serves", "stored_version"]

NAMES_ACCEPTED, ESTABLISHED, TERMINATING = "NamesAccepted", "Established", "Terminating"
NON_STRUCTURAL, APPROVED = "NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant"


def condition(definition: JsonObject, type_: str) -> JsonObject | None:
    """The condition of a type; None if the CRD does not have it."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == type_), None)


def is_true(definition: JsonObject, type_: str) -> bool:
    """Whether the status of a condition is "True"."""
    return (condition(definition, type_) or {}).get("status") == "True"


def serves(definition: JsonObject) -> bool:
    """Whether the CRD's objects are served: it is Established."""
    return is_true(definition, ESTABLISHED)


def ends_unserved(definition: JsonObject) -> bool:
    """Whether the CRD is being deleted and serves no version. Then the storage version is served to delete objects."""
    versions = definition["spec"].get("versions") or ()
    return bool(definition["metadata"].get("deletionTimestamp")) and not any(each.get("served") for each in versions)


def stored_version(definition: JsonObject) -> str:
    """The name of the storage version; "" if there is none."""
    versions = definition["spec"].get("versions") or ()
    return next((version["name"] for version in versions if version.get("storage")), "")
