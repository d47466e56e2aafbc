"""Exports objects of a Kubernetes API to files: chosen resources and namespaces, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote

from gateway.jsontypes import JsonObject
from gateway.transfer.belongings import RESOURCES, blanked, comes_by_itself, stripped
from gateway.transfer.cluster import ApiError, RemoteCluster
from gateway.transfer.order import rank
from gateway.transfer.resources import ApiResource, DiscoveredResources, discover

PAGE = 500

Told = Callable[[str, int, int], None]


class UnknownResource(Exception):
    """The server has no resource of that name."""


class ExportTarget(Protocol):
    """The target of an export."""

    def put(self, resource: str, obj: JsonObject) -> None:
        """Writes one object; `resource` is its full name, such as deployments.apps."""


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """What to export; without `resources` or `namespaces`, all of them."""

    resources: Sequence[str] = ()
    namespaces: Sequence[str] = ()
    status: bool = False
    everything: bool = False  # also objects that each cluster makes itself
    blank: bool = False  # Secrets with their keys, but empty values


@dataclass(slots=True)
class Exported:
    """The number of exported objects, and an error line per resource that could not be read."""

    count: int = 0
    problems: list[str] = field(default_factory=list)


async def export(cluster: RemoteCluster, wanted: ExportSelection, sink: ExportTarget, told: Told) -> Exported:
    """Puts the objects into the sink, in the order of an import; `told` is called after each.

    An error with one resource is among the problems. Raises UnknownResource; ApiError if discovery fails; Unreachable.
    """
    served = await discover(cluster)
    exported = Exported(problems=list(served.problems))
    going = frozenset[str]() if wanted.everything else await _ending(cluster)
    for resource in chosen(served, wanted):
        try:
            async for obj in _objects(cluster, resource, wanted.namespaces):
                if wanted.everything or not (comes_by_itself(obj) or obj["metadata"].get("namespace") in going):
                    found = blanked(obj) if wanted.blank else obj
                    sink.put(resource.full_name, stripped(found, status=wanted.status))
                    exported.count += 1
                    told("objects", exported.count, 0)
        except ApiError as error:
            exported.problems.append(f"{resource.full_name}: {error}")
    return exported


async def _ending(cluster: RemoteCluster) -> frozenset[str]:
    """The namespaces that are being deleted; empty if namespaces can't be listed."""
    try:
        pages = [page async for page in _pages(cluster, "/api/v1/namespaces")]
    except ApiError:
        return frozenset()
    found = (item["metadata"] for page in pages for item in page.get("items") or ())
    return frozenset(metadata["name"] for metadata in found if metadata.get("deletionTimestamp"))


def chosen(found: DiscoveredResources, wanted: ExportSelection) -> list[ApiResource]:
    """The resources to export, in the order of an import. Raises UnknownResource."""
    if wanted.resources:
        resources = []
        for said in wanted.resources:
            resource = found.find(said)
            if resource is None or "list" not in resource.verbs:
                raise UnknownResource(f"the server has no resource {said!r} that can be listed")
            resources.append(resource)
    else:
        resources = [
            each
            for each in found.resources
            if {"list", "create"} <= each.verbs
            and (wanted.everything or each.full_name not in RESOURCES)
            and (each.namespaced or not wanted.namespaces or each.full_name == "namespaces")
        ]
    return sorted(dict.fromkeys(resources), key=lambda each: rank(each.group, each.kind))


async def _objects(
    cluster: RemoteCluster, resource: ApiResource, namespaces: Sequence[str]
) -> AsyncIterator[JsonObject]:
    """Yields the objects, with apiVersion and kind, which the items of a list lack."""
    own = resource.full_name == "namespaces"
    for namespace in namespaces if namespaces and resource.namespaced else [""]:
        async for page in _pages(cluster, resource.path(namespace)):
            for item in page.get("items") or ():
                if own and namespaces and item["metadata"]["name"] not in namespaces:
                    continue
                yield {"apiVersion": resource.api_version, "kind": resource.kind} | item


async def _pages(cluster: RemoteCluster, path: str) -> AsyncIterator[JsonObject]:
    token = ""
    while True:
        following = f"&continue={quote(token, safe='')}" if token else ""
        try:
            page = await cluster.ask("GET", f"{path}?limit={PAGE}{following}")
        except ApiError as error:
            fresh = (error.body.get("metadata") or {}).get("continue")
            if error.status != 410 or not token or not fresh:
                raise
            token = str(fresh)  # continues with the present objects: the old revision was compacted
            continue
        yield page
        token = str((page.get("metadata") or {}).get("continue") or "")
        if not token:
            return
