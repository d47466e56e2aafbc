"""What extension servers say that they serve, as aggregated discovery lists it (APIResourceDiscovery).

Source: the answers of kube-apiserver 1.36.3, which reads such documents into its types and writes those.
"""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject


class Contradicted(Exception):
    """A resource and its subresource say different things of their scope."""


def dicts(value: object) -> list[JsonObject]:
    """The objects of a list; none where it is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def of_version(document: JsonObject, group: str, version: str) -> list[JsonObject]:
    """The resources of a group version in an APIGroupDiscoveryList; none where it is not listed."""
    for each in dicts(document.get("items")):
        if (each.get("metadata") or {}).get("name", "") == group:
            for found in dicts(each.get("versions")):
                if found.get("version") == version:
                    return [_resource(resource) for resource in dicts(found.get("resources"))]
    return []


def converted(resources: list[JsonObject]) -> list[JsonObject]:
    """The resources of an APIResourceList; those that have only subresources come last. Raises Contradicted."""
    found = {
        str(each.get("name", "")): {
            "resource": str(each.get("name", "")),
            "responseKind": _kind(each),
            "scope": _scope(each),
            "singularResource": each.get("singularName", ""),
            "verbs": each.get("verbs"),
            **{key: each[key] for key in ("shortNames", "categories") if each.get(key)},
        }
        for each in resources
        if "/" not in str(each.get("name", ""))
    }
    for each in resources:
        name, slash, subresource = str(each.get("name", "")).partition("/")
        if not slash:
            continue
        parent = found.setdefault(name, _resource({"resource": name, "scope": _scope(each)}))
        if parent["scope"] != _scope(each):
            raise Contradicted(f"{name} and {subresource} differ in scope")
        kind = _kind(each) if each.get("kind") else _kind({})
        entry = {"subresource": subresource, "responseKind": kind, "verbs": each.get("verbs")}
        parent.setdefault("subresources", []).append(entry)
    return list(found.values())


def _resource(said: JsonObject) -> JsonObject:
    """A resource with all that Go writes of it, and nothing else."""
    found: dict[str, Any] = {
        "resource": said.get("resource", ""),
        "responseKind": _kind(said.get("responseKind") or {}),
        "scope": said.get("scope", ""),
        "singularResource": said.get("singularResource", ""),
        "verbs": said.get("verbs"),
    }
    found |= {key: said[key] for key in ("shortNames", "categories") if said.get(key)}
    if subresources := dicts(said.get("subresources")):
        found["subresources"] = [_subresource(each) for each in subresources]
    return found


def _subresource(said: JsonObject) -> JsonObject:
    found: dict[str, Any] = {
        "subresource": said.get("subresource", ""),
        "responseKind": _kind(said.get("responseKind") or {}),
        "verbs": said.get("verbs"),
    }
    return found | ({"acceptedTypes": said["acceptedTypes"]} if said.get("acceptedTypes") else {})


def _kind(said: JsonObject) -> JsonObject:
    return {"group": said.get("group", ""), "version": said.get("version", ""), "kind": said.get("kind", "")}


def _scope(said: JsonObject) -> str:
    return "Namespaced" if said.get("namespaced") else "Cluster"
