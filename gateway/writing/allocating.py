"""What a kind allocates before a write and releases after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from gateway.endpoints.hooks import WriteHooks
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.writing.write import Write
from storage.errors import Conflict, KeyExists


def allocated(write: Write, obj: JsonObject, old: JsonObject | None) -> AbstractAsyncContextManager[None]:
    """Runs the kind's hooks around a write: what they allocated is kept if it goes through, else given back.

    When it is not known whether the write went through, it is kept too: repair finds out.
    """
    hooks = write.endpoint.hooks
    return _NOTHING_ALLOCATED if hooks is None else _allocated(hooks, write, obj, old)


_NOTHING_ALLOCATED = nullcontext()


@asynccontextmanager
async def _allocated(hooks: WriteHooks, write: Write, obj: JsonObject, old: JsonObject | None) -> AsyncIterator[None]:
    if old is None:
        finish = await hooks.begin_create(obj, write.attributes)
    else:
        finish = await hooks.begin_update(obj, old, write.attributes)
    try:
        yield
    except (StatusError, Conflict, KeyExists):
        await finish(False)
        raise
    await finish(True)
