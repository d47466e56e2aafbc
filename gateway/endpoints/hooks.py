"""What some kinds do around a write besides their strategy: allocate before it, release after it.

As the Begin/After hooks of apiserver's generic registry store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteContext

Finish = Callable[[bool], Awaitable[None]]  # called once with whether the write went through


class WriteHooks(Protocol):
    """The hooks of one resource. Objects are in the storage version; `begin_*` may change `obj` in place."""

    async def begin_create(self, obj: JsonObject, attributes: WriteContext) -> Finish: ...

    async def begin_update(self, obj: JsonObject, old: JsonObject, attributes: WriteContext) -> Finish: ...

    async def after_delete(self, old: JsonObject, attributes: WriteContext) -> None: ...


MakeHooks = Callable[[Resource], WriteHooks | None]
"""Makes the hooks of a resource or subresource that has some."""


def no_hooks(resource: Resource) -> None:
    """For those who write nothing."""
    return
