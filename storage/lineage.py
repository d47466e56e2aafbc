"""Checks that etcd still has the history from which the cache was filled.

After a restore of a backup, or after etcd lost its newest writes, etcd gives the same revisions to other changes. Signs
of this are another cluster ID, a raft term or revision below one that was seen, and other changes. So a new watch
starts with the last applied change: it has to bring this change, and no unknown one up to the revision reached.
"""

from __future__ import annotations

from dataclasses import dataclass

from storage.etcd import DELETE, ClusterState, KeyEvent
from storage.watch_cache import WatchCache


class Rewound(Exception):
    """etcd has another history than the cache has seen, so the whole cache may be wrong. The message says why."""


@dataclass(slots=True)
class Lineage:
    """The cluster ID and the highest raft term that were seen; 0 before the first."""

    cluster: int = 0
    term: int = 0

    def check(self, head: ClusterState, reached: int) -> None:
        """Raises Rewound if `head`, from a linearizable read, can't come after what was seen; else notes it."""
        if self.cluster and head.cluster != self.cluster:
            raise Rewound("it is another cluster")
        if head.term < self.term:
            raise Rewound("its raft term has fallen")
        if head.revision < reached:
            raise Rewound(f"its revision {head.revision} is below {reached}")
        self.cluster, self.term = head.cluster, head.term

    def forget(self) -> None:
        """Forgets the cluster: the next head may be of any."""
        self.cluster = self.term = 0


def check_resumed(cache: WatchCache, last: KeyEvent, told: list[KeyEvent]) -> None:
    """Raises Rewound unless the first events of a watch that starts at the last applied change agree with the cache.

    The events must include that change. For other events up to the revision reached, only the last one of each key is
    compared with the cache, which knows only the outcome.
    """
    known = [event for event in told if event.kv.mod_revision <= cache.reached]
    if not any(_is_same(event, last) for event in known):
        raise Rewound(f"revision {last.kv.mod_revision} has another content than before")
    for key, event in {event.kv.key: event for event in known}.items():
        resource = cache.of_key(key)
        if resource is None:
            continue
        entry = resource.get(key)
        found = None if entry is None else entry.revision
        if found != (None if event.type == DELETE else event.kv.mod_revision):
            raise Rewound(f"revision {event.kv.mod_revision} was never seen")


def _is_same(event: KeyEvent, last: KeyEvent) -> bool:
    one, other = event.kv, last.kv
    return (event.type, one.key, one.mod_revision) == (last.type, other.key, other.mod_revision) and (
        event.type == DELETE or one.value == other.value
    )
