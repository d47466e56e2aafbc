"""A ResourceQuota as writes are checked against it: its status and its scopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.jsontypes import loads
from gateway.memo import Recent
from gateway.quotas.amounts import Amounts, amounts_of
from gateway.quotas.scopes import ScopeSelector, selectors_of


@dataclass(slots=True, eq=False)
class Quota:
    """A quota at one mod revision; it never changes. `hard` is that of the status, not that of the specification.

    `matched` caches, by group and resource, the names in `hard` that the evaluator counts. `owned` are names in `used`
    that are known to have kube-apiserver as their only field manager (status_ownership.py).
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
        """Whether `used` has each of these names that `hard` has."""
        return self.used.keys() >= self.hard.keys() & names

    def at(self, revision: int) -> Quota:
        """The same quota at another mod revision."""
        return Quota(
            self.key, self.name, revision, self.hard, self.used, self.selectors, self.value, self.owned, self.matched
        )

    def using(self, used: Amounts) -> Quota:
        """The same quota with another usage."""
        return Quota(
            self.key, self.name, self.revision, self.hard, used, self.selectors, self.value, self.owned, self.matched
        )

    def charged(self, used: Amounts, value: bytes, owned: frozenset[str]) -> Quota:
        """The quota after a charge, with new usage, value and owned names. Its revision is 0 until it is written."""
        return Quota(self.key, self.name, 0, self.hard, used, self.selectors, value, owned, self.matched)


def quota_of(key: bytes, value: bytes, revision: int) -> Quota:
    """The quota of a stored value at a mod revision.

    Parsed values are cached: this process parses what it writes, and again what its watch cache brings.
    """
    found = _known.find((key, value))
    if found is None:
        found = _read(key, value)
        _known.keep((key, value), found, len(key) + 10 * len(value))
    return found.at(revision)


_known: Recent[tuple[bytes, bytes], Quota] = Recent(16, 1 << 20)


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
