"""Which StorageVersionMigration of a resource is next: one runs at a time, the oldest first."""

from __future__ import annotations

from enum import Enum
from heapq import heappop, heappush
from typing import NamedTuple

GroupResource = tuple[str, str]  # the API group and the plural


class MigrationStage(Enum):
    """How far a migration is."""

    WAITS = "waits"
    RUNS = "runs"
    ENDED = "ended"


class _Place(NamedTuple):
    resource: GroupResource
    stage: MigrationStage
    rank: tuple[str, str]  # when it was created, and its name


class MigrationTurns:
    """The migrations that wait or run, by resource. A step costs the logarithm of their number."""

    def __init__(self) -> None:
        self._places: dict[bytes, _Place] = {}
        self._running: dict[GroupResource, set[bytes]] = {}
        self._waiting: dict[GroupResource, list[tuple[tuple[str, str], bytes]]] = {}  # heaps; may have outdated keys

    def note(self, key: bytes, resource: GroupResource, stage: MigrationStage, rank: tuple[str, str]) -> None:
        """Takes in the state of a migration."""
        place = _Place(resource, stage, rank)
        if self._places.get(key) == place:
            return
        self.drop(key)
        if stage is MigrationStage.ENDED:
            return
        self._places[key] = place
        if stage is MigrationStage.RUNS:
            self._running.setdefault(resource, set()).add(key)
        else:
            heappush(self._waiting.setdefault(resource, []), (rank, key))

    def drop(self, key: bytes) -> None:
        """Takes out a migration that has ended, or was deleted."""
        place = self._places.pop(key, None)
        if place is None or place.stage is not MigrationStage.RUNS:
            return
        running = self._running[place.resource]
        running.discard(key)
        if not running:
            del self._running[place.resource]

    def next(self, resource: GroupResource) -> bytes | None:
        """The migration of a resource that may begin; None if one runs, or none waits."""
        if resource in self._running:
            return None
        heap = self._waiting.get(resource, [])
        while heap:
            rank, key = heap[0]
            if self._places.get(key) == _Place(resource, MigrationStage.WAITS, rank):
                return key
            heappop(heap)
        self._waiting.pop(resource, None)
        return None
