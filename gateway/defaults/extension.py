"""Defaults of the objects that extend the API: custom resource definitions and API services.

Source: Kubernetes API reference, CustomResourceDefinitionNames, CustomResourceConversion, ServiceReference.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject


def _names(names: JsonObject) -> None:
    kind = names.get("kind")
    if kind:
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or f"{kind}List"


def _stored_versions(definition: JsonObject) -> None:
    """Without stored versions, the status gets the storage version as the only one."""
    versions = (definition.get("spec") or {}).get("versions") or ()
    storage = next((version.get("name", "") for version in versions if version.get("storage")), None)
    if storage is not None:
        status = definition.setdefault("status", {})
        if not status.get("storedVersions"):
            status["storedVersions"] = [storage]


DEFAULTERS: Defaulters = {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): compile_table(
        {
            "spec+.names+": _names,
            "spec+.conversion?": {"strategy": "None"},
            "spec+.conversion.webhook.clientConfig.service.port?": 443,
        },
        _stored_versions,
    ),
    ("apiregistration.k8s.io/v1", "APIService"): compile_table({"spec.service.port?": 443}),
}
