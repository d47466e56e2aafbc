"""Hooks around the writes of some kinds: they allocate before a write and release after it.

They are like the Begin and After hooks of apiserver's generic registry store.
"""

from __future__ import annotations

from typing import Protocol

from gateway.jsontypes import JsonObject
from gateway.kinds.write_context import WriteContext
from storage.change import Finish


class WriteHooks(Protocol):
    """The hooks of one resource. Objects are in the storage version; `begin_*` may change `obj` in place.

    The Finish that `begin_*` returns is called with whether the write was made, and not at all if that is unknown.
    """

    async def begin_create(self, obj: JsonObject, context: WriteContext) -> Finish: ...

    async def begin_update(self, obj: JsonObject, old: JsonObject, context: WriteContext) -> Finish: ...

    async def after_delete(self, old: JsonObject, context: WriteContext) -> None: ...
