"""Writes of keys that may be of seeds. The first change of a seed is made in the transaction that marks it."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Protocol

from storage.etcd import EtcdClient, KeyValue
from storage.etcd.kv import Beside, Guard
from storage.etcd.results import SwapResult
from storage.seeded.seeds import Seeds


class Unmarked(Protocol):
    """Finds the keys, of some sorted keys of seeds, that have no change up to a revision, or (0) until now."""

    def __call__(
        self, keys: Sequence[bytes], revision: int = 0, timeout: float | None = None
    ) -> Awaitable[list[bytes]]: ...


class Writes:
    """The compare-and-swap writes of a part."""

    def __init__(self, client: EtcdClient, seeds: Seeds, unmarked: Unmarked) -> None:
        """`client` reads etcd without seeds. `unmarked` finds the keys, of sorted keys, whose seeds are unchanged."""
        self._client, self._seeds, self._unmarked = client, seeds, unmarked

    async def put(
        self,
        key: bytes,
        value: bytes,
        expected: int,
        lease: int,
        guard: Guard | None,
        beside: Sequence[Beside],
        timeout: float | None,
    ) -> SwapResult:
        """As `update` of the client, and as `create` for an `expected` revision of 0."""
        while True:
            unmarked = await self._seeds_of((key, *(each.key for each in beside)))
            expected_now = self._in_etcd(key, expected, None, unmarked)
            if expected_now is None:
                return await self._refused(key, guard, beside)
            others = list(beside)
            for place, each in enumerate(beside):
                now = self._in_etcd(each.key, each.revision, each.value, unmarked)
                if each.key in unmarked and now is None:
                    return await self._refused(key, guard, beside)
                others[place] = replace(each, revision=now)
            others += [Beside(self._seeds.mark_of(each), b"", 0) for each in unmarked]
            if expected_now:
                asked = self._client.update(
                    key, value, expected_now, lease=lease, guard=guard, beside=others, timeout=timeout
                )
            else:
                asked = self._client.create(key, value, lease=lease, guard=guard, beside=others, timeout=timeout)
            answer = await asked
            if answer.succeeded or not unmarked:
                return answer
            if not any(answer.beside[len(beside) :]):  # else another process has changed a seed meanwhile
                found = zip(beside, answer.beside, strict=False)
                return answer._replace(
                    current=answer.current or self._shown(key, unmarked),
                    beside=[kv or self._shown(each.key, unmarked) for each, kv in found],
                )

    async def delete_if(
        self, key: bytes, mod_revision: int, *, guard: Guard | None = None, timeout: float | None = None
    ) -> SwapResult:
        """As `delete_if` of the client."""
        while True:
            unmarked = await self._seeds_of((key,))
            if not unmarked:
                return await self._client.delete_if(key, mod_revision, guard=guard, timeout=timeout)
            if mod_revision != self._seeds.revision:
                return await self._refused(key, guard, ())
            answer = await self._client.create(self._seeds.mark_of(key), b"", guard=guard, timeout=timeout)
            if answer.succeeded:
                return answer
            if answer.current is None:  # the guard does not hold
                return answer._replace(current=self._seeds.get(key))

    async def _seeds_of(self, keys: Sequence[bytes]) -> list[bytes]:
        """The keys, of these keys, whose seeds are unchanged."""
        seeds = sorted({key for key in keys if self._seeds.place(key) >= 0})
        return await self._unmarked(seeds) if seeds else []

    def _in_etcd(self, key: bytes, expected: int | None, value: bytes | None, unmarked: Sequence[bytes]) -> int | None:
        """The mod revision that the key must have in etcd if it is to be `expected`, or (None) to have a value. For a
        seed, which is not in etcd: 0, or None if it is not as expected.
        """
        if key not in unmarked:
            return expected
        if expected is None:
            seed = self._seeds.get(key)
            return 0 if seed is not None and seed.value == value else None
        return 0 if expected == self._seeds.revision else None

    def _shown(self, key: bytes, unmarked: Sequence[bytes]) -> KeyValue | None:
        return self._seeds.get(key) if key in unmarked else None

    async def _refused(self, key: bytes, guard: Guard | None, beside: Sequence[Beside]) -> SwapResult:
        """The answer to a write whose conditions do not hold: what is there now."""
        also = None if guard is None else guard.also
        guards = [each.key for each in (guard, also) if each is not None]
        keys = [key, *guards, *(each.key for each in beside)]
        unmarked = await self._seeds_of(keys)
        found = [self._shown(each, unmarked) or await self._client.get(each) for each in keys]
        revision = await self._client.revision(key)
        if guard is None:
            return SwapResult(False, revision, found[0], None, found[1:])
        if also is None:
            return SwapResult(False, revision, found[0], found[1], found[2:])
        return SwapResult(False, revision, found[0], found[1], found[3:], found[2])
