"""Makes sure that the watch cache is up to date before controllers do what can't be undone."""

from __future__ import annotations

from storage.errors import Unavailable
from storage.reads import Reads


async def all_seen(reads: Reads) -> None:
    """Waits until the watch cache has the present revision of etcd. Raises Unavailable if it can't get it."""
    if not await reads.fresh():
        raise Unavailable("the watch cache is behind etcd")
