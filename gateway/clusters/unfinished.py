"""Wakes the control planes with unfinished work where their controllers run, whatever process they were changed in.

Each process puts a key, the announcement of a control plane, before it writes in the control plane (`storage/fence.py`,
Existence). The leader removes the key when the controllers have had nothing to do for a while. So a new leader, which
has not seen the writes, reads one range of keys, in which control planes without unfinished work have none.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic

from gateway.clusters.definition import ANNOUNCEMENTS, READY
from gateway.clusters.row import ClusterRow
from gateway.clusters.table import Table
from gateway.pieces import each_async, survive_async
from gateway.task_group import TaskGroup
from storage.etcd import KeyValue
from storage.etcd.operations import delete, mod_revision_is
from storage.fence import ANNOUNCED
from storage.leading import Leading
from storage.store import ANSWER

logger = logging.getLogger(__name__)

LOOK = 60.0  # seconds between two looks
KEPT = ANNOUNCED + ANSWER + LOOK  # seconds after which all writes that an announcement is for have been made
_AT_ONCE = 4  # control planes that are woken at the same time


class UnfinishedWork:
    """The announcements of all control planes, as the leader sees them."""

    def __init__(self, table: Table, leading: Leading) -> None:
        self._table, self._leading = table, leading
        self._root = table.common.root + ANNOUNCEMENTS
        self._seen: dict[tuple[bytes, int], float] = {}  # key and mod revision -> when it was first seen

    async def run(self) -> None:
        """Looks now and then, until cancelled."""
        await self._table.ready.wait()
        await survive_async(self._end_remnants, None, _remnants_left, None)
        while True:
            await survive_async(self._look, None, _failed, None)
            await asyncio.sleep(LOOK)

    async def _end_remnants(self, _piece: None) -> None:
        await self._table.templates.end_remnants(self._leading, self._table.uids)

    async def _look(self, _piece: None) -> None:
        found = (await self._leading.client.prefix(self._root, keys_only=True)).kvs
        now = monotonic()
        self._seen = {each: self._seen.get(each, now) for each in ((kv.key, kv.mod_revision) for kv in found)}
        resting = [row for kv in found if (row := await self._handled(kv)) is not None]

        async def following() -> ClusterRow | None:
            return resting.pop() if resting else None

        async with TaskGroup() as group:
            for _ in range(min(_AT_ONCE, len(resting))):
                group.create_task(each_async(following, self._table.awake, _not_woken))

    async def _handled(self, kv: KeyValue) -> ClusterRow | None:
        """Removes an announcement whose work is done. Returns the control plane if it has to be woken for the work."""
        row = self._table.of_uid(kv.key.removeprefix(self._root).decode(errors="replace"))
        if row is not None:
            if row.awake is None:
                return row if row.described.phase == READY else None
            if not row.awake.is_done or monotonic() - self._seen[kv.key, kv.mod_revision] < KEPT:
                return None
        elif monotonic() - self._seen[kv.key, kv.mod_revision] < KEPT:  # else this process does not know it yet
            return None
        await self._leading.txn([mod_revision_is(kv.key, kv.mod_revision)], [delete(kv.key)])
        return None


def _remnants_left(_: None, error: Exception) -> None:
    logger.warning("templates of control planes that are gone could not be removed", exc_info=error)


def _failed(_: None, error: Exception) -> None:
    logger.warning("control planes with unfinished work could not be found", exc_info=error)


def _not_woken(row: ClusterRow, error: Exception) -> None:
    logger.warning(
        "a control plane with unfinished work could not be loaded",
        exc_info=error,
        extra={"cluster": row.described.name},
    )
