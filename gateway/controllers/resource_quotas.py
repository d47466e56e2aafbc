"""Writes the status of ResourceQuotas: the usage of the objects of a namespace ("Resource Quotas").

Requests charge quotas when they create objects (gateway/quotas/charges.py). This controller copies new limits into the
status, and releases the usage of deleted objects. It writes a status only if the quota has not changed since the
objects were counted, so that no charge is lost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable

from gateway import clock
from gateway.controllers.actor import Actor
from gateway.controllers.cache_sync import all_seen
from gateway.controllers.keyed_controller import KeyedController
from gateway.endpoints.foreign import ForeignKind
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.quotas.amounts import Amounts, amounts_of, same, written
from gateway.quotas.classes import CachedClasses
from gateway.quotas.evaluator import Evaluator
from gateway.quotas.evaluators import SPECIAL, counts, evaluator_of
from gateway.quotas.marks import mark_of
from gateway.quotas.scopes import ScopeSelector, selectors_of
from gateway.quotas.tallies import Tallies, Tally
from gateway.schema.quantity import Quantity
from storage.entry import Change, ChangeType, Entry
from storage.store import EtcdStore

QUOTAS = "resourcequotas"
RESYNC = 300.0  # seconds between two full recounts, as in kube-controller-manager by default
QUIET = 1.0  # seconds without a charge after which a quota is recounted, to find charges for objects never written
SETTLE = 0.1  # seconds in which changes that may lower a usage are gathered
# seconds without a charge after which a usage is lowered, and the most seconds to wait for that
STILL, MOST = 0.2, 2.0
_COUNTABLE = frozenset({"create", "list", "watch", "delete"})
_COUNT = "count/"
_ALIASED = {alias: place for place, alias in counts.ALIASES.items()}


class Outdated(Exception):
    """The quota has changed since its objects were counted."""


class ResourceQuotas(KeyedController):
    """The controller. Its queue has keys of quotas."""

    queue_name = "resourcequota_primary"
    resources = (QUOTAS, "deviceclasses")

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor)
        stores = actor.endpoints.services.stores
        self._classes = CachedClasses(stores, stores.main.cache.root)
        self._tallies = Tallies(self._counted_changed)
        self._used_by: dict[bytes, set[Tally]] = {}
        self._recounted: dict[bytes, float] = {}
        self._charged: dict[bytes, float] = {}  # by quota that is still to be recounted: when a group was charged last
        self._kinds: dict[bytes, Evaluator] = {}  # by key prefix: kinds of which quotas only count the objects
        self._kinds_abroad = set[bytes]()  # those of them that are on extension API servers
        self._apart: dict[bytes, tuple[Evaluator, EtcdStore]] = {}  # by prefix: kinds in another etcd than quotas
        self._put_off: dict[bytes, float] = {}  # by quota: since when its lower usage is held back
        self._foreign = actor.endpoints.services.foreign_objects
        self.kinds_changed()

    # incoming changes

    def kinds_changed(self) -> None:
        """The served kinds have changed: recounts the quotas that count objects of a kind that came or went."""
        stores = self.actor.endpoints.services.stores
        root, quotas = stores.main.cache.root, stores.of_collection(self.key(QUOTAS, ""))
        before, self._kinds, self._apart = self._kinds, {}, {}
        for resource in self.actor.endpoints.registry.stored():
            evaluator = evaluator_of(resource.group, resource.resource) if _is_countable(resource) else None
            prefix = root + resource.storage_prefix.encode() + b"/"
            if evaluator is not None and (resource.group, resource.resource) not in SPECIAL:
                self._kinds[prefix] = evaluator
            if evaluator is not None and (store := stores.of_collection(prefix)) is not quotas:
                self._apart[prefix] = evaluator, store
        self._kinds_abroad = {kind.prefix for kind in self._foreign.followed() if _is_counted_abroad(kind)}
        for kind in self._foreign.followed():
            evaluator = evaluator_of(kind.group, kind.resource)
            if kind.prefix in self._kinds_abroad and evaluator is not None:
                self._kinds[kind.prefix] = evaluator
        changed = before.keys() ^ self._kinds.keys()
        self._queue_counting([(before | self._kinds)[prefix] for prefix in changed])

    def follows(self, prefix: bytes) -> bool:
        return prefix in self.prefixes or prefix in self._kinds or prefix in self._apart

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        if prefix in self._kinds_abroad:
            self._counted_anew(prefix)

    def state(self, prefix: bytes, entry: Entry) -> None:
        if self.prefixes.get(prefix) == QUOTAS:
            self.queue.add(entry.key)

    def change(self, prefix: bytes, change: Change) -> None:
        match self.prefixes.get(prefix):
            case "resourcequotas":
                if (
                    change.previous is None
                    or _spec(change.entry) != _spec(change.previous)
                    or change.type is ChangeType.DELETED
                ):
                    self.queue.add(change.key)
                elif mark_of(change.entry):
                    self._group_charged(change.key)
            case "deviceclasses":
                self._tallies.start_over()
                for entry in self.entries(QUOTAS):
                    self.queue.add(entry.key)
        # objects that extension API servers create are not charged by a request here
        if change.type is ChangeType.DELETED or (change.type is ChangeType.ADDED and prefix in self._kinds_abroad):
            self._counted_anew(prefix, change.key[len(prefix) :].partition(b"/")[0].decode())
        elif change.type is ChangeType.ADDED and prefix in self._apart:
            # a recount between the charge of the object and its write in the other etcd may have undone the charge
            for entry in self.entries(QUOTAS, change.key[len(prefix) :].partition(b"/")[0].decode()):
                self.queue.add_after(entry.key, QUIET)

    def _group_charged(self, key: bytes) -> None:
        """A group of writes was charged. Its gateway may have crashed before it made these writes.

        Other charges need no such recount: a single write is charged in its own transaction. A usage that another
        client writes stays until the next full recount, as in kube-controller-manager.
        """
        if key not in self._charged:
            asyncio.get_running_loop().call_later(QUIET, self._look, key)
        self._charged[key] = time.monotonic()

    def _look(self, key: bytes) -> None:
        """Queues a quota when no group was charged for QUIET seconds: before, a recount would miss writes under way."""
        left = QUIET - (time.monotonic() - self._charged[key])
        if left > 0:
            asyncio.get_running_loop().call_later(left, self._look, key)
        else:
            del self._charged[key]
            self.queue.add(key)

    def _counted_anew(self, prefix: bytes, namespace: str = "") -> None:
        """Queues the quotas (of a namespace, if given) that count the objects of a kind."""
        kind = self._kinds.get(prefix)
        if kind is None:
            return
        self._queue_counting([kind], namespace, SETTLE if prefix in self._kinds_abroad else 0.0)

    def _queue_counting(self, kinds: Collection[Evaluator], namespace: str = "", delay: float = 0.0) -> None:
        """Queues the quotas (of a namespace, if given) that limit the number of objects of some kinds."""
        names = [f'"{name}"'.encode() for kind in kinds for name in kind.names]
        for entry in self.entries(QUOTAS, namespace) if names else ():
            if any(name in entry.tail for name in names):
                self.queue.add_after(entry.key, delay) if delay else self.queue.add(entry.key)

    def _counted_changed(self, change: Change) -> None:
        """An object whose usage quotas sum up (such as a pod) has changed."""
        if change.type is ChangeType.ADDED:
            return  # its write was charged
        namespace = change.key.rsplit(b"/", 2)[-2].decode()
        for entry in self.entries(QUOTAS, namespace):
            if change.type is ChangeType.DELETED:
                self.queue.add(entry.key)
            else:
                self.queue.add_after(entry.key, SETTLE)

    # reconciliation

    async def reconcile(self, key: bytes) -> None:
        now = time.monotonic()
        quota = self.cached(key)
        if quota is None:
            self._forget(key)
            return
        tallies = self._tallies_of(key, quota)
        if now - self._recounted.get(key, now) >= RESYNC:
            del self._recounted[key]
            for tally, _ in tallies:
                tally.start_over()
        self._recounted.setdefault(key, now)
        self.queue.add_after(key, RESYNC)
        apart = self._counted_apart(quota)
        for store in apart:
            await all_seen(store.reads)
        while not all(tally.is_current for tally, _ in tallies):
            for tally, _ in tallies:
                await tally.settle(self._classes, clock.now())
        # with one etcd, the sums and the cached quota are of the same revision; with two, the sums must be newer than
        # the quota, so the quota that was read before is used
        await self._write(key, tallies, quota if apart else self.cached(key), bool(apart))

    def _counted_apart(self, quota: JsonObject) -> set[EtcdStore]:
        """The other etcds that have objects which a quota limits."""
        hard = (quota.get("spec") or {}).get("hard") or {}
        return {store for evaluator, store in self._apart.values() if evaluator.matching(hard, self._classes)}

    async def _write(
        self, key: bytes, tallies: list[tuple[Tally, Evaluator]], quota: JsonObject | None, apart: bool
    ) -> None:
        """Writes the usage into the quota's status, if it differs and the quota has not changed since."""
        if quota is None:
            return
        for tally, _ in tallies:
            if (due := tally.next_due) is not None:
                self.queue.add_after(key, max(0.0, due - clock.now()) + SETTLE)
        status, hard = quota.get("status") or {}, (quota.get("spec") or {}).get("hard") or {}
        used = {name: amount for name, amount in amounts_of(status.get("used")).items() if name in hard}
        before = dict(used)
        used |= self._used(quota, hard, tallies)
        if apart and _is_lower(used, before) and self._may_be_under_way(key):
            used = {name: max(amount, before.get(name, amount)) for name, amount in used.items()}
            self.queue.add_after(key, STILL)
        if same(used, amounts_of(status.get("used"))) and same(amounts_of(hard), amounts_of(status.get("hard"))):
            return
        meta = quota["metadata"]

        def alter(obj: JsonObject) -> bool:
            if obj["metadata"].get("resourceVersion") != meta["resourceVersion"]:
                raise Outdated
            obj["status"] = {name: value for name, value in (("hard", hard), ("used", written(used))) if value}
            return True

        quotas = self.actor.of("", "v1", QUOTAS, "status")
        try:
            await self.actor.change(quotas, meta["namespace"], meta["name"], alter, uid=meta["uid"])
        except Outdated:
            self.queue.add_after(key, SETTLE) if apart else self.queue.add(key)

    def _may_be_under_way(self, key: bytes) -> bool:
        """Whether objects that are charged already may not yet be in another etcd.

        This is so if a group was charged less than STILL seconds ago. It is false after MOST seconds of waiting.
        """
        now = time.monotonic()
        if now - self._charged.get(key, now - STILL) < STILL and now - self._put_off.setdefault(key, now) < MOST:
            return True
        self._put_off.pop(key, None)
        return False

    def _used(self, quota: JsonObject, hard: Iterable[str], tallies: list[tuple[Tally, Evaluator]]) -> Amounts:
        """The usage of all limits in `hard` that can be counted."""
        used: dict[str, Quantity] = {}
        for tally, evaluator in tallies:
            for name, amount in tally.total(evaluator.matching(hard, self._classes)).items():
                used[name] = used[name] + amount if name in used else amount
        namespace, selectors = quota["metadata"]["namespace"], _selectors(quota)
        for name in hard:
            found = self._count(name, namespace)
            if found is not None:
                used[name] = Quantity(0 if selectors else found)
        return used

    def _count(self, name: str, namespace: str) -> int | None:
        """The number of objects for a limit that only counts objects of a kind (count/…, or an alias).

        None for other limits, and for kinds that are not served.
        """
        place = _ALIASED.get(name)
        if place is None:
            if not name.startswith(_COUNT):
                return None
            plural, _, group = name.removeprefix(_COUNT).partition(".")
            place = group, plural
        if place in SPECIAL or evaluator_of(*place) is None:
            return None
        resource = self.actor.endpoints.registry.preferred(*place)
        if resource is None:
            counted = f"{place[1]}.{place[0]}/".encode() in self._kinds_abroad
            return self._foreign.count(*place, namespace) if counted else None
        if not _is_countable(resource):
            return None
        cache = self.actor.endpoints.of_resource(resource).cache
        first, last = cache.bounds(cache.spec.prefix + namespace.encode() + b"/")
        return last - first

    def _tallies_of(self, key: bytes, quota: JsonObject) -> list[tuple[Tally, Evaluator]]:
        """The sums that a quota needs. Drops the sums that no quota needs any more."""
        hard, namespace = (quota.get("spec") or {}).get("hard") or {}, quota["metadata"]["namespace"]
        found = []
        for place, evaluator in SPECIAL.items():
            resource = self.actor.endpoints.registry.preferred(*place)
            if resource is not None and evaluator.matching(hard, self._classes):
                cache = self.actor.endpoints.of_resource(resource).cache
                found.append((self._tallies.of(cache, namespace, evaluator, _selectors(quota)), evaluator))
        used = {tally for tally, _ in found}
        if used != self._used_by.get(key):
            self._used_by[key] = used
            self._tallies.keep(set().union(*self._used_by.values()))
        return found

    def _forget(self, key: bytes) -> None:
        self._recounted.pop(key, None)
        self._put_off.pop(key, None)
        if self._used_by.pop(key, None):
            self._tallies.keep(set().union(*self._used_by.values()))


def _is_countable(resource: Resource) -> bool:
    return resource.namespaced and not resource.subresource and resource.verbs >= _COUNTABLE


def _is_counted_abroad(kind: ForeignKind) -> bool:
    return kind.namespaced and kind.verbs >= _COUNTABLE and (kind.group, kind.resource) not in SPECIAL


def _is_lower(used: Amounts, before: Amounts) -> bool:
    return any(amount < before[name] for name, amount in used.items() if name in before)


def _selectors(quota: JsonObject) -> tuple[ScopeSelector, ...]:
    return selectors_of(quota.get("spec") or {})


def _spec(entry: Entry) -> bytes:
    """The JSON bytes of a quota's spec, to find changes of it quickly: most changes are in the status only."""
    tail = entry.tail
    start = tail.rfind(b'"spec":{')
    end = tail.rfind(b'"status":{')
    return tail[start : end if end > start else None] if start >= 0 else b""
