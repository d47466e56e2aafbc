"""The newest versions of a namespace's quotas that this process knows, and their values after a charge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gateway.jsontypes import dumps, loads
from gateway.kinds.metadata import now_text
from gateway.quotas.amounts import Amounts, written
from gateway.quotas.check import check
from gateway.quotas.classes import Cached, CachedClasses
from gateway.quotas.evaluator import EvaluatedWrite, Evaluator
from gateway.quotas.limited_resources import Limited
from gateway.quotas.quota import Quota, quota_of
from gateway.quotas.status_ownership import own
from storage.cache import ResourceCache
from storage.entry import MARK, Entry
from storage.errors import StoredObject
from storage.protocol import Swap
from storage.store import EtcdStore

QUOTAS = b"resourcequotas/"  # the prefix of their keys, below the root
MOST_KNOWN = 1000  # quotas whose newest version is remembered until the cache has it


@dataclass(frozen=True, slots=True)
class Charged:
    """A write to be charged. `refuse` makes the error that the client gets; `apart` says whether the object is in
    another etcd than quotas, so that no transaction has both.
    """

    namespace: str
    resource: bytes  # the prefix of its keys, below the root
    write: EvaluatedWrite
    evaluator: Evaluator
    limited: Sequence[Limited]
    refuse: Callable[[Exception], Exception]
    apart: bool = False


class KnownQuotas:
    """All quotas: those of the cache, and what this process has learned of them since."""

    def __init__(self, store: EtcdStore, others: Cached | None = None) -> None:
        """`store` has the quotas, and `others` the objects that evaluators look up."""
        self.store = store
        self.prefix = store.cache.root + QUOTAS
        self._classes = CachedClasses(others or store, store.cache.root)
        self._known: dict[bytes, Quota | int] = {}  # newer than the cache; an int: the last revision of a deleted one
        self._known_of = 0  # the generation of the cache for which `_known` holds
        self._charged: dict[bytes, Quota] = {}  # by key: the quota after its last swap

    @property
    def comparable(self) -> bool:
        """Whether etcd stores the values of quotas unencrypted, so that it can compare them."""
        transformer = self.store.client.transformer
        return transformer is None or not transformer.concerns(self.prefix + b"x")

    def entries(self, namespace: str) -> Sequence[Entry]:
        """The cache's entries of the quotas of a namespace."""
        cache = self._cache
        return () if cache is None else cache.of_namespace(namespace)

    @cached_property
    def _cache(self) -> ResourceCache | None:
        return self.store.cache.of_key(self.prefix + b"x")

    def of(self, namespace: str) -> list[Quota]:
        """The quotas of a namespace by name, each in the newest version that is known here."""
        self._forget_other_past()
        found = []
        for entry in self.entries(namespace):
            known = self._known.get(entry.key) if self._known else None
            if known is not None:
                if _revision(known) < entry.revision:
                    del self._known[entry.key]
                else:
                    if not isinstance(known, int):
                        found.append(known)
                    continue
            readable = entry.readable
            if readable is not None:
                found.append(quota_of_entry(readable))
        return found

    def _forget_other_past(self) -> None:
        """Forgets what was learned before the cache was loaded again: etcd's revisions may have started over."""
        if self._cache is not None and self._known_of != self._cache.generation:
            self._known_of = self._cache.generation
            self._known.clear()

    def check(self, charged: Charged, quotas: Sequence[Quota] | None = None) -> dict[Quota, Amounts]:
        """The new usage of each quota that a write changes. Raises Forbidden, Uncovered.

        By default `quotas` are the newest that are known.
        """
        if quotas is None:
            quotas = self.of(charged.namespace)
        return check(charged.write, charged.evaluator, quotas, charged.limited, self._classes)

    def swaps(self, becomes: Mapping[Quota, Amounts]) -> list[Swap]:
        """The swaps that store the new usage of quotas, which `check` has returned.

        A quota that cannot be decoded any more still limits by its last readable version, but is not charged.
        """
        return [self.swap(quota, used) for quota, used in becomes.items() if self.is_readable(quota.key)]

    def swap(self, quota: Quota, used: Amounts, mark: bytes = b"") -> Swap:
        """The swap that stores a quota with another usage. `mark` is white space at the end of the value."""
        new, before, owned = loads(quota.value), quota.used, quota.owned
        new["status"]["used"] = written(used)
        others = [name for name, amount in used.items() if amount is not before.get(name) and name not in owned]
        if others or not owned:
            changed = {name for name, amount in used.items() if amount != before.get(name)}
            own(new, quota.value, changed, now_text())
            owned = owned | changed
        value = dumps(new) + mark + MARK
        if len(self._charged) >= MOST_KNOWN:
            self._charged.clear()
        self._charged[quota.key] = quota.charged(used, value, owned)
        return Swap(quota.key, value, quota.revision)

    def is_readable(self, key: bytes) -> bool:
        """Whether the stored quota can be decoded, and so be charged."""
        entry = self.store.cached_entry(key)
        return entry is None or entry.readable is entry

    def learn(self, swaps: Sequence[Swap], found: Sequence[StoredObject | None]) -> None:
        """Remembers the versions of quotas that a failed swap found in etcd; None for a deleted quota."""
        for swap, stored in zip(swaps, found, strict=True):
            if stored is not None and stored.revision == swap.expected:
                continue
            known = self._known.get(swap.key)
            if known is not None and _revision(known) == swap.expected:
                del self._known[swap.key]  # the found one may be older, after etcd was restored from a backup
            if stored is None:
                self._know(swap.key, swap.expected)
            elif not stored.corrupt:
                self._know(swap.key, quota_of(swap.key, stored.value, stored.revision))

    def made(self, swaps: Sequence[Swap], revision: int) -> None:
        """Remembers quotas as they were charged at a revision, until the cache has them; saves parsing them again."""
        for swap in swaps:
            charged = self._charged.get(swap.key)
            same = charged is not None and charged.value == swap.value
            quota = charged.at(revision) if charged is not None and same else quota_of(swap.key, swap.value, revision)
            entry = self.store.cached_entry(swap.key)
            if entry is None or entry.revision < revision:
                self._know(swap.key, quota)
            elif entry.revision == revision:
                entry.remember(Quota, quota, 4 * entry.size)

    def _know(self, key: bytes, known: Quota | int) -> None:
        if _revision(self._known.get(key, 0)) > _revision(known):
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()  # no harm: a swap of an old version fails and returns the new one
        self._known[key] = known


def _revision(known: Quota | int) -> int:
    return known if isinstance(known, int) else known.revision


def quota_of_entry(entry: Entry) -> Quota:
    """The quota of a readable entry."""
    found = entry.recall(Quota)
    if found is None:
        found = quota_of(entry.key, entry.stored().value, entry.revision)
        entry.remember(Quota, found, 4 * entry.size)
    assert isinstance(found, Quota)
    return found
