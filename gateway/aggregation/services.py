"""All APIServices, kept up to date, and those of extension API servers."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from gateway.discovery.others import version_order
from gateway.jsontypes import JsonObject
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.services import ServiceAddresses
from gateway.outbound.target import Target
from storage.entry import Entry
from storage.followers import ByName

GROUP, RESOURCE = "apiregistration.k8s.io", "apiservices"
AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
AVAILABLE = "Available"

GroupVersion = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ApiService:
    """One APIService. If it has no `service` (namespace, name, port), this server serves its group version."""

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
    entry: Entry | None = field(default=None, compare=False)
    revision: int = 0

    @property
    def uid(self) -> str:
        """The uid of the object."""
        return "" if self.entry is None else str(self.entry.parsed()["metadata"]["uid"])

    @property
    def group_version(self) -> str:
        """The group version as in apiVersion."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The path of its discovery document."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def target(self, addresses: ServiceAddresses, identity: ClientIdentity) -> Target:
        """The connection target of the extension API server.

        Raises NoAddress; OSError, ValueError for bad certificates.
        """
        assert self.service is not None
        namespace, name, port = self.service
        host, at = addresses.address(namespace, name, port)
        shown = f"[{host}]" if ":" in host else host
        context = identity.context(self.bundle, insecure=self.insecure)
        return Target(host, at, context, f"{name}.{namespace}.svc", f"{shown}:{at}")


class ApiServices:
    """All APIServices: `known` has them by name. `remote` has those of extension API servers by group version.

    Listeners are called with the names of changed APIServices in the same turn of the event loop.
    """

    def __init__(self) -> None:
        self.known: ByName[ApiService] = ByName("aggregation", _read, self._changed)
        self.remote: dict[GroupVersion, ApiService] = {}
        self._by_service: dict[tuple[str, str], set[str]] = {}  # names, by the service (namespace, name)
        self._told: dict[str, ApiService] = {}  # by name: APIServices of extension API servers, as in `remote`
        self._listeners: list[Callable[[Collection[str]], None]] = []

    def get(self, name: str) -> ApiService | None:
        """An APIService by its name, None if there is none."""
        return self.known.all.get(name)

    def on_change(self, listener: Callable[[Collection[str]], None]) -> None:
        """Calls a function with the names of changed APIServices. The first call, with all names, is made at once."""
        self._listeners.append(listener)
        listener(list(self.known.all))

    def preferred(self) -> list[ApiService]:
        """The APIServices of extension API servers, sorted by group, and then with the preferred version first."""
        return sorted(
            self.remote.values(), key=lambda each: (each.group, -each.version_priority, version_order(each.version))
        )

    def of_service(self, namespace: str, name: str) -> Iterable[str]:
        """The names of the APIServices that refer to a service."""
        return sorted(self._by_service.get((namespace, name), ()))

    def _changed(self, names: Collection[str], revision: int) -> None:
        for name in names:
            self._enter(name, self._told.pop(name, None), self.known.all.get(name))
        for listener in self._listeners:
            listener(names)

    def _enter(self, name: str, before: ApiService | None, now: ApiService | None) -> None:
        if before is not None and before.service is not None:
            if self.remote.get((before.group, before.version)) is before:
                del self.remote[before.group, before.version]
            of_service = self._by_service[before.service[:2]]
            of_service.discard(name)
            if not of_service:
                del self._by_service[before.service[:2]]
        if now is not None and now.service is not None:
            self._told[name] = self.remote[now.group, now.version] = now
            self._by_service.setdefault(now.service[:2], set()).add(name)


def _read(entry: Entry, before: object) -> ApiService:
    return replace(entry.derived(_content, _content), entry=entry, revision=entry.revision)


def _content(obj: JsonObject) -> ApiService:
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
    )
