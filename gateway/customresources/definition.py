"""Reads parts of a stored CustomResourceDefinition: names, conditions, versions."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.customresourcedefinitions import FINALIZER
from gateway.validation.custom_resource_definition import is_established

__all__ = ["FINALIZER", "condition", "ends_unserved", "is_established", "is_true", "serves", "stored_version"]

NAMES_ACCEPTED, ESTABLISHED, TERMINATING = "NamesAccepted", "Established", "Terminating"
NON_STRUCTURAL, APPROVED = "NonStructuralSchema", "KubernetesAPIApprovalPolicyConformant"


def condition(definition: JsonObject, type_: str) -> JsonObject | None:
    """The condition of a type, None if it is not there."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == type_), None)


def is_true(definition: JsonObject, type_: str) -> bool:
    """Whether a condition holds."""
    return (condition(definition, type_) or {}).get("status") == "True"


def serves(definition: JsonObject) -> bool:
    """Whether its objects can be asked for."""
    return is_true(definition, ESTABLISHED)


def ends_unserved(definition: JsonObject) -> bool:
    """Whether it is being deleted while none of its versions is served: that of storage is then, to delete objects."""
    versions = definition["spec"].get("versions") or ()
    return bool(definition["metadata"].get("deletionTimestamp")) and not any(each.get("served") for each in versions)


def stored_version(definition: JsonObject) -> str:
    """The version in which objects are stored."""
    versions = definition["spec"].get("versions") or ()
    return next((version["name"] for version in versions if version.get("storage")), "")
