"""Makes sure that controllers know all that etcd has before they do what cannot be undone."""

from __future__ import annotations

from storage.errors import Unavailable
from storage.reads import Reads


async def all_seen(reads: Reads) -> None:
    """Makes the cache as new as etcd is now. Raises Unavailable where it cannot be: what it lacks would be missed."""
    if not await reads.fresh():
        raise Unavailable("the watch cache is behind etcd")
