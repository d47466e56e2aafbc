"""Converts CustomResourceDefinitions from apiextensions.k8s.io/v1beta1, kube-apiserver's storage version, to v1.

In v1beta1, fields that all versions share may be in the spec itself instead of each version.
"""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject

_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
_WEBHOOK = {"webhookClientConfig": "clientConfig", "conversionReviewVersions": "conversionReviewVersions"}


def definition_to_v1(stored: JsonObject) -> JsonObject:
    """The CRD in v1; a new object that shares parts with the stored one."""
    spec: JsonObject = dict(stored.get("spec") or {})
    shared = {key: spec.pop(above, None) for key, above in _SHARED.items()}
    first = spec.pop("version", None)
    versions = spec.get("versions") or ([{"name": first, "served": True, "storage": True}] if first else [])
    spec["versions"] = [_version(version, shared) for version in versions]
    if "conversion" in spec:
        spec["conversion"] = _conversion(spec["conversion"] or {})
    spec["preserveUnknownFields"] = spec.get("preserveUnknownFields", True)  # the default of v1beta1
    return {**stored, "apiVersion": "apiextensions.k8s.io/v1", "spec": spec}


def _version(version: JsonObject, shared: JsonObject) -> JsonObject:
    made = dict(version)
    for key, value in shared.items():
        if made.get(key) is None and value is not None:
            made[key] = value
    if columns := made.get("additionalPrinterColumns"):
        made["additionalPrinterColumns"] = [_column(column) for column in columns]
    return made


def _column(column: JsonObject) -> JsonObject:
    made = {key: value for key, value in column.items() if key != "JSONPath"}
    if "JSONPath" in column:
        made["jsonPath"] = column["JSONPath"]
    return made


def _conversion(conversion: JsonObject) -> JsonObject:
    made = dict(conversion)
    webhook: dict[str, Any] = {}
    for key, name in _WEBHOOK.items():
        value = made.pop(key, None)
        if value is not None:
            webhook[name] = value
    if webhook:
        made["webhook"] = webhook
    return made
