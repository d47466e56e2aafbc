"""How many watches each user has open: each costs memory for as long as its client likes."""

from __future__ import annotations

from collections import Counter

from gateway.flowcontrol.level import Cause, Refused
from gateway.http.user import MASTERS_GROUP, User

RETRY_AFTER = 5  # seconds


class OpenWatch:
    """One that is open."""

    __slots__ = ("_name", "_open")

    def __init__(self, counts: Counter[str], name: str) -> None:
        self._open, self._name = counts, name

    def give_back(self) -> None:
        """To be called once, when it has ended."""
        self._open[self._name] -= 1
        if not self._open[self._name]:
            del self._open[self._name]


class OpenWatches:
    """Counts them; `most` a user, 0 is any number. system:masters are not limited."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def open(self, user: User) -> OpenWatch:
        """One more, until it gives itself back. Raises Refused."""
        if self._most and self._open[user.name] >= self._most and MASTERS_GROUP not in user.groups:
            raise Refused(Cause.CONCURRENCY_LIMIT, RETRY_AFTER)
        self._open[user.name] += 1
        return OpenWatch(self._open, user.name)

    def total(self) -> int:
        """All that are open."""
        return self._open.total()
