"""What extension servers say that they serve, and their groups among those that are served here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gateway.aggregation.availability import AGGREGATOR
from gateway.aggregation.identity import on_behalf_of
from gateway.aggregation.services import ApiService, ApiServices
from gateway.controllers.queue import WorkQueue
from gateway.discovery.others import version_order
from gateway.jsontypes import JsonObject, loads
from gateway.outbound.client import Answer, Client
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import Header, OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses

TIMEOUT = 5.0  # seconds for one document
EVERY = 60.0  # seconds between looks where nothing changes
LARGEST = 8 << 20  # bytes of a document
_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_ACCEPT: Header = (b"accept", f"{_V2},{_V2.replace('v=v2;', 'v=v2beta1;')}".encode())
_PRIORITIES = {"apiregistration.k8s.io": 1 << 30}  # it has no APIService, and comes first
_CUSTOM = 1000, 100  # what an APIService of a definition will say once it is made


@dataclass(slots=True)
class _Known:
    """What is known of a group version of another server."""

    resources: list[JsonObject] = field(default_factory=list)
    fresh: bool = False


class Discovered:
    """Asks extension servers what they serve. Keys are names of APIServices; `refresh` is called when that changes."""

    def __init__(
        self,
        services: ApiServices,
        client: Client,
        addresses: ServiceAddresses,
        identity: ClientIdentity,
        refresh: Callable[[], None],
    ) -> None:
        self._services, self._client, self._addresses, self._identity = services, client, addresses, identity
        self._refresh = refresh
        self._known: dict[str, _Known] = {}
        self.queue: WorkQueue[str] = WorkQueue("discovery-manager", max_delay=EVERY)

    def changed(self, names: set[str]) -> None:
        """Has servers asked again."""
        for name in names:
            self.queue.add(name)
        self._refresh()

    def resources(self, group: str, version: str) -> list[JsonObject]:
        """What a server was last known to serve in a group version, as APIResourceDiscovery."""
        service = self._services.remote.get((group, version))
        known = None if service is None else self._known.get(service.name)
        return [] if known is None else known.resources

    def is_fresh(self, name: str) -> bool:
        """Whether the server of an APIService tells what it serves."""
        known = self._known.get(name)
        return known is not None and known.fresh

    async def reconcile(self, name: str) -> None:
        """Asks the server of one APIService."""
        service = self._services.all.get(name)
        if service is None or service.service is None:
            self._known.pop(name, None)
            return
        self.queue.add_after(name, EVERY)
        found = await self._ask(service)
        before = self._known.get(name, _Known())
        self._known[name] = _Known(before.resources, False) if found is None else _Known(found, True)
        if self._known[name] != before:
            self._refresh()

    async def _ask(self, service: ApiService) -> list[JsonObject] | None:
        """The resources of a group version, None where the server does not tell."""
        answer = await self._get(service, "/apis", [_ACCEPT])
        if answer is not None and answer.status == 200 and "as=APIGroupDiscoveryList" in answer.header("content-type"):
            for group in _items(_read(answer)):
                if (group.get("metadata") or {}).get("name", "") == service.group:
                    for version in _dicts(group.get("versions")):
                        if version.get("version") == service.version:
                            return _dicts(version.get("resources"))
        answer = await self._get(service, service.path, [(b"accept", b"application/json")])
        if answer is None or answer.status != 200:
            return None
        return _converted(_dicts(_read(answer).get("resources")))

    async def _get(self, service: ApiService, path: str, headers: list[Header]) -> Answer | None:
        try:
            target = service.target(self._addresses, self._identity)
            request = OutboundRequest("GET", path, [*headers, *on_behalf_of(AGGREGATOR)])
            return await self._client.call(target, request, TIMEOUT, LARGEST)
        except (CallError, NoAddress, OSError, ValueError):
            return None

    # what discovery asks

    def groups(self, local: Mapping[str, Iterable[str]]) -> list[tuple[str, list[str]]]:
        """All groups with their versions, as /apis lists them: by the priorities that APIServices give them."""
        versions = self._versions(local)
        first = {
            group: min((-self._priority(group, each)[0], f"{each}.{group}") for each in found)
            for group, found in versions.items()
        }
        return [(group, versions[group]) for group in sorted(versions, key=lambda group: first[group])]

    def discovered(self, local: Mapping[str, JsonObject]) -> list[JsonObject]:
        """The groups of the aggregated document, given those that are served here."""
        served = {group: {each["version"]: each for each in document["versions"]} for group, document in local.items()}
        versions = self._versions(served)
        order = {group: max(self._priority(group, each)[0] for each in found) for group, found in versions.items()}
        return [
            {"metadata": {"name": group}, "versions": [self._version(group, each, served) for each in versions[group]]}
            for group in sorted(versions, key=lambda group: (-order[group], group))
        ]

    def _version(self, group: str, version: str, served: Mapping[str, Mapping[str, JsonObject]]) -> JsonObject:
        service = self._services.remote.get((group, version))
        if service is None:
            return served[group][version]
        known = self._known.get(service.name, _Known())
        resources = {"resources": known.resources} if known.resources else {}
        return {"version": version, **resources, "freshness": "Current" if known.fresh else "Stale"}

    def _versions(self, local: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
        found = {group: set(versions) for group, versions in local.items()}
        for group, version in self._services.remote:
            found.setdefault(group, set()).add(version)
        return {
            group: sorted(versions, key=lambda each: (-self._priority(group, each)[1], version_order(each)))
            for group, versions in found.items()
        }

    def _priority(self, group: str, version: str) -> tuple[int, int]:
        """The minimum priority of the group, and the priority of the version in it."""
        service = self._services.all.get(f"{version}.{group}")
        if service is None:
            return _PRIORITIES.get(group, _CUSTOM[0]), _CUSTOM[1]
        return service.group_priority, service.version_priority


def _read(answer: Answer) -> JsonObject:
    try:
        found = loads(answer.body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _items(document: JsonObject) -> list[JsonObject]:
    return _dicts(document.get("items"))


def _dicts(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _converted(resources: list[JsonObject]) -> list[JsonObject]:
    """An APIResourceList's resources as aggregated discovery has them."""
    found: dict[str, JsonObject] = {}
    for each in resources:
        name, _, subresource = str(each.get("name", "")).partition("/")
        kind = {"group": each.get("group", ""), "version": each.get("version", ""), "kind": each.get("kind", "")}
        if subresource:
            if name not in found:
                found[name] = {"resource": name, "responseKind": None, "scope": "", "singularResource": "", "verbs": []}
            entry = {"subresource": subresource, "responseKind": kind, "verbs": each.get("verbs") or []}
            found[name].setdefault("subresources", []).append(entry)
            continue
        entry = {
            "resource": name,
            "responseKind": kind,
            "scope": "Namespaced" if each.get("namespaced") else "Cluster",
            "singularResource": each.get("singularName", ""),
            "verbs": each.get("verbs") or [],
        }
        entry |= {key: each[key] for key in ("shortNames", "categories") if each.get(key)}
        found[name] = {**found.get(name, {}), **entry}
    return list(found.values())
