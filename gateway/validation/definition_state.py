"""How far a CustomResourceDefinition has come."""

from __future__ import annotations

from gateway.jsontypes import JsonObject

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Holds a definition until its objects are deleted."""


def is_established(definition: JsonObject) -> bool:
    """Whether its objects have been served."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)
