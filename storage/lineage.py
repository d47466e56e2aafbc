"""Checks that etcd's history is still the one that the cache was made of.

After a backup was restored, or after etcd lost its newest writes, etcd gives the same revisions to other changes. Signs
of this are another cluster ID, a raft term or revision below one that was seen, and the changes themselves. So a stream
that starts anew starts with the change that was applied last: it has to bring this change, and no unknown one up to the
revision reached.
"""

from __future__ import annotations

from dataclasses import dataclass

from storage.etcd import DELETE, Event, Head
from storage.watch_cache import WatchCache


class Rewound(Exception):
    """etcd's past is not what was seen of it: nothing in the cache can be relied on. The message says what tells."""


@dataclass(slots=True)
class Lineage:
    """What was seen of the cluster; a term never falls, and no two clusters have the same id."""

    cluster: int = 0
    term: int = 0

    def check(self, head: Head, reached: int) -> None:
        """Raises Rewound if a linearizable read gives a head that can't follow what was seen."""
        if self.cluster and head.cluster != self.cluster:
            raise Rewound("it is another cluster")
        if head.term < self.term:
            raise Rewound("its raft term has fallen")
        if head.revision < reached:
            raise Rewound(f"its revision {head.revision} is below {reached}")
        self.cluster, self.term = head.cluster, head.term

    def forget(self) -> None:
        """Forgets the known history: the next change need not follow it."""
        self.cluster = self.term = 0


def check_resumed(cache: WatchCache, last: Event, told: list[Event]) -> None:
    """Raises Rewound unless the first events of a stream that starts at the change applied last agree with the cache.

    That change must be among them. Of others up to the revision reached the cache can only know the outcome: what was
    loaded does not tell of objects that were gone by then.
    """
    known = [event for event in told if event.kv.mod_revision <= cache.reached]
    if not any(_is_same(event, last) for event in known):
        raise Rewound(f"revision {last.kv.mod_revision} is not what it was")
    for key, event in {event.kv.key: event for event in known}.items():
        resource = cache.of_key(key)
        if resource is None:
            continue
        entry = resource.get(key)
        found = None if entry is None else entry.revision
        if found != (None if event.type == DELETE else event.kv.mod_revision):
            raise Rewound(f"revision {event.kv.mod_revision} was never seen")


def _is_same(event: Event, last: Event) -> bool:
    one, other = event.kv, last.kv
    return (event.type, one.key, one.mod_revision) == (last.type, other.key, other.mod_revision) and (
        event.type == DELETE or one.value == other.value
    )
