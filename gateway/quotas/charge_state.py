"""Whether what was charged to a quota is still in its `used`, or was undone by a recount or another write."""

from __future__ import annotations

from collections.abc import Collection

from gateway.quotas.known import quota_of_entry
from gateway.quotas.quota import Quota
from gateway.quotas.status_ownership import is_owner
from storage.cache import ResourceCache
from storage.entry import Change, ChangeType
from storage.history import Overrun
from storage.store import EtcdStore


async def stands(store: EtcdStore, quota: Quota, since: int, names: Collection[str]) -> bool:
    """Whether all changes of these names in a quota's `used` since a revision are charges.

    A charge leaves kube-apiserver as the field manager of the amounts (status_ownership.py); after a recount the
    controller is their manager. If the answer cannot be known it is no, and nothing is given back. The next recount
    corrects a usage that is too high; one that is too low would let too much through.
    """
    cache = store.cache.of_key(quota.key)
    if cache is None or quota.revision < since or not await store.reads.fresh():
        return False
    try:
        changes = _changes(cache, quota, since)
    except Overrun:
        return False
    return all(_is_charge(change, names) for change in changes)


def _changes(cache: ResourceCache, quota: Quota, since: int) -> list[Change]:
    """The changes of a quota after a revision, up to the quota's own. Raises Overrun."""
    history = cache.history
    found = history.between(history.position_after(since), history.end)
    return [change for change in found if change.key == quota.key and change.revision <= quota.revision]


def _is_charge(change: Change, names: Collection[str]) -> bool:
    if change.corrupt or change.type is not ChangeType.MODIFIED or change.previous is None:
        return False
    if change.entry.readable is not change.entry or change.previous.readable is not change.previous:
        return False
    before, after = quota_of_entry(change.previous).used, quota_of_entry(change.entry)
    if all(name in before and before[name] == after.used.get(name) for name in names):
        return True
    managers = change.entry.parsed()["metadata"].get("managedFields") or ()
    if managers:
        return is_owner(managers, names)
    return all(name in before and name in after.used and before[name] <= after.used[name] for name in names)
