"""Keeps what a process serves in step with the definitions that are stored.

Every process does it for itself, on the same stream of changes. A definition whose names are accepted is served before
it is said to be Established, so that a client who sees that condition is served by the replica that it saw it on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from gateway.controllers.queue import WorkQueue, work
from gateway.endpoints.table import Endpoints
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.metadata import now_text
from gateway.kinds.registry import builtin_groups
from gateway.kinds.resource import Resource
from storage.entry import ChangeType, Entry
from storage.errors import StorageError
from storage.tap import Batch, State, tap

if TYPE_CHECKING:  # what it takes to serve a definition is imported with the first one
    from gateway.customresources.model import MakeConverter
    from gateway.customresources.reading_alike import Origin

log = logging.getLogger(__name__)

MAX_DELAY = 5.0  # seconds at most until what failed is tried again
WORKERS = 1  # a name that becomes free is given to the next definition once the one before has been looked at


def _parsed(entry: Entry) -> JsonObject:
    """A definition; nothing is remembered on the entry, which the history of changes keeps."""
    found: JsonObject = loads(entry.head + entry.tail)
    return found


@dataclass(slots=True)
class _Served:
    """What is served of a definition, and of what it was made."""

    uid: object  # of the definition
    made_of: Origin
    ending: tuple[bool, bool]  # whether it is going, and without having been served
    resources: list[Resource] = field(default_factory=list)


class Definitions:
    """The definitions, and what is served of each."""

    def __init__(self, endpoints: Endpoints, converter: MakeConverter) -> None:
        self._endpoints, self._converter = endpoints, converter
        self._all: dict[str, JsonObject] = {}  # by name
        self._served: dict[str, _Served] = {}
        self._builtin = builtin_groups(endpoints.registry)
        self._cleaning: dict[str, asyncio.Task[None]] = {}  # by name
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by group
        self._stored: set[str] | None = None  # those that there were at the start and that are not served yet
        self.queue: WorkQueue[str] = WorkQueue("definitions", max_delay=MAX_DELAY)  # of names
        self.ready = asyncio.Event()  # set once what was stored at the start is served

    def defines_group(self, group: str) -> bool:
        """Whether a definition is of a group, served or not."""
        return any(each["spec"].get("group") == group for each in self._all.values())

    async def run(self) -> None:
        """Follows the definitions until it is cancelled."""
        cache = self._endpoints.of("apiextensions.k8s.io", "v1", "customresourcedefinitions").cache
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(work(self.queue, self._look_at, WORKERS))
                async for batch in tap(self._endpoints.services.store.cache, [cache]):
                    self._follow(self._take(batch))
        finally:
            for task in self._cleaning.values():
                task.cancel()

    def _take(self, batch: Batch) -> list[str]:
        """The names of the definitions that a batch may have changed."""
        if isinstance(batch, State):
            before = set(self._all)
            self._all = {
                entry.key.rpartition(b"/")[2].decode(): _parsed(entry)
                for entries in batch.entries.values()
                for entry in entries
            }
            return sorted(before | set(self._all))
        names: dict[str, None] = {}
        for told in batch.told:
            name = told.change.entry.key.rpartition(b"/")[2].decode()
            names[name] = None
            if told.change.type is ChangeType.DELETED:
                self._all.pop(name, None)
            else:
                self._all[name] = _parsed(told.change.entry)
        return list(names)

    def _follow(self, names: list[str]) -> None:
        """Has definitions looked at that have changed, and then those that may get a name which has become free."""
        groups = {name.partition(".")[2] for name in names}
        for name in names:
            self.queue.add(name)
        for name, definition in self._all.items():
            waits = definition["spec"].get("names") != (definition.get("status") or {}).get("acceptedNames")
            if waits and name not in names and name.partition(".")[2] in groups:
                self.queue.add(name)
        if self._stored is None:
            self._stored = set(names)
            self._looked_at("")

    async def _look_at(self, name: str) -> None:
        """Brings what is served of a definition in step with it. Raises StorageError, StatusError: it comes back."""
        group = name.partition(".")[2]
        turn = self._turns.get(group) or self._turns.setdefault(group, asyncio.Lock())
        try:
            async with turn:  # two that want one name are looked at one after the other, or both get it
                await self._settle(name)
        except (StorageError, StatusError) as error:
            log.warning("a definition could not be followed", extra={"definition": name, "error": str(error)})
            raise
        except Exception:  # no definition may keep the others from being served
            log.exception("a definition can't be served", extra={"definition": name})
        finally:
            self._looked_at(name)

    def _looked_at(self, name: str) -> None:
        if self._stored is not None and not self.ready.is_set():
            self._stored.discard(name)
            if not self._stored:
                self.ready.set()

    async def _settle(self, name: str) -> None:
        from gateway.customresources.cleanup import clean_up
        from gateway.customresources.conditions import settled
        from gateway.customresources.definition import ESTABLISHED, FINALIZER, is_true
        from gateway.customresources.status import write_status

        definition = self._all.get(name)
        wanted = definition
        if definition is not None:
            wanted = settled(definition, self._others(definition), now_text())
        await self._serve(name, wanted, 0 if definition is None or is_true(definition, ESTABLISHED) else 1)
        if definition is None or wanted is None:
            return
        if wanted is not definition:
            await write_status(self._endpoints, name, lambda at: settled(at, self._others(at), now_text()))
            if self._all.get(name) is definition:  # what it was given, the next one does not get
                self._all[name] = wanted
        deleting = wanted["metadata"].get("deletionTimestamp")
        if deleting and FINALIZER in (wanted["metadata"].get("finalizers") or ()) and name not in self._cleaning:
            task = asyncio.ensure_future(clean_up(self._endpoints, wanted, lambda: self._served_of(name, wanted)))
            self._cleaning[name] = task
            task.add_done_callback(lambda done: self._cleaning.pop(name, None))

    def _served_of(self, name: str, definition: JsonObject) -> Resource | None:
        """A resource that serves the objects of a definition; None where nothing of this very definition is served."""
        found = self._served.get(name)
        if found is None or not found.resources or found.uid != definition["metadata"].get("uid"):
            return None
        return found.resources[0]

    def _others(self, definition: JsonObject) -> Iterator[JsonObject]:
        own, group = definition["metadata"]["name"], definition["spec"].get("group")
        others = (each for name, each in self._all.items() if name != own and each["spec"].get("group") == group)
        from gateway.customresources.names import as_if_named, comes_first  # with the conditions, when there is one

        return (as_if_named(each) if comes_first(each, definition) else each for each in others)

    async def _serve(self, name: str, definition: JsonObject | None, later: int) -> None:
        """Has the endpoints be what a definition says, if they are not.

        Watches may start from the definition's revision, or only `later` if nobody could list its objects then.
        """
        from gateway.customresources.definition import ESTABLISHED, TERMINATING, ends_unserved, is_true
        from gateway.customresources.model import as_read_before, model_of, resources_of
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
        model = model_of(definition, self._converter, since)
        same = before is not None and before.resources and not ending[1] and reads_alike(before.made_of, made_of)
        if same and before is not None:  # watches go on; they see its objects go
            model = as_read_before(model, before.resources[0].model)
        resources = resources_of(definition, model)
        replaced = [] if before is None else before.resources
        await self._endpoints.replace(replaced, resources, watched_on=bool(same))
        self._served[name] = _Served(uid, made_of, ending, resources)
