"""Allocations of a kind before a write, and their release if the write is not made."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from gateway.endpoints.hooks import WriteHooks
from gateway.jsontypes import JsonObject
from gateway.kinds.write_context import WriteContext
from storage.change import Decision, Delete, Finish, Put

D = TypeVar("D", bound=Decision)


class Allocating:
    """A block in which a write is decided on: what its hooks took is given back unless it ends in `decided`.

    Then `finish`, which the write carries, tells them what came of it. When it is not known whether the write was
    made, what was taken is kept: repair finds out.
    """

    __slots__ = ("_attributes", "_hooks", "_obj", "_old", "finish")

    def __init__(
        self, hooks: WriteHooks | None, attributes: WriteContext, obj: JsonObject, old: JsonObject | None
    ) -> None:
        self._hooks, self._attributes, self._obj, self._old = hooks, attributes, obj, old
        self.finish: Finish | None = None

    async def __aenter__(self) -> Allocating:
        if self._hooks is not None:
            if self._old is None:
                self.finish = await self._hooks.begin_create(self._obj, self._attributes)
            else:
                self.finish = await self._hooks.begin_update(self._obj, self._old, self._attributes)
        return self

    def decided(self, decision: D) -> D:
        """Hands what was taken over to the write that is decided on, if there is one."""
        if isinstance(decision, Put | Delete):
            self.finish = None
        return decision

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.finish is not None:
            await self.finish(False)
