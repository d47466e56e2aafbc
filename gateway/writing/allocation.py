"""Allocations for an object, such as IP addresses, before its write, and their release if the write fails."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from gateway.endpoints.hooks import WriteHooks
from gateway.jsontypes import JsonObject
from gateway.kinds.write_context import WriteContext
from storage.change import Decision, Delete, Finish, Put

D = TypeVar("D", bound=Decision)


class Allocating:
    """A context manager around the preparation of a write. On entry the hooks allocate. On exit they release, unless
    `decided` was called with a write.

    After `decided`, the write's `finish` tells the hooks whether the write succeeded. If that is unknown, the
    allocations are kept, and the repair controller releases them if needed.
    """

    __slots__ = ("_context", "_hooks", "_obj", "_old", "finish")

    def __init__(
        self, hooks: WriteHooks | None, context: WriteContext, obj: JsonObject, old: JsonObject | None
    ) -> None:
        self._hooks, self._context, self._obj, self._old = hooks, context, obj, old
        self.finish: Finish | None = None

    async def __aenter__(self) -> Allocating:
        if self._hooks is not None:
            if self._old is None:
                self.finish = await self._hooks.begin_create(self._obj, self._context)
            else:
                self.finish = await self._hooks.begin_update(self._obj, self._old, self._context)
        return self

    def decided(self, decision: D) -> D:
        """Passes the allocations to a decided write, a Put or Delete; returns the decision."""
        if isinstance(decision, Put | Delete):
            self.finish = None
        return decision

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.finish is not None:
            await self.finish(False)
