"""Makes discovery documents, which list the served resources (API Concepts, "API discovery").

Built once from the served resources, as JSON bytes: legacy documents (`APIVersions`, `APIGroupList`, `APIGroup`,
`APIResourceList`) by path, and the aggregated `APIGroupDiscoveryList` for /api and /apis.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from gateway.discovery.others import ExtensionGroups
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource

AGGREGATED_API_VERSION = "apidiscovery.k8s.io/v2"


Versions = Mapping[str, Sequence[Resource]]  # version -> its resources, each followed by its subresources
Groups = Mapping[str, Versions]


def groups_of(registry: Registry) -> Groups:
    """The groups, versions and resources that a registry serves, in its order."""
    return {
        group: {version: registry.of_version(group, version) for version in versions}
        for group, versions in registry.groups.items()
    }


def legacy_documents(groups: Groups, server_address: str, others: ExtensionGroups | None = None) -> dict[str, bytes]:
    """Each legacy document by its path, without a trailing slash."""
    documents: dict[str, bytes] = {}
    local: Mapping[str, Iterable[str]] = {name: versions for name, versions in groups.items() if name}
    named = [_group(name, versions) for name, versions in (local.items() if others is None else others.groups(local))]
    api_versions: JsonObject = {
        "kind": "APIVersions",
        "versions": list(groups.get("", {})),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }
    documents["/api"] = _line(api_versions)
    documents["/apis"] = _line({"kind": "APIGroupList", "apiVersion": "v1", "groups": named})
    for group in named:
        documents[f"/apis/{group['name']}"] = _line({"kind": "APIGroup", "apiVersion": "v1", **group})
    for name, versions in groups.items():
        for version, resources in versions.items():
            path = f"/apis/{name}/{version}" if name else f"/api/{version}"
            documents[path] = _line(_resource_list(name, version, resources))
    return documents


def _group(name: str, versions: Iterable[str]) -> JsonObject:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def _resource_list(group: str, version: str, resources: Sequence[Resource]) -> JsonObject:
    # the core group's list has no apiVersion on the wire
    head: JsonObject = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
    group_version = f"{group}/{version}" if group else version
    return {**head, "groupVersion": group_version, "resources": [_api_resource(resource) for resource in resources]}


def _api_resource(resource: Resource) -> JsonObject:
    name = f"{resource.resource}/{resource.subresource}" if resource.subresource else resource.resource
    entry: JsonObject = {
        "name": name,
        "singularName": "" if resource.subresource else resource.singular,
        "namespaced": resource.namespaced,
    }
    if resource.foreign_kind:
        entry |= {key: value for key, value in _kind(resource).items() if key != "kind" and value}
    entry |= {"kind": resource.kind, "verbs": resource.discovered_verbs, **_names(resource)}
    version_hash = storage_version_hash(resource)
    if version_hash:
        entry["storageVersionHash"] = version_hash
    return entry


def aggregated_documents(groups: Groups, others: ExtensionGroups | None = None) -> dict[str, bytes]:
    """The aggregated documents of /api and /apis."""
    core = [_group_discovery(name, versions) for name, versions in groups.items() if not name]
    named = [_group_discovery(name, versions) for name, versions in groups.items() if name]
    if others is not None:
        named = others.discovered({each["metadata"]["name"]: each for each in named})
    return {"/api": _line(_aggregated(core)), "/apis": _line(_aggregated(named))}


def _aggregated(items: list[JsonObject]) -> JsonObject:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": AGGREGATED_API_VERSION, "metadata": {}, "items": items}


def _group_discovery(name: str, versions: Versions) -> JsonObject:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {"version": version, "resources": _resources_discovery(resources), "freshness": "Current"}
            for version, resources in versions.items()
        ],
    }


def _resources_discovery(resources: Sequence[Resource]) -> list[JsonObject]:
    entries: dict[str, JsonObject] = {}
    for resource in resources:
        if not resource.subresource:
            entries[resource.resource] = {
                "resource": resource.resource,
                "responseKind": _kind(resource),
                "scope": "Namespaced" if resource.namespaced else "Cluster",
                "singularResource": resource.singular,
                "verbs": resource.discovered_verbs,
                **_names(resource),
            }
        elif resource.resource in entries:
            entries[resource.resource].setdefault("subresources", []).append(
                {
                    "subresource": resource.subresource,
                    "responseKind": _kind(resource),
                    "verbs": resource.discovered_verbs,
                }
            )
    return list(entries.values())


def storage_version_hash(resource: Resource) -> str:
    """The storageVersionHash, by which clients notice a change of the storage version; "" if nothing is stored."""
    if not resource.storage_prefix or resource.subresource:
        return ""
    group, version = resource.model.storage_version
    if announced := resource.model.announced_version:
        version = announced()
    return b64encode(sha256(f"{group}/{version}/{resource.kind}".encode()).digest()[:8]).decode()


def _names(resource: Resource) -> JsonObject:
    names: JsonObject = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names


def _kind(resource: Resource) -> JsonObject:
    """The kind of the answers; group and version are empty if they are those of the built-in resource itself."""
    named = resource.foreign_kind or resource.custom
    return {
        "group": resource.kind_group if named else "",
        "version": resource.kind_version if named else "",
        "kind": resource.kind,
    }


def _line(document: JsonObject) -> bytes:
    return dumps(document) + b"\n"
