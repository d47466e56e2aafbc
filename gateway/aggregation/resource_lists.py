"""Converts discovery documents of extension API servers to resources of aggregated discovery (APIResourceDiscovery).

Source: the responses of kube-apiserver 1.36.3, which decodes such documents into Go types and encodes these.
"""

from __future__ import annotations

from typing import Any

from gateway.aggregation.documents import Unusable
from gateway.jsontypes import JsonObject


def dicts(value: object) -> list[JsonObject]:
    """The objects in a list; none if the value is not a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def of_version(document: JsonObject, group: str, version: str) -> list[JsonObject]:
    """The resources of a group version in an APIGroupDiscoveryList; none if it is not in it. Raises Unusable."""
    for each in dicts(document.get("items")):
        if _text(_object(each, "metadata"), "name") == group:
            for found in dicts(each.get("versions")):
                if found.get("version") == version:
                    return [_resource(resource) for resource in dicts(found.get("resources"))]
    return []


def converted(resources: list[JsonObject]) -> list[JsonObject]:
    """Converts the resources of an APIResourceList. Resources with only subresources come last. Raises Unusable."""
    found: dict[str, dict[str, Any]] = {}
    for each in resources:
        if "/" not in (name := _text(each, "name")):
            known = {"resource": name, "responseKind": each, "singularResource": each.get("singularName")}
            found[name] = _resource({**each, **known, "scope": _scope(each), "subresources": None})
    for each in resources:
        name, slash, subresource = _text(each, "name").partition("/")
        if not slash:
            continue
        parent = found.setdefault(name, _resource({"resource": name, "scope": _scope(each)}))
        if parent["scope"] != _scope(each):
            raise Unusable(f"{name} and {subresource} differ in scope")
        kind = each if each.get("kind") else None
        entry = _subresource({"subresource": subresource, "responseKind": kind, "verbs": each.get("verbs")})
        parent.setdefault("subresources", []).append(entry)
    return list(found.values())


def _resource(said: JsonObject) -> JsonObject:
    """A resource with exactly the members that Go encodes."""
    found: dict[str, Any] = {
        "resource": _text(said, "resource"),
        "responseKind": _kind(_object(said, "responseKind")),
        "scope": _text(said, "scope"),
        "singularResource": _text(said, "singularResource"),
        "verbs": _texts(said, "verbs"),
    }
    found |= {key: _texts(said, key) for key in ("shortNames", "categories") if said.get(key)}
    if subresources := dicts(said.get("subresources")):
        found["subresources"] = [_subresource(each) for each in subresources]
    return found


def _subresource(said: JsonObject) -> JsonObject:
    found: dict[str, Any] = {
        "subresource": _text(said, "subresource"),
        "responseKind": _kind(_object(said, "responseKind")),
        "verbs": _texts(said, "verbs"),
    }
    accepted = [_kind(each) for each in dicts(said.get("acceptedTypes"))]
    return found | ({"acceptedTypes": accepted} if accepted else {})


def _kind(said: JsonObject) -> JsonObject:
    return {name: _text(said, name) for name in ("group", "version", "kind")}


def _object(said: JsonObject, name: str) -> JsonObject:
    found = said.get(name)
    if not isinstance(found, dict | None):
        raise Unusable(f"{name} is not an object")
    return found or {}


def _text(said: JsonObject, name: str) -> str:
    found = said.get(name)
    if not isinstance(found, str | None):
        raise Unusable(f"{name} is not text")
    return found or ""


def _texts(said: JsonObject, name: str) -> list[str] | None:
    found = said.get(name)
    if found is None or (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        return found
    raise Unusable(f"{name} is not a list of strings")


def _scope(said: JsonObject) -> str:
    return "Namespaced" if said.get("namespaced") else "Cluster"
