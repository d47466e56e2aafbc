"""Serves the stored CustomResourceDefinitions: adds, replaces and removes endpoints as they change.

Every process does it for itself, on the same stream of changes. A CRD whose names are accepted is served before it gets
the condition Established, so that a replica that shows the condition serves the resource. A client's write of a CRD is
answered once the CRD has been looked at: `kubectl wait --for=condition=Established` fails at a CRD without conditions.
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

if TYPE_CHECKING:  # what it takes to serve a CRD is imported with the first one
    from gateway.customresources.model import MakeConverter
    from gateway.customresources.reading_alike import Origin

log = logging.getLogger(__name__)

MAX_DELAY = 5.0  # seconds at most until what failed is tried again
LOOK_TIMEOUT = 5.0  # seconds at most that the answer to a write waits until the CRD has been looked at
_MODEL = "gateway.customresources.model"  # which imports nearly all that serving a CRD takes: a twentieth of a second
WORKERS = 1  # a name that becomes free is given to the next CRD once the one before has been looked at


def _parsed(entry: Entry, before: object) -> JsonObject:
    """A CRD; nothing is remembered on the entry, which the history of changes keeps.

    Raises LookupError or TypeError for one that was written straight to etcd and lacks its names.
    """
    found: JsonObject = loads(entry.head + entry.tail)
    spec, names = found["spec"], found["spec"]["names"]
    if not (spec["group"] and names["plural"] and names["kind"] and all(each["name"] for each in spec["versions"])):
        raise LookupError("it has no names")
    return found


@dataclass(slots=True)
class _Served:
    """What is served of a CRD, and of what it was made."""

    uid: object  # of the CRD
    made_of: Origin
    ending: tuple[bool, bool]  # whether it is going, and without having been served
    resources: list[Resource] = field(default_factory=list)


class Definitions:
    """The CRDs, and what is served of each."""

    def __init__(self, endpoints: Endpoints, converter: MakeConverter) -> None:
        self._endpoints, self._converter = endpoints, converter
        self._known: ByName[JsonObject] = ByName("definitions", _parsed, self._changed)
        self._served: dict[str, _Served] = {}
        self._enabled = endpoints.registry.release.gates.enabled
        self._builtin = builtin_groups(endpoints.registry)
        self._cleaning: dict[str, asyncio.Task[None]] = {}  # by name
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by group
        self._stored: set[str] | None = None  # those that there were at the start and that are not served yet
        self._told = 0  # the revision up to which changes of CRDs have been told
        self._looked = 0  # how many keys of the queue have been looked at
        self._progress = asyncio.Event()  # set, and replaced, when CRDs have been told or looked at
        self.announced = Announced(self._is_told)
        self.queue: WorkQueue[str] = WorkQueue("definitions", max_delay=MAX_DELAY)  # of names
        self.ready = asyncio.Event()  # set once what was stored at the start is served
        self.ended = False  # whether nobody follows them

    def defines_group(self, group: str) -> bool:
        """Whether a CRD is of a group, served or not."""
        return any(each["spec"].get("group") == group for each in self._known.all.values())

    @property
    def at_rest(self) -> bool:
        """Whether what is served is what the CRDs in the cache say, and none of them is being cleaned up."""
        return self._cache.history.newest <= self._told and self.queue.at_rest and not self._cleaning

    @property
    def _cache(self) -> ResourceCache:
        return self._endpoints.of("apiextensions.k8s.io", "v1", "customresourcedefinitions").cache

    def _is_told(self) -> bool:
        """Whether all changes of CRDs have come here; at the start, and after the end, nobody waits for them."""
        return not self.ready.is_set() or self.ended or self._cache.history.newest <= self._told

    async def looked_at(self) -> None:
        """Waits until all CRDs that the cache has now have been looked at, for LOOK_TIMEOUT at most.

        During the start, and when the CRDs are not followed, it does not wait.
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
        """Has CRDs looked at that have changed, and then those that may get a name which has become free."""
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
        """Brings what is served of a CRD in step with it. Raises StorageError, StatusError: it comes back."""
        group, announced = name.partition(".")[2], self.announced.of(name)
        turn = self._turns.get(group) or self._turns.setdefault(group, asyncio.Lock())
        try:
            async with turn:  # two that want one name are looked at one after the other, or both get it
                await self._settle(name)
        except (StorageError, StatusError) as error:
            log.warning(
                "a CustomResourceDefinition could not be processed", extra={"definition": name, "error": str(error)}
            )
            raise
        except Exception:  # no CRD may keep the others from being served
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
            await asyncio.sleep(0)  # others have a turn between two steps that may take long
        await self._serve(name, wanted, 0 if definition is None or is_true(definition, ESTABLISHED) else 1)
        if definition is None or wanted is None:
            return
        if wanted is not definition:
            await write_status(self._endpoints, name, lambda at: settled(at, self._others(at), now_text()))
            if self._known.all.get(name) is definition:  # what it was given, the next one does not get
                self._known.all[name] = wanted
        deleting = wanted["metadata"].get("deletionTimestamp")
        if deleting and FINALIZER in (wanted["metadata"].get("finalizers") or ()) and name not in self._cleaning:
            task = asyncio.ensure_future(clean_up(self._endpoints, wanted, lambda: self._served_of(name, wanted)))
            self._cleaning[name] = task
            task.add_done_callback(lambda done: self._cleaning.pop(name, None))

    def _served_of(self, name: str, definition: JsonObject) -> Resource | None:
        """A resource that serves the objects of a CRD; None where nothing of this very CRD is served, or it stays."""
        known = self._known.all.get(name)
        if known is not None and not known["metadata"].get("deletionTimestamp"):
            return None  # it was restored
        found = self._served.get(name)
        if found is None or not found.resources or found.uid != definition["metadata"].get("uid"):
            return None
        return found.resources[0]

    def _others(self, definition: JsonObject) -> Iterator[JsonObject]:
        own, group = definition["metadata"]["name"], definition["spec"].get("group")
        return (each for name, each in self._known.all.items() if name != own and each["spec"].get("group") == group)

    async def _serve(self, name: str, definition: JsonObject | None, later: int) -> None:
        """Has the endpoints be what a CRD says, if they are not.

        Watches may start from the CRD's revision, or only `later` if nobody could list its objects then.
        """
        from gateway.customresources.definition import ESTABLISHED, TERMINATING, ends_unserved, is_true
        from gateway.customresources.model import as_read_before, compile_large, model_of, resources_of
        from gateway.customresources.reading_alike import Origin, reads_alike

        before = self._served.get(name)
        if definition is not None and definition["spec"].get("group") in self._builtin:
            return  # kube-apiserver answers all paths of such a group by its built-in kinds alone
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
        if same and before is not None:  # watches go on; they see its objects go
            model = as_read_before(model, before.resources[0].model)
        await offloaded(0, compile_large, model)
        resources = resources_of(definition, model)
        replaced = [] if before is None else before.resources
        await self._endpoints.replace(replaced, resources, watched_on=bool(same))
        self._served[name] = _Served(uid, made_of, ending, resources)
