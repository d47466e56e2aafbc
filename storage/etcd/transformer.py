"""Transforms values on the way to etcd and back, such as for encryption.

All reads, writes and watches of objects go through here. Backups and diagnoses use a client without a transformer: they
see the stored bytes. Keys of the server itself, set by `put` and `txn`, are not transformed.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from storage.etcd.endpoints import Endpoints
from storage.etcd.kv import KV, Beside, Guard
from storage.etcd.results import KeyEvent, KeyValue, RangeResult, SwapResult
from storage.values import UnreadableValue

log = logging.getLogger(__name__)


class Transformer(Protocol):
    """Transforms values to their stored form and back. It gets the whole etcd key, to authenticate it too."""

    def concerns(self, key: bytes) -> bool:
        """Whether the value of a key is transformed when it is written."""
        ...

    async def out(self, key: bytes, value: bytes) -> bytes:
        """The stored form of a value. Raises Untransformed."""
        ...

    async def into(self, key: bytes, value: bytes) -> bytes:
        """The value of a stored form: a StaleValue if the form is outdated, an UnreadableValue if it can't be read.

        It is an AwaitedValue if a later attempt may succeed. The call must not wait for long: it holds up all changes
        of the registry.
        """
        ...


class TransformingKV(KV):
    """The KV service, with a transformer for the values."""

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

    async def events(self, events: list[KeyEvent]) -> list[KeyEvent]:
        """The events of a watch, with transformed values."""
        return [
            KeyEvent(
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
            result.also and await self._into(result.also),
        )

    async def _all(self, kvs: list[KeyValue]) -> list[KeyValue]:
        return [await self._into(kv) for kv in kvs]

    async def _into(self, kv: KeyValue) -> KeyValue:
        """Transforms one value. A value that fails becomes an UnreadableValue, so that the others are still read."""
        try:
            value = await self._transformer.into(kv.key, kv.value)
        except Exception as error:
            log.exception("a stored value could not be transformed", extra={"key": kv.key.decode(errors="replace")})
            value = UnreadableValue(kv.value)
            value.reason = f"Internal error occurred: {error}"
        return kv if value is kv.value else kv._replace(value=value)
