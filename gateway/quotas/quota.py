"""A ResourceQuota as writes are checked against it: its status and its selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gateway.jsontypes import loads
from gateway.quotas.amounts import Amounts, amounts_of
from gateway.quotas.scopes import ScopeSelector, selectors_of


@dataclass(slots=True, eq=False)
class Quota:
    """A quota of a revision; it never changes. What binds is the `hard` of its status, not that of its specification.

    `matched` remembers the names that evaluators count, as long as `hard` stays; `owned` are names of which it is known
    that the API server alone owns them (owning.py).
    """

    key: bytes
    name: str
    revision: int
    hard: Amounts
    used: Amounts
    selectors: Sequence[ScopeSelector]
    value: bytes  # as it is stored
    owned: frozenset[str] = frozenset()
    matched: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def knows_usage(self, names: Sequence[str]) -> bool:
        """Whether it says how much is used of each of these that are limited."""
        return self.used.keys() >= self.hard.keys() & names

    def at(self, revision: int) -> Quota:
        """The same at another revision."""
        return Quota(
            self.key, self.name, revision, self.hard, self.used, self.selectors, self.value, self.owned, self.matched
        )

    def using(self, used: Amounts) -> Quota:
        """The same with another usage."""
        return Quota(
            self.key, self.name, self.revision, self.hard, used, self.selectors, self.value, self.owned, self.matched
        )

    def charged(self, used: Amounts, value: bytes, owned: frozenset[str]) -> Quota:
        """What becomes of it when its usage changes, and nothing else; it has no revision yet."""
        return Quota(self.key, self.name, 0, self.hard, used, self.selectors, value, owned, self.matched)


def quota_of(key: bytes, value: bytes, revision: int) -> Quota:
    """The quota that is stored so; what this process has just written, it reads once, and again from the cache."""
    known = _read(key, value)
    return known.at(revision)


@lru_cache(16)
def _read(key: bytes, value: bytes) -> Quota:
    obj = loads(value)
    status = obj.get("status") or {}
    return Quota(
        key,
        obj["metadata"]["name"],
        0,
        amounts_of(status.get("hard")),
        amounts_of(status.get("used")),
        selectors_of(obj.get("spec") or {}),
        value,
    )
