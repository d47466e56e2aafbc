"""Keeps the stored CustomResourceDefinitions of a process, and has each changed one served.

Every process does this for itself, from the same stream of changes. A version of a CRD is parsed once, here; all other
code gets CRDs from here. A process serves a CRD before it writes the condition Established. So a client that sees the
condition here can use the resource here. A client's write of a CRD is answered after the CRD was processed, because
`kubectl wait --for=condition=Established` fails for a CRD without conditions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from gateway.customresources.announcements import Announced
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.task_group import TaskGroup
from gateway.work_queue import WorkQueue, work
from storage.cache import ResourceCache
from storage.entry import Entry
from storage.errors import StorageError
from storage.followers import ByName, tell
from storage.guard import FAILURES
from storage.tap import tap

if TYPE_CHECKING:  # imported with the first CRD
    from gateway.customresources.model import MakeConverter
    from gateway.customresources.serving import Serving

log = logging.getLogger(__name__)

MAX_DELAY = 5.0  # the most seconds until a failed CRD is tried again
LOOK_TIMEOUT = 5.0  # the most seconds that the answer to a write of a CRD waits until the CRD was processed
WORKERS = 1  # a free name goes to the next CRD after the one before was processed, so they must not run concurrently

ServedVersions = Collection[tuple[str, str]]
"""Groups and versions."""


def _served(definition: JsonObject | None) -> frozenset[tuple[str, str]]:
    """The groups and versions that a CRD is to serve; none for None."""
    if definition is None:
        return frozenset()
    spec = definition["spec"]
    return frozenset((spec["group"], each["name"]) for each in spec["versions"] if each.get("served"))


def _parsed(entry: Entry, before: object) -> JsonObject:
    """The CRD of an entry. It is not cached on the entry, because the watch cache's history keeps entries.

    Raises LookupError or TypeError for a CRD without names, which was written to etcd without this server.
    """
    found: JsonObject = loads(entry.head + entry.tail)
    spec, names = found["spec"], found["spec"]["names"]
    if not (spec["group"] and names["plural"] and names["kind"] and all(each["name"] for each in spec["versions"])):
        raise LookupError("it has no names")
    return found


class Definitions:
    """The CRDs, each as its last readable version, and the queue by which they are served."""

    def __init__(self, endpoints: EndpointTable, converter: MakeConverter) -> None:
        self._endpoints, self._converter = endpoints, converter
        self._known: ByName[JsonObject] = ByName("definitions", _parsed, self._changed)
        self._groups: dict[str, dict[str, None]] = {}  # the names of the CRDs of each group, in the order of arrival
        self._group_of: dict[str, str] = {}
        self._versions_of: dict[str, frozenset[tuple[str, str]]] = {}
        self._serving_each: dict[tuple[str, str], int] = {}  # how many CRDs are to serve a version of a group
        self._listeners: list[Callable[[ServedVersions], None]] = []
        self._serving: Serving | None = None  # made with the first CRD
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by group
        self._stored: set[str] | None = None  # names of the CRDs at the start that are not processed yet
        self._told = 0  # the revision up to which changes of CRDs have arrived here
        self._looked = 0  # how many keys of the queue have been processed
        self._progress = asyncio.Event()  # set, and replaced, when CRDs have arrived or were processed
        self.announced = Announced(self._is_told)
        self.queue: WorkQueue[str] = WorkQueue("definitions", max_delay=MAX_DELAY)  # of names
        self.ready = asyncio.Event()  # set once the CRDs of the start are served
        self.ended = False  # whether `run` has ended

    # what is known

    def of(self, name: str) -> JsonObject | None:
        """The CRD of a name; None if there is none. It must not be changed."""
        return self._known.all.get(name)

    def others(self, definition: JsonObject) -> Iterator[JsonObject]:
        """The other CRDs of the group of a CRD."""
        own = definition["metadata"]["name"]
        names = self._groups.get(definition["spec"].get("group"), ())
        return iter([self._known.all[name] for name in names if name != own])

    @property
    def served_versions(self) -> ServedVersions:
        """The groups and versions that CRDs are to serve."""
        return self._serving_each.keys()

    def on_change(self, listener: Callable[[ServedVersions], None]) -> None:
        """Calls `listener` with versions that a CRD is to serve and none was before, or that no CRD is to serve now."""
        self._listeners.append(listener)

    def keep_status(self, name: str, before: JsonObject, now: JsonObject) -> None:
        """Keeps a CRD with the status that this process has written, unless a newer version than `before` has come.

        So the names of this CRD count for the next one.
        """
        if self._known.all.get(name) is before:
            self._known.all[name] = now

    @property
    def at_rest(self) -> bool:
        """Whether all CRDs in the watch cache were processed, and none is being cleaned up."""
        cleans = self._serving is not None and bool(self._serving.cleaning)
        return self._cache.history.newest <= self._told and self.queue.at_rest and not cleans

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

    # following

    async def run(self) -> None:
        """Follows the CRDs until it is cancelled."""
        self.ended = False
        try:
            async with TaskGroup() as group:
                group.create_task(work(self.queue, self._look_at, WORKERS))
                async for batch in tap(self._endpoints.services.store.cache, [self._cache]):
                    tell(self._known, batch)
                    self._told = batch.revision
                    self.announced.wake()
                    self._progressed()
        finally:
            self.ended = True
            self._progressed()
            if self._serving is not None:
                self._serving.end()

    def _changed(self, names: Collection[str], revision: int) -> None:
        """Queues the changed CRDs, and then those of their groups that wait for names, which may be free now."""
        groups = {group for name in names for group in self._regrouped(name)}
        for name in names:
            self.announced.heard(name, self._known.all.get(name))
            self.queue.add(name)
        if other := [each for name in names for each in self._recounted(name)]:
            for listener in self._listeners:
                listener(other)
        near = (name for group in groups for name in self._groups.get(group, ()))
        others = [self._known.all[name] for name in near if name not in names]
        if others:
            from gateway.customresources.names import turn, waits

            for each in sorted(filter(waits, others), key=turn):
                self.queue.add(each["metadata"]["name"])
        if self._stored is None:
            self._stored = set(names)
            self._is_ready_after("")

    def _regrouped(self, name: str) -> list[str]:
        """Notes the group of a CRD that has changed, come or gone. Returns its group before and now."""
        before, definition = self._group_of.pop(name, None), self._known.all.get(name)
        now: str | None = None if definition is None else definition["spec"]["group"]
        if before is not None and before != now:
            del self._groups[before][name]
            if not self._groups[before]:
                del self._groups[before]
        if now is not None:
            self._group_of[name] = now
            self._groups.setdefault(now, {})[name] = None
        return [group for group in (before, now) if group is not None]

    def _recounted(self, name: str) -> Iterator[tuple[str, str]]:
        """Counts the versions of a CRD that has changed, come or gone. Yields those that get a first CRD, or lose the
        last one.
        """
        before, now = self._versions_of.pop(name, frozenset()), _served(self.of(name))
        if now:
            self._versions_of[name] = now
        for each in before - now:
            self._serving_each[each] -= 1
            if not self._serving_each[each]:
                del self._serving_each[each]
                yield each
        for each in now - before:
            self._serving_each[each] = self._serving_each.get(each, 0) + 1
            if self._serving_each[each] == 1:
                yield each

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

    async def _settle(self, name: str) -> None:
        if self._serving is None:  # its imports take about 50 ms
            await asyncio.to_thread(import_module, "gateway.customresources.serving")
            from gateway.customresources.serving import Serving

            self._serving = Serving(self, self._endpoints, self._converter)
        await self._serving.settle(name)

    def _is_ready_after(self, name: str) -> None:
        if self._stored is not None and not self.ready.is_set():
            self._stored.discard(name)
            if not self._stored:
                self.ready.set()
