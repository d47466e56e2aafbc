"""Serves the stored CustomResourceDefinitions: adds, replaces and removes endpoints when CRDs change.

Every process does this for itself, from the same stream of changes. A process serves a CRD before it writes the
condition Established. So a client that sees the condition here can use the resource here. A client's write of a CRD is
answered after the CRD was processed, because `kubectl wait --for=condition=Established` fails for a CRD without
conditions.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from gateway.controllers.announced import Announced
from gateway.controllers.queue import WorkQueue, work
from gateway.endpoints.table import Endpoints
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.metadata import now_text
from gateway.kinds.registry import builtin_groups
from gateway.kinds.resource import Resource
from gateway.writing.offload import offloaded
from storage.cache import ResourceCache
from storage.entry import Entry
from storage.errors import StorageError
from storage.following import ByName, tell
from storage.guarded import FAILURES
from storage.tap import tap

if TYPE_CHECKING:  # imported with the first CRD
    from gateway.customresources.model import MakeConverter
    from gateway.customresources.reading_alike import Origin

log = logging.getLogger(__name__)

MAX_DELAY = 5.0  # the most seconds until a failed CRD is tried again
LOOK_TIMEOUT = 5.0  # the most seconds that the answer to a write of a CRD waits until the CRD was processed
_MODEL = "gateway.customresources.model"  # importing it and its dependencies takes about 50 ms
WORKERS = 1  # a free name goes to the next CRD after the one before was processed, so they must not run concurrently


def _parsed(entry: Entry, before: object) -> JsonObject:
    """The CRD of an entry. It is not cached on the entry, because the watch cache's history keeps entries.

    Raises LookupError or TypeError for a CRD without names, which was written to etcd without this server.
    """
    found: JsonObject = loads(entry.head + entry.tail)
    spec, names = found["spec"], found["spec"]["names"]
    if not (spec["group"] and names["plural"] and names["kind"] and all(each["name"] for each in spec["versions"])):
        raise LookupError("it has no names")
    return found


@dataclass(slots=True)
class _Served:
    """The served resources of a CRD, and the parts of the CRD from which they were made."""

    uid: object  # of the CRD
    made_of: Origin
    ending: tuple[bool, bool]  # whether the CRD is Terminating, and `ends_unserved` of it
    resources: list[Resource] = field(default_factory=list)


class Definitions:
    """Follows the CRDs, and keeps the endpoints of each up to date."""

    def __init__(self, endpoints: Endpoints, converter: MakeConverter) -> None:
        self._endpoints, self._converter = endpoints, converter
        self._known: ByName[JsonObject] = ByName("definitions", _parsed, self._changed)
        self._served: dict[str, _Served] = {}
        self._enabled = endpoints.registry.release.gates.enabled
        self._builtin = builtin_groups(endpoints.registry)
        self._cleaning: dict[str, asyncio.Task[None]] = {}  # by name
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by group
        self._stored: set[str] | None = None  # names of the CRDs at the start that are not processed yet
        self._told = 0  # the revision up to which changes of CRDs have arrived here
        self._looked = 0  # how many keys of the queue have been processed
        self._progress = asyncio.Event()  # set, and replaced, when CRDs have arrived or were processed
        self.announced = Announced(self._is_told)
        self.queue: WorkQueue[str] = WorkQueue("definitions", max_delay=MAX_DELAY)  # of names
        self.ready = asyncio.Event()  # set once the CRDs of the start are served
        self.ended = False  # whether `run` has ended

    def defines_group(self, group: str) -> bool:
        """Whether there is a CRD of the group, served or not."""
        return any(each["spec"].get("group") == group for each in self._known.all.values())

    @property
    def at_rest(self) -> bool:
        """Whether all CRDs in the watch cache were processed, and none is being cleaned up."""
        return self._cache.history.newest <= self._told and self.queue.at_rest and not self._cleaning

    @property
    def _cache(self) -> ResourceCache:
        return self._endpoints.of("apiextensions.k8s.io", "v1", "customresourcedefinitions").cache

    def _is_told(self) -> bool:
        """Whether all changes of CRDs have arrived here. True during the start and after the end of `run`."""
        return not self.ready.is_set() or self.ended or self._cache.history.newest <= self._told

    async def looked_at(self) -> None:
        """Waits until all CRDs that are in the watch cache now were processed, at most LOOK_TIMEOUT.

        Does not wait during the start, or if `run` has ended.
        """
        newest, adds = self._cache.history.newest, None
        try:
            async with asyncio.timeout(LOOK_TIMEOUT):
                while self.ready.is_set() and not self.ended:
                    if adds is None and newest <= self._told:
                        adds = self.queue.adds
                    if adds is not None and self._looked >= adds:
                        return
                    await self._progress.wait()
        except TimeoutError:
            return

    def _progressed(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()

    async def run(self) -> None:
        """Follows the CRDs until it is cancelled."""
        self.ended = False
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(work(self.queue, self._look_at, WORKERS))
                async for batch in tap(self._endpoints.services.store.cache, [self._cache]):
                    tell(self._known, batch)
                    self._told = batch.revision
                    self.announced.settled()
                    self._progressed()
        finally:
            self.ended = True
            self._progressed()
            for task in self._cleaning.values():
                task.cancel()

    def _changed(self, names: Collection[str], revision: int) -> None:
        """Queues the changed CRDs, and then those of their groups that wait for names, which may be free now."""
        groups = {name.partition(".")[2] for name in names}
        for name in names:
            self.announced.heard(name, self._known.all.get(name))
            self.queue.add(name)
        known = self._known.all.items()
        others = [each for name, each in known if name not in names and name.partition(".")[2] in groups]
        if others:
            from gateway.customresources.names import turn, waits

            for each in sorted(filter(waits, others), key=turn):
                self.queue.add(each["metadata"]["name"])
        if self._stored is None:
            self._stored = set(names)
            self._is_ready_after("")

    async def _look_at(self, name: str) -> None:
        """Processes one CRD. Raises StorageError, StatusError: then the queue tries it again."""
        group, announced = name.partition(".")[2], self.announced.of(name)
        turn = self._turns.get(group) or self._turns.setdefault(group, asyncio.Lock())
        try:
            async with turn:  # one at a time in a group: otherwise two CRDs could get the same name
                await self._settle(name)
        except (StorageError, StatusError) as error:
            log.warning(
                "a CustomResourceDefinition could not be processed", extra={"definition": name, "error": str(error)}
            )
            raise
        except Exception:  # a bad CRD must not keep the others from being served
            log.exception("a CustomResourceDefinition cannot be served", extra={"definition": name})
            FAILURES.labels("definitions").inc()
        finally:
            self.announced.served(name, announced)
            self._looked += 1
            self._is_ready_after(name)
            self._progressed()

    def _is_ready_after(self, name: str) -> None:
        if self._stored is not None and not self.ready.is_set():
            self._stored.discard(name)
            if not self._stored:
                self.ready.set()

    async def _settle(self, name: str) -> None:
        if _MODEL not in sys.modules:
            await asyncio.to_thread(import_module, _MODEL)
        from gateway.customresources.cleanup import clean_up
        from gateway.customresources.conditions import settled
        from gateway.customresources.definition import ESTABLISHED, FINALIZER, is_true
        from gateway.customresources.status import write_status

        definition = self._known.all.get(name)
        wanted = definition
        if definition is not None:
            wanted = await offloaded(0, settled, definition, list(self._others(definition)), now_text())
            await asyncio.sleep(0)  # lets other tasks run between two long steps
        await self._serve(name, wanted, 0 if definition is None or is_true(definition, ESTABLISHED) else 1)
        if definition is None or wanted is None:
            return
        if wanted is not definition:
            await write_status(self._endpoints, name, lambda at: settled(at, self._others(at), now_text()))
            if self._known.all.get(name) is definition:  # so that the next CRD sees the names that this one got
                self._known.all[name] = wanted
        deleting = wanted["metadata"].get("deletionTimestamp")
        if deleting and FINALIZER in (wanted["metadata"].get("finalizers") or ()) and name not in self._cleaning:
            task = asyncio.ensure_future(clean_up(self._endpoints, wanted, lambda: self._served_of(name, wanted)))
            self._cleaning[name] = task
            task.add_done_callback(lambda done: self._cleaning.pop(name, None))

    def _served_of(self, name: str, definition: JsonObject) -> Resource | None:
        """A resource that serves the objects of a CRD. None if this CRD (by uid) is not served or not being deleted."""
        known = self._known.all.get(name)
        if known is not None and not known["metadata"].get("deletionTimestamp"):
            return None  # etcd was restored from a backup
        found = self._served.get(name)
        if found is None or not found.resources or found.uid != definition["metadata"].get("uid"):
            return None
        return found.resources[0]

    def _others(self, definition: JsonObject) -> Iterator[JsonObject]:
        own, group = definition["metadata"]["name"], definition["spec"].get("group")
        return (each for name, each in self._known.all.items() if name != own and each["spec"].get("group") == group)

    async def _serve(self, name: str, definition: JsonObject | None, later: int) -> None:
        """Replaces the endpoints of a CRD if they are outdated; removes them if it is None or not Established.

        Watches may start at the CRD's revision plus `later`. `later` is 1 if the CRD is only now becoming Established,
        because its objects could not be listed at its own revision.
        """
        from gateway.customresources.definition import ESTABLISHED, TERMINATING, ends_unserved, is_true
        from gateway.customresources.model import as_read_before, compile_large, model_of, resources_of
        from gateway.customresources.reading_alike import Origin, reads_alike

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
        made_of = Origin(spec, status["acceptedNames"], uid)
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
