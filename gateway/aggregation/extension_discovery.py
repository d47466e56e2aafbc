"""Gets the discovery documents of extension API servers, and merges them into this server's discovery."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gateway.aggregation import resource_lists
from gateway.aggregation.availability import AGGREGATOR
from gateway.aggregation.documents import DocumentClient, Unusable
from gateway.aggregation.objects import is_segment
from gateway.aggregation.services import ApiService, ApiServices
from gateway.controllers.api_service_objects import PRIORITIES
from gateway.discovery.others import version_order
from gateway.endpoints.foreign import ForeignKind
from gateway.jsontypes import JsonObject
from gateway.outbound.client import Client
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import Header
from gateway.outbound.services import ServiceAddresses
from gateway.release.gates import Enabled
from gateway.schema.errors import DecodeError
from gateway.schema.outside import read_json
from gateway.work_queue import WorkQueue

log = logging.getLogger(__name__)

TIMEOUT = 5.0  # seconds for one document
EVERY = 60.0  # seconds between two requests if nothing changes
LARGEST = 4 << 20  # bytes of a document
MOST = 5000  # resources of a group version
# The most objects ("{") in a document: even an empty one becomes a resource with all members. They are read in one call
# that keeps the interpreter to itself, in a thread too.
MOST_OBJECTS = 50_000
_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_ACCEPT: Header = (b"accept", _V2.encode())
_ACCEPT_BEFORE: Header = (b"accept", f"{_V2},{_V2.replace('v=v2;', 'v=v2beta1;')}".encode())
_CUSTOM = 1000, 100  # the priorities of a CRD's APIService, for the time before it exists
_UNKNOWN: tuple[int, dict[str, int]] = _CUSTOM[0], {}


@dataclass(slots=True)
class _Known:
    """The discovery of one group version of an extension API server."""

    resources: list[JsonObject] = field(default_factory=list)
    kinds: tuple[ForeignKind, ...] = ()
    digest: bytes = b""  # of the group version and the document; the same digest means the same content
    fresh: bool = False


class _Told(NamedTuple):
    """The aggregated discovery document of a server, and its ETag."""

    tag: bytes
    document: bytes


class ExtensionDiscovery:
    """Gets the discovery of extension API servers. The queue has names of APIServices."""

    def __init__(
        self,
        services: ApiServices,
        client: Client,
        addresses: ServiceAddresses,
        identity: ClientIdentity,
        enabled: Enabled,
    ) -> None:
        """`enabled`: tells whether a feature gate, or a change of the release, is on."""
        self._services = services
        self._accept = _ACCEPT if enabled("DiscoveryV2Alone") else _ACCEPT_BEFORE
        self._documents = DocumentClient(client, addresses, identity, AGGREGATOR, TIMEOUT, LARGEST)
        self._listeners: list[Callable[[], None]] = []
        self._known: dict[str, _Known] = {}
        self._told: dict[tuple[str, str, int] | None, _Told] = {}  # by the service that answered it
        self.queue: WorkQueue[str] = WorkQueue("discovery-manager", max_delay=EVERY)

    def changed(self, names: Collection[str]) -> None:
        """Queues APIServices whose discovery must be requested again, and calls the listeners."""
        for name in names:
            self.queue.add(name)
        self._tell()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls a function whenever the resources of extension API servers or the priorities of groups change."""
        self._listeners.append(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def resources(self, group: str, version: str) -> list[JsonObject]:
        """The last known resources of a group version, as APIResourceDiscovery objects."""
        service = self._services.remote.get((group, version))
        known = None if service is None else self._known.get(service.name)
        return [] if known is None else known.resources

    def kinds(self, service: ApiService) -> tuple[ForeignKind, ...]:
        """The kinds of an APIService. Resources whose names can't be in a path are left out."""
        known = self._known.get(service.name)
        return () if known is None else known.kinds

    def is_fresh(self, name: str) -> bool:
        """Whether the last request for the discovery of an APIService succeeded."""
        known = self._known.get(name)
        return known is not None and known.fresh

    async def reconcile(self, name: str) -> None:
        """Gets the discovery of one APIService."""
        service = self._services.get(name)
        if service is None or service.service is None:
            if self._known.pop(name, None) is None:
                return
            served = {each.service for each in self._services.remote.values()}
            self._told = {place: told for place, told in self._told.items() if place in served}
            return
        self.queue.add_after(name, EVERY)
        before = self._known.get(name, _Known())
        try:
            now = await self._ask(service, before)
        except Unusable as error:
            log.info(
                "the discovery document of an extension API server is not usable",
                extra={"apiservice": name, "error": str(error)},
            )
            now = None
        if self._services.get(name) is None:  # it was deleted meanwhile
            return
        self._known[name] = replace(before, fresh=False) if now is None else now
        if (before.digest, before.fresh) != (self._known[name].digest, self._known[name].fresh):
            self._tell()

    async def _ask(self, service: ApiService, before: _Known) -> _Known | None:
        """Requests the discovery of a group version: the aggregated document, or else that of the version alone.

        None if the server does not answer it. Raises Unusable.
        """
        told, asked = self._told.get(service.service), [self._accept]
        if told is not None:
            asked.append((b"if-none-match", told.tag))
        answer = await self._documents.get(service, "/apis", asked)
        if answer is None or answer.status == 503:
            return None
        if answer.status == 304 and told is not None:
            return await _understood(service, told.document, before)
        if answer.status == 200 and "as=APIGroupDiscoveryList" in answer.header("content-type"):
            self._told.pop(service.service, None)
            found = await _understood(service, answer.body, before)
            if tag := answer.header("etag"):
                self._told[service.service] = _Told(tag.encode("latin-1", "replace"), answer.body)
            return found
        answer = await self._documents.get(service, service.path, [(b"accept", b"application/json")])
        if answer is None or answer.status != 200:
            return None
        return await _understood(service, answer.body, before, of_version=True)

    # for this server's discovery

    def groups(self, local: Mapping[str, Iterable[str]]) -> list[tuple[str, list[str]]]:
        """All groups with their versions in the order of /apis: by the priorities in their APIServices.

        `local` are the groups and versions of this server.
        """
        versions = self._versions(local)
        first = {
            group: min((-self._priority(group, each)[0], f"{each}.{group}") for each in found)
            for group, found in versions.items()
        }
        return [(group, versions[group]) for group in sorted(versions, key=lambda group: first[group])]

    def discovered(self, local: Mapping[str, JsonObject]) -> list[JsonObject]:
        """The groups of the aggregated discovery document. `local` are those of this server, by group."""
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
        resources = {"resources": known.resources} if known.fresh and known.resources else {}
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
        """groupPriorityMinimum and versionPriority of a group version."""
        service = self._services.get(f"{version}.{group}")
        if service is None:
            priority, versions = PRIORITIES.get(group, _UNKNOWN)  # control planes have no APIServices of these
            return priority, versions.get(version, _CUSTOM[1])
        return service.group_priority, service.version_priority


async def _understood(service: ApiService, body: bytes, before: _Known, *, of_version: bool = False) -> _Known:
    """The discovery of a group version from a document. Raises Unusable.

    `of_version`: the document is an APIResourceList, not an aggregated one. A thread reads it, unless it has not
    changed since `before`.
    """
    digest = hashlib.sha256(service.group_version.encode() + b"\0" + body).digest()
    if digest == before.digest:
        return replace(before, fresh=True)
    return await asyncio.to_thread(_read, service, body, digest, of_version)


def _read(service: ApiService, body: bytes, digest: bytes, of_version: bool) -> _Known:

    if body.count(b"{") > MOST_OBJECTS:
        raise Unusable(f"it has more than {MOST_OBJECTS} objects")
    try:
        document = read_json(body, LARGEST)
    except DecodeError as error:
        raise Unusable(str(error)) from None
    if not isinstance(document, dict):
        raise Unusable("the discovery document is not an object")
    if of_version:
        resources = resource_lists.converted(resource_lists.dicts(document.get("resources")))
    else:
        resources = resource_lists.of_version(document, service.group, service.version)
    if len(resources) > MOST:
        raise Unusable(f"{len(resources)} resources are more than {MOST}, the most that a group version may have")
    return _Known(resources, tuple(_kinds(service, resources)), digest, True)


def _kinds(service: ApiService, resources: list[JsonObject]) -> Iterator[ForeignKind]:
    for each in resources:
        resource, kind, verbs = each.get("resource"), each.get("responseKind"), each.get("verbs")
        name = kind.get("kind") if isinstance(kind, dict) else None
        if isinstance(resource, str) and is_segment(resource) and isinstance(name, str) and isinstance(verbs, list):
            known = frozenset(verb for verb in verbs if isinstance(verb, str))
            namespaced = each.get("scope") == "Namespaced"
            yield ForeignKind(service.group, service.version, name, resource, namespaced, known)
