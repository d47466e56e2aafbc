"""Serves CustomResourceDefinitions: adds, replaces and removes endpoints, settles names, cleans up deleted ones.

Imported with the first CRD.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from gateway.customresources.cleanup import clean_up
from gateway.customresources.conditions import with_status
from gateway.customresources.definition import ESTABLISHED, FINALIZER, TERMINATING, ends_unserved, is_true
from gateway.customresources.model import MakeConverter, as_read_before, compile_large, model_of, resources_of
from gateway.customresources.reading_alike import ModelOrigin, reads_alike
from gateway.customresources.status import write_status
from gateway.endpoints.table import EndpointTable
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text
from gateway.kinds.resource import Resource
from gateway.writing.offload import offloaded


class StoredDefinitions(Protocol):
    """The stored CRDs (definitions.py)."""

    def of(self, name: str) -> JsonObject | None:
        """The CRD of a name."""

    def others(self, definition: JsonObject) -> Iterator[JsonObject]:
        """The other CRDs of its group."""

    def keep_status(self, name: str, before: JsonObject, now: JsonObject) -> None:
        """Keeps a CRD with the status that was written."""


@dataclass(slots=True)
class _Served:
    """The served resources of a CRD, and the parts of the CRD from which they were made."""

    uid: object  # of the CRD
    made_of: ModelOrigin
    ending: tuple[bool, bool]  # whether the CRD is Terminating, and `ends_unserved` of it
    resources: list[Resource] = field(default_factory=list)


class Serving:
    """Keeps the endpoints of each CRD up to date."""

    def __init__(self, known: StoredDefinitions, endpoints: EndpointTable, converter: MakeConverter) -> None:
        self._known, self._endpoints, self._converter = known, endpoints, converter
        self._served: dict[str, _Served] = {}
        self._enabled = endpoints.registry.release.gates.enabled
        self._builtin = endpoints.registry.builtin_groups()
        self.cleaning: dict[str, asyncio.Task[None]] = {}  # by name

    def end(self) -> None:
        """Ends the clean-ups that are under way."""
        for task in self.cleaning.values():
            task.cancel()

    async def settle(self, name: str) -> None:
        """Serves one CRD as it is now, writes its conditions, and begins its clean-up if it is being deleted.

        Raises StorageError, StatusError.
        """
        definition = self._known.of(name)
        wanted = definition
        if definition is not None:
            others = list(self._known.others(definition))
            wanted = await offloaded(0, with_status, definition, others, now_text())
            await asyncio.sleep(0)  # lets other tasks run between two long steps
        await self._serve(name, wanted, 0 if definition is None or is_true(definition, ESTABLISHED) else 1)
        if definition is None or wanted is None:
            return
        if wanted is not definition:
            await write_status(self._endpoints, name, lambda at: with_status(at, self._known.others(at), now_text()))
            self._known.keep_status(name, definition, wanted)
        deleting = wanted["metadata"].get("deletionTimestamp")
        if deleting and FINALIZER in (wanted["metadata"].get("finalizers") or ()) and name not in self.cleaning:
            task = asyncio.ensure_future(clean_up(self._endpoints, wanted, lambda: self._served_of(name, wanted)))
            self.cleaning[name] = task
            task.add_done_callback(lambda done: self.cleaning.pop(name, None))

    def _served_of(self, name: str, definition: JsonObject) -> Resource | None:
        """A resource that serves the objects of a CRD. None if this CRD (by uid) is not served or not being deleted."""
        known = self._known.of(name)
        if known is not None and not known["metadata"].get("deletionTimestamp"):
            return None  # etcd was restored from a backup
        found = self._served.get(name)
        if found is None or not found.resources or found.uid != definition["metadata"].get("uid"):
            return None
        return found.resources[0]

    async def _serve(self, name: str, definition: JsonObject | None, later: int) -> None:
        """Replaces the endpoints of a CRD if they are outdated; removes them if it is None or not Established.

        Watches may start at the CRD's revision plus `later`. `later` is 1 if the CRD is only now becoming Established,
        because its objects could not be listed at its own revision.
        """
        before = self._served.get(name)
        if definition is not None and definition["spec"].get("group") in self._builtin:
            return  # as in kube-apiserver, CRDs of built-in groups are not served
        if definition is None or not is_true(definition, ESTABLISHED):
            if before is not None:
                del self._served[name]
                await self._endpoints.replace(before.resources, [])
            return
        status, spec = definition["status"], definition["spec"]
        uid = definition["metadata"].get("uid")
        made_of = ModelOrigin(spec, status["acceptedNames"], uid)
        ending = (is_true(definition, TERMINATING), ends_unserved(definition))
        if before is not None and (before.made_of, before.ending) == (made_of, ending):
            return
        since = int(definition["metadata"].get("resourceVersion") or 0) + later
        model = await offloaded(0, model_of, definition, self._converter, since, self._enabled)
        same = before is not None and before.resources and not ending[1]
        same = same and before is not None and await offloaded(0, reads_alike, before.made_of, made_of)
        if same and before is not None:  # watches go on, and see the deletion of the objects
            model = as_read_before(model, before.resources[0].model)
        await offloaded(0, compile_large, model)
        resources = resources_of(definition, model)
        replaced = [] if before is None else before.resources
        await self._endpoints.replace(replaced, resources, watched_on=bool(same))
        self._served[name] = _Served(uid, made_of, ending, resources)
