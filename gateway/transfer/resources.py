"""The resources of a server, from its discovery documents: each once, if possible in its group's preferred version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from gateway.jsontypes import JsonObject
from gateway.transfer.cluster import ApiError, RemoteCluster


@dataclass(frozen=True, slots=True)
class ApiResource:
    """A resource; `subresources` are the names of its subresources, such as status."""

    group: str
    version: str
    name: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]
    aliases: frozenset[str] = frozenset()  # singular and short names
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """The name in kubectl's form, such as deployments.apps."""
        return f"{self.name}.{self.group}" if self.group else self.name

    def path(self, namespace: str = "", name: str = "") -> str:
        """The URL path of the collection, or of an object if `name` is given."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        place = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced and namespace else ""
        return f"{root}{place}/{self.name}" + (f"/{quote(name, safe='')}" if name else "")


@dataclass(frozen=True, slots=True)
class DiscoveredResources:
    """The resources, and an error line for each group version that could not be discovered."""

    resources: tuple[ApiResource, ...]
    problems: tuple[str, ...]

    def find(self, said: str) -> ApiResource | None:
        """The resource with this plural, singular or short name, or kind; "NAME.GROUP" names the group too."""
        word, _, group = said.lower().partition(".")
        for each in self.resources:
            if word in (each.name, each.kind.lower(), *each.aliases) and group in ("", each.group):
                return each
        return None

    def of_kind(self, group: str, kind: str) -> ApiResource | None:
        for each in self.resources:
            if (each.group, each.kind) == (group, kind) and "list" in each.verbs:
                return each
        return next((each for each in self.resources if (each.group, each.kind) == (group, kind)), None)


async def discover(cluster: RemoteCluster) -> DiscoveredResources:
    """Discovers all resources. Raises ApiError, Unreachable if the server does not list its groups."""
    core, groups = await asyncio.gather(cluster.ask("GET", "/api"), cluster.ask("GET", "/apis"))
    wanted = [("", version, f"/api/{version}") for version in core.get("versions") or ()]
    for group in groups.get("groups") or ():
        versions = [each["version"] for each in group.get("versions") or ()]
        preferred = (group.get("preferredVersion") or {}).get("version")
        versions.sort(key=lambda version: version != preferred)
        wanted += [(group["name"], version, f"/apis/{group['name']}/{version}") for version in versions]
    lists = await asyncio.gather(*(_list(cluster, path) for _, _, path in wanted))
    found: dict[tuple[str, str], ApiResource] = {}
    problems = []
    for (group, version, path), answer in zip(wanted, lists, strict=True):
        if isinstance(answer, str):
            problems.append(f"{path}: {answer}")
            continue
        for resource in _resources(group, version, answer.get("resources") or ()):
            found.setdefault((group, resource.name), resource)
    return DiscoveredResources(tuple(found.values()), tuple(problems))


async def _list(cluster: RemoteCluster, path: str) -> JsonObject | str:
    try:
        return await cluster.ask("GET", path)
    except ApiError as error:
        return str(error)


def _resources(group: str, version: str, told: Sequence[JsonObject]) -> Iterable[ApiResource]:
    below: dict[str, set[str]] = {}
    for each in told:
        name, slash, subresource = str(each["name"]).partition("/")
        if slash:
            below.setdefault(name, set()).add(subresource)
    for each in told:
        if "/" not in str(each["name"]):
            aliases = {str(each.get("singularName") or ""), *each.get("shortNames", ())} - {""}
            yield ApiResource(
                group,
                version,
                str(each["name"]),
                str(each["kind"]),
                bool(each.get("namespaced")),
                frozenset(each.get("verbs") or ()),
                frozenset(aliases),
                frozenset(below.get(each["name"], ())),
            )
