"""A ResourceQuota as writes are held against it: what its status says, and what it selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.jsontypes import loads
from gateway.quotas.amounts import Amounts, amounts_of
from gateway.quotas.scopes import ScopeSelector, selectors_of


@dataclass(frozen=True, slots=True, eq=False)
class Quota:
    """A quota of a revision. What binds is the `hard` of its status, not that of its specification."""

    key: bytes
    name: str
    revision: int
    hard: Amounts
    used: Amounts
    selectors: Sequence[ScopeSelector]
    value: bytes  # as it is stored

    def knows_usage(self, names: Sequence[str]) -> bool:
        """Whether it says how much is used of each of these that are limited."""
        return all(name in self.used for name in names if name in self.hard)


def quota_of(key: bytes, value: bytes, revision: int) -> Quota:
    """The quota that is stored so."""
    obj = loads(value)
    status = obj.get("status") or {}
    return Quota(
        key,
        obj["metadata"]["name"],
        revision,
        amounts_of(status.get("hard")),
        amounts_of(status.get("used")),
        selectors_of(obj.get("spec") or {}),
        value,
    )
