"""What is served of a definition."""

from __future__ import annotations

from typing import Any

from gateway.customresources.model import model_of, resources_of
from gateway.kinds.resource import Resource


def custom(group: str, text: str) -> list[Resource]:
    """What is served of a definition in two versions."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {text: {"type": "string"}}}}}
    shared: dict[str, Any] = {"served": True, "schema": {"openAPIV3Schema": schema}}
    versions = [{"name": "v1", "storage": True, **shared}, {"name": "v2", "storage": False, **shared}]
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions}
    definition = {"metadata": {"name": f"widgets.{group}"}, "spec": spec, "status": {"acceptedNames": names}}
    return resources_of(definition, model_of(definition, lambda _: None))
