"""The metadata of a list (API Concepts, "Retrieving large results sets in chunks")."""

from __future__ import annotations

from typing import NamedTuple

from gateway.jsontypes import JsonObject, dumps


class ListMeta(NamedTuple):
    """A list's metadata; `continuation` is a continue token or "", `remaining` is None if unknown.

    `shard` is the shard selector of the list, or "". Tables and metadata-only lists do not show it.
    """

    revision: int
    continuation: str = ""
    remaining: int | None = None
    shard: str = ""

    def encode(self) -> bytes:
        """The JSON object."""
        out = b'{"resourceVersion":"%d"' % self.revision if self.revision else b"{"
        if self.continuation:
            out += (b"," if self.revision else b"") + b'"continue":' + dumps(self.continuation)
        if self.remaining is not None:
            out += (b"," if len(out) > 1 else b"") + b'"remainingItemCount":%d' % self.remaining
        return out + b"}"

    def as_json(self, shard: bool = False) -> JsonObject:
        """The metadata as a JSON object, with the shard selector only if `shard` is set."""
        found: JsonObject = {"resourceVersion": str(self.revision)} if self.revision else {}
        if self.continuation:
            found["continue"] = self.continuation
        if self.remaining is not None:
            found["remainingItemCount"] = self.remaining
        if shard and self.shard:
            found["shardInfo"] = {"selector": self.shard}
        return found
