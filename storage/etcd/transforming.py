"""Transformation of values on the way to etcd and back, as for encryption.

All reads, writes and watches of objects go through here. A backup and a diagnosis do not: they see what etcd holds. A
client without a transformer does nothing here. Keys of the server itself, set by `put` and `txn`, are not transformed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from storage.etcd.endpoints import Endpoints
from storage.etcd.kv import KV, Beside, Guard
from storage.etcd.results import Event, KeyValue, RangeResult, SwapResult

log = logging.getLogger(__name__)


class StaleValue(bytes):
    """A value that etcd holds otherwise than it would be written now: it is to be written anew with the next write."""


class UnreadableValue(bytes):
    """What etcd holds, where that can't be read; `reason` says why."""

    reason: str = ""


class AwaitedValue(UnreadableValue):
    """What etcd holds, where that can't be read at present: the service that it takes does not answer."""


class Transformer(Protocol):
    """Turns values into what etcd is to hold, and back. A key is whole; it is authenticated along with its value."""

    def concerns(self, key: bytes) -> bool:
        """Whether the value of a key is written otherwise than it is."""
        ...

    async def out(self, key: bytes, value: bytes) -> bytes:
        """What etcd is to hold. Raises Untransformed."""
        ...

    async def into(self, key: bytes, value: bytes) -> bytes:
        """The value, as a StaleValue or an UnreadableValue where it is one: an AwaitedValue where asking again helps.

        It does not wait for long, since all changes of the registry come one after the other.
        """
        ...


class TransformingKV(KV):
    """The KV service with values transformed."""

    def __init__(self, endpoints: Endpoints, transformer: Transformer) -> None:
        super().__init__(endpoints)
        self._transformer = transformer

    async def range(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        revision: int = 0,
        limit: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        serializable: bool = False,
        timeout: float | None = None,
    ) -> RangeResult:
        found = await super().range(
            key,
            range_end,
            revision=revision,
            limit=limit,
            count_only=count_only,
            keys_only=keys_only,
            serializable=serializable,
            timeout=timeout,
        )
        return found if keys_only or not found.kvs else replace(found, kvs=await self._all(found.kvs))

    async def stream(self, key: bytes, range_end: bytes, *, revision: int) -> AsyncGenerator[list[KeyValue]]:
        async with aclosing(super().stream(key, range_end, revision=revision)) as parts:
            async for kvs in parts:
                yield await self._all(kvs)

    async def leased(
        self, key: bytes, range_end: bytes, *, revision: int = 0, limit: int = 0, timeout: float | None = None
    ) -> tuple[RangeResult, list[int]]:
        found, leases = await super().leased(key, range_end, revision=revision, limit=limit, timeout=timeout)
        return replace(found, kvs=await self._all(found.kvs)), leases

    async def get(self, key: bytes, *, timeout: float | None = None) -> KeyValue | None:
        found = await super().get(key, timeout=timeout)
        return None if found is None else await self._into(found)

    async def write(
        self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes], *, timeout: float | None = None
    ) -> int:
        transformed = [(key, await self._transformer.out(key, value)) for key, value in puts]
        return await super().write(transformed, deletes, timeout=timeout)

    async def create(
        self,
        key: bytes,
        value: bytes,
        *,
        lease: int = 0,
        guard: Guard | None = None,
        beside: Sequence[Beside] = (),
        timeout: float | None = None,
    ) -> SwapResult:
        value, beside = await self._transformer.out(key, value), await self._others(beside)
        return await self._swap_into(
            await super().create(key, value, lease=lease, guard=guard, beside=beside, timeout=timeout)
        )

    async def update(
        self,
        key: bytes,
        value: bytes,
        mod_revision: int,
        *,
        lease: int = 0,
        guard: Guard | None = None,
        beside: Sequence[Beside] = (),
        timeout: float | None = None,
    ) -> SwapResult:
        value, beside = await self._transformer.out(key, value), await self._others(beside)
        return await self._swap_into(
            await super().update(key, value, mod_revision, lease=lease, guard=guard, beside=beside, timeout=timeout)
        )

    async def delete_if(
        self, key: bytes, mod_revision: int, *, guard: Guard | None = None, timeout: float | None = None
    ) -> SwapResult:
        return await self._swap_into(await super().delete_if(key, mod_revision, guard=guard, timeout=timeout))

    async def events(self, events: list[Event]) -> list[Event]:
        """What a watch tells, transformed."""
        return [
            Event(
                event.type,
                event.kv if not event.kv.value else await self._into(event.kv),
                event.prev_kv and await self._into(event.prev_kv),
            )
            for event in events
        ]

    async def _others(self, beside: Sequence[Beside]) -> list[Beside]:
        return [replace(each, value=await self._transformer.out(each.key, each.value)) for each in beside]

    async def _swap_into(self, result: SwapResult) -> SwapResult:
        if result.succeeded:
            return result
        return SwapResult(
            False,
            result.revision,
            result.current and await self._into(result.current),
            result.guard and await self._into(result.guard),
            [each and await self._into(each) for each in result.beside],
        )

    async def _all(self, kvs: list[KeyValue]) -> list[KeyValue]:
        return [await self._into(kv) for kv in kvs]

    async def _into(self, kv: KeyValue) -> KeyValue:
        """One value that fails is unreadable, and does not keep others from being read."""
        try:
            value = await self._transformer.into(kv.key, kv.value)
        except Exception as error:
            log.exception("a stored value could not be transformed", extra={"key": kv.key.decode(errors="replace")})
            value = UnreadableValue(kv.value)
            value.reason = f"Internal error occurred: {error}"
        return kv if value is kv.value else kv._replace(value=value)
