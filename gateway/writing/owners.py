"""Removes duplicate owner references, with a warning."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds import metadata
from gateway.writing.offload import offloaded
from gateway.writing.write import Write


async def drop_duplicate_owners(write: Write, obj: JsonObject, *, after_admission: bool = False) -> None:
    """Removes duplicate ownerReferences in place, with a warning; in a thread if the body is large."""
    meta = obj["metadata"]
    if len(meta.get("ownerReferences") or ()) > 1:
        write.context.warn(
            await offloaded(write.size, lambda: metadata.drop_duplicate_owners(meta, after_admission=after_admission))
        )
