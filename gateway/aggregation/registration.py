"""Creates, corrects and deletes the APIServices of the versions that CustomResourceDefinitions serve.

APIServices without the label kube-aggregator.kubernetes.io/automanaged=true are not changed.
"""

from __future__ import annotations

from collections.abc import Collection

from gateway.aggregation.services import AUTOMANAGED, GROUP, RESOURCE, ApiServices
from gateway.customresources.definitions import Definitions, ServedVersions
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.work_queue import WorkQueue
from gateway.writing.actor import Actor
from gateway.writing.options import DeleteOptions

_MANAGED = "true"
_MOST_NAMED = 20  # the most names in a message
_GROUP_PRIORITY, _VERSION_PRIORITY = 1000, 100  # of all custom resources: lower than those of built-in groups


class Registration:
    """Compares CRDs with APIServices. The queue has names of APIServices."""

    def __init__(self, services: ApiServices, registry: Registry, actor: Actor, definitions: Definitions) -> None:
        self._services, self._actor, self._definitions = services, actor, definitions
        self._builtin = registry.builtin_groups()
        self._complete = False  # whether all wanted APIServices have existed at once since the start
        self.queue: WorkQueue[str] = WorkQueue("autoregister", max_delay=30.0)
        services.on_change(self._services_changed)
        definitions.on_change(self._definitions_changed)

    def _services_changed(self, names: Collection[str]) -> None:
        for name in names:
            found = self._services.get(name)
            if found is None or found.automanaged == _MANAGED:
                self.queue.add(name)

    def _definitions_changed(self, versions: ServedVersions) -> None:
        for group, version in versions:
            self.queue.add(f"{version}.{group}")

    def missing(self) -> str:
        """A message with the missing APIServices; "" once all of them have existed since the start."""
        if not self._complete:
            lacking = [f"{version}.{group}" for group, version in self._wanted() if not self._has(group, version)]
            self._complete = not lacking
            return f"missing APIService: [{' '.join(sorted(lacking)[:_MOST_NAMED])}]" if lacking else ""
        return ""

    def _wanted(self) -> list[tuple[str, str]]:
        return [each for each in self._definitions.served_versions if each[0] not in self._builtin]

    def _has(self, group: str, version: str) -> bool:
        return self._services.get(f"{version}.{group}") is not None

    async def reconcile(self, name: str) -> None:
        """Creates, changes or deletes one APIService. Raises StatusError, StorageError."""
        version, _, group = name.partition(".")
        wanted = (group, version) in self._definitions.served_versions and group not in self._builtin
        found, endpoint = self._services.get(name), self._actor.of(GROUP, "v1", RESOURCE)
        if not wanted:
            if found is not None and found.automanaged == _MANAGED:
                # the uid, because another client may have replaced it
                await self._actor.delete(endpoint, "", name, DeleteOptions(uid=found.uid))
        elif found is None:
            await self._actor.create(endpoint, "", _made(group, version))
        elif found.automanaged == _MANAGED:
            spec = _made(group, version)["spec"]

            def alter(obj: JsonObject) -> bool:
                changed = obj["spec"] != spec and (obj["metadata"].get("labels") or {}).get(AUTOMANAGED) == _MANAGED
                if changed:
                    obj["spec"] = dict(spec)
                return changed

            await self._actor.change(endpoint, "", name, alter)


def _made(group: str, version: str) -> JsonObject:
    return {
        "metadata": {"name": f"{version}.{group}", "labels": {AUTOMANAGED: _MANAGED}},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": _GROUP_PRIORITY,
            "versionPriority": _VERSION_PRIORITY,
        },
    }
