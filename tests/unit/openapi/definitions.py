"""The OpenAPI and discovery of a served CRD."""

from __future__ import annotations

from typing import Any

from gateway.customresources.model import model_of, resources_of
from gateway.kinds.resource import Resource


def custom(group: str, text: str, **properties: Any) -> list[Resource]:
    """What is served of a definition in two versions."""
    spec_schema = {"type": "object", "properties": {text: {"type": "string"}, **properties}}
    schema = {"type": "object", "properties": {"spec": spec_schema}}
    paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    subresources = {"scale": paths} if properties else {}
    shared: dict[str, Any] = {"served": True, "schema": {"openAPIV3Schema": schema}, "subresources": subresources}
    versions = [{"name": "v1", "storage": True, **shared}, {"name": "v2", "storage": False, **shared}]
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    definition = {"metadata": {"name": f"widgets.{group}"}, "spec": spec, "status": {"acceptedNames": names}}
    return resources_of(definition, model_of(definition, lambda _: None))
