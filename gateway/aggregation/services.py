"""All APIServices, as of now, and which of them leave their group version to another server."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gateway.jsontypes import JsonObject, loads
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.services import ServiceAddresses
from gateway.outbound.target import Target
from storage.cache import ResourceCache, WatchCache
from storage.entry import ChangeType, Entry
from storage.tap import Batch, State, listen

log = logging.getLogger(__name__)

GROUP, RESOURCE = "apiregistration.k8s.io", "apiservices"
AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
AVAILABLE = "Available"

GroupVersion = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ApiService:
    """One APIService. Without a `service` (namespace, name, port) its group version is served here."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    automanaged: str
    available: bool
    service: tuple[str, str, int] | None = None
    insecure: bool = False
    bundle: str = ""  # CAs, PEM
    revision: int = 0

    @property
    def group_version(self) -> str:
        """As apiVersion has it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where its discovery document is."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def target(self, addresses: ServiceAddresses, identity: ClientIdentity) -> Target:
        """The server, by its service. Raises NoAddress, OSError and ValueError for certificates that are none."""
        assert self.service is not None
        namespace, name, port = self.service
        host, at = addresses.address(namespace, name, port)
        shown = f"[{host}]" if ":" in host else host
        context = identity.context(self.bundle, insecure=self.insecure)
        return Target(host, at, context, f"{name}.{namespace}.svc", f"{shown}:{at}")


class ApiServices:
    """Follows the APIServices. Listeners are told the names of those that change, in the turn in which they do."""

    def __init__(self) -> None:
        self.all: dict[str, ApiService] = {}  # by name
        self.remote: dict[GroupVersion, ApiService] = {}
        self._listeners: list[Callable[[set[str]], None]] = []

    def follow(self, cache: WatchCache, resource: ResourceCache) -> None:
        """Keeps itself up to date from now on."""
        listen(cache, [resource], self._take)

    def on_change(self, listener: Callable[[set[str]], None]) -> None:
        """Has somebody told of changes; of all that there are at once."""
        self._listeners.append(listener)
        listener(set(self.all))

    def of_service(self, namespace: str, name: str) -> Iterable[str]:
        """The APIServices that lead to a service."""
        return [each.name for each in self.remote.values() if each.service and each.service[:2] == (namespace, name)]

    def _take(self, batch: Batch) -> None:
        before = self.all
        if isinstance(batch, State):
            read = (_read(entry) for entries in batch.entries.values() for entry in entries)
            self.all = {found.name: found for found in read if found is not None}
            changed = set(before) | set(self.all)
        else:
            self.all, changed = dict(before), set()
            for told in batch.told:
                name = told.change.key.rpartition(b"/")[2].decode()
                changed.add(name)
                self.all.pop(name, None)
                found = None if told.change.type is ChangeType.DELETED else _read(told.change.entry)
                if found is not None:
                    self.all[name] = found
        self.remote = {(each.group, each.version): each for each in self.all.values() if each.service is not None}
        for listener in self._listeners:
            listener(changed)


def _read(entry: Entry) -> ApiService | None:
    """What an entry says; None for JSON that somebody else wrote to etcd and that is no APIService of this key."""
    try:
        found = _made(entry)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        log.warning("an APIService can't be read", extra={"key": entry.key.decode(), "error": repr(error)})
        return None
    return found if found.name == entry.key.rpartition(b"/")[2].decode() else None


def _made(entry: Entry) -> ApiService:
    obj: JsonObject = loads(b"{" + entry.tail)
    spec, meta = obj.get("spec") or {}, obj["metadata"]
    conditions = (obj.get("status") or {}).get("conditions") or ()
    service = spec.get("service")
    place = None
    if service:
        place = str(service.get("namespace", "")), str(service.get("name", "")), int(service.get("port") or 443)
    try:
        bundle = base64.b64decode(spec.get("caBundle") or "").decode("ascii", "replace")
    except ValueError:
        bundle = ""
    return ApiService(
        name=meta["name"],
        group=spec.get("group") or "",
        version=spec.get("version") or "",
        group_priority=spec.get("groupPriorityMinimum") or 0,
        version_priority=spec.get("versionPriority") or 0,
        automanaged=(meta.get("labels") or {}).get(AUTOMANAGED, ""),
        available=any(each.get("type") == AVAILABLE and each.get("status") == "True" for each in conditions),
        service=place,
        insecure=bool(spec.get("insecureSkipTLSVerify")),
        bundle=bundle,
        revision=entry.revision,
    )
