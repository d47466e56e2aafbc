"""Imports objects into a Kubernetes API, in the order of their dependencies, by server-side apply or by create."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby

from gateway.jsontypes import JsonObject
from gateway.task_group import TaskGroup
from gateway.transfer.belongings import stripped
from gateway.transfer.cluster import ApiError, RemoteCluster
from gateway.transfer.order import rank
from gateway.transfer.resources import DiscoveredResources, discover
from gateway.validation.custom_resource_definition import is_established

MANAGER = "apiserver-gateway-import"
AT_ONCE = 8
ESTABLISHED_TIMEOUT, LOOK = 30.0, 0.1  # seconds until a CRD has to be served, and between checks
_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")
_APPLY, _MERGE = "application/apply-patch+yaml", "application/merge-patch+json"

Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class How:
    """How objects are written: by server-side apply, or with `create` by POST, which fails if an object exists."""

    create: bool = False
    force: bool = False  # take fields from other managers
    status: bool = False
    dry_run: bool = False

    def query(self) -> str:
        """The query parameters of each write."""
        force = "&force=true" if self.force and not self.create else ""
        return f"?fieldManager={MANAGER}{force}{'&dryRun=All' if self.dry_run else ''}"


@dataclass(slots=True)
class Imported:
    """The number of written objects, and an error line per problem."""

    count: int = 0
    problems: list[str] = field(default_factory=list)


class _NotServed(Exception):
    """The server does not serve the kind."""


@dataclass(frozen=True, slots=True)
class _Orphan:
    """An object that was written before one of its owners."""

    of: _Object
    path: str
    namespace: str
    references: list[JsonObject]


@dataclass(frozen=True, slots=True)
class _Object:
    place: str
    value: JsonObject

    @property
    def kind(self) -> tuple[str, str]:
        group, slash, _ = str(self.value["apiVersion"]).partition("/")
        return (group if slash else ""), str(self.value["kind"])

    @property
    def rank(self) -> int:
        return rank(*self.kind, owned=bool(self.value["metadata"].get("ownerReferences")))


async def import_all(
    cluster: RemoteCluster, objects: Iterable[tuple[str, JsonObject]], how: How, told: Told
) -> Imported:
    """Writes all objects; errors with single objects are among the problems.

    Raises ApiError or Unreachable if the resources can't be discovered. If the server can't be reached later, it raises
    Unreachable, also in an ExceptionGroup.
    """
    importing = _Importing(cluster, how, await discover(cluster), told)
    found = sorted((_Object(place, value) for place, value in objects), key=lambda each: each.rank)
    importing.total = len(found)
    importing.coming = {_referred(each.value | {"name": each.value["metadata"]["name"]}) for each in found}
    for _, group in groupby(found, key=lambda each: each.rank):
        await importing.write(list(group))
    await importing.adopt()
    return importing.imported


def _referred(reference: JsonObject) -> tuple[str, str, str]:
    group, slash, _ = str(reference.get("apiVersion")).partition("/")
    return (group if slash else ""), str(reference.get("kind")), str(reference.get("name"))


class _Importing:
    def __init__(self, cluster: RemoteCluster, how: How, found: DiscoveredResources, told: Told) -> None:
        self._cluster, self._how, self._found, self._told = cluster, how, found, told
        self._places = asyncio.Semaphore(AT_ONCE)
        self._uids: dict[str, str] = {}  # UIDs of owners, by path
        self._orphans: list[_Orphan] = []
        self.coming: set[tuple[str, str, str]] = set()  # group, kind and name of all objects of this import
        self.imported, self.total, self._done = Imported(), 0, 0

    async def write(self, objects: list[_Object]) -> None:
        """Writes objects that do not depend on each other, at most `AT_ONCE` at the same time."""
        async with TaskGroup() as group:
            for each in objects:
                group.create_task(self._one(each))
        if any(each.kind == _DEFINITION for each in objects) and not self._how.dry_run:
            await asyncio.gather(*(self._established(each) for each in objects))
            self._found = await discover(self._cluster)

    async def _one(self, obj: _Object) -> None:
        async with self._places:
            try:
                await self._written(obj)
                self.imported.count += 1
            except (ApiError, _NotServed) as error:
                self._problem(obj, str(error))
        self._done += 1
        self._told("objects", self._done, self.total)

    async def _written(self, obj: _Object) -> None:
        resource = self._found.of_kind(*obj.kind)
        if resource is None:
            raise _NotServed(f"the server has no {obj.value['kind']} of {obj.value['apiVersion']}")
        value = stripped(obj.value, status=True)
        status = value.pop("status", None)
        metadata = value["metadata"]
        namespace = str(metadata.get("namespace") or "default") if resource.namespaced else ""
        references = metadata.get("ownerReferences") or []
        if references:
            metadata["ownerReferences"] = await self._owners(references, namespace)
        # the object's version, which may differ from the preferred one
        place = replace(resource, version=str(value["apiVersion"]).rpartition("/")[2])
        path = place.path(namespace, metadata["name"])
        if self._how.create:
            await self._cluster.ask("POST", place.path(namespace) + self._how.query(), value)
        else:
            await self._cluster.ask("PATCH", path + self._how.query(), value, _APPLY)
        if len(metadata.get("ownerReferences") or ()) < len(references) and self.coming & {*map(_referred, references)}:
            self._orphans.append(_Orphan(obj, path, namespace, references))
        if status and self._how.status and "status" in resource.subresources:
            whole = {"apiVersion": value["apiVersion"], "kind": value["kind"], "metadata": _named(metadata)}
            forced = replace(self._how, force=True, create=False).query()
            await self._cluster.ask("PATCH", f"{path}/status{forced}", {**whole, "status": status}, _APPLY)

    async def adopt(self) -> None:
        """Sets the owner references of objects that were written before their owners."""
        for orphan in () if self._how.dry_run else self._orphans:
            owners = await self._owners(orphan.references, orphan.namespace)
            value = stripped(orphan.of.value)
            value["metadata"]["ownerReferences"] = owners
            patch, how = ({"metadata": {"ownerReferences": owners}}, _MERGE) if self._how.create else (value, _APPLY)
            try:
                await self._cluster.ask("PATCH", orphan.path + self._how.query(), patch, how)
            except ApiError as error:
                self._problem(orphan.of, f"its owners: {error}")

    async def _owners(self, references: list[JsonObject], namespace: str) -> list[JsonObject]:
        """The owner references with the UIDs of this cluster; those of missing owners are left out."""
        found = []
        for reference in references:
            group, kind, name = _referred(reference)
            resource = self._found.of_kind(group, kind)
            if resource is None:
                continue
            path = resource.path(namespace, name)
            if path not in self._uids:
                try:
                    owner = await self._cluster.ask("GET", path)
                except ApiError:
                    continue
                self._uids[path] = str(owner["metadata"]["uid"])
            found.append({**reference, "uid": self._uids[path]})
        return found

    async def _established(self, obj: _Object) -> None:
        """For a CRD, waits until its resource is served."""
        if obj.kind != _DEFINITION or (resource := self._found.of_kind(*_DEFINITION)) is None:
            return
        path = resource.path("", str(obj.value["metadata"]["name"]))
        try:
            async with asyncio.timeout(ESTABLISHED_TIMEOUT):
                while not is_established(await self._cluster.ask("GET", path)):
                    await asyncio.sleep(LOOK)
        except ApiError:
            return  # its write has failed, which is among the problems
        except TimeoutError:
            self._problem(obj, f"it is not Established after {ESTABLISHED_TIMEOUT:g} s")

    def _problem(self, obj: _Object, said: str) -> None:
        metadata = obj.value["metadata"]
        name = f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
        self.imported.problems.append(f"{obj.place}: {obj.value['kind']} {name}: {' '.join(said.split())}")


def _named(metadata: JsonObject) -> JsonObject:
    return {name: metadata[name] for name in ("name", "namespace") if name in metadata}
