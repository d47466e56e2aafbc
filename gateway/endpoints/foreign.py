"""What other servers have of this cluster's objects, for controllers that look at all kinds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from gateway.http.user import User


@dataclass(slots=True)
class Left:
    """What is left of a namespace at other servers, after they were asked to delete it."""

    resources: Counter[str] = field(default_factory=Counter)  # by "things.example.com"
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class Foreign(Protocol):
    """Knows other servers."""

    def undiscovered(self) -> list[str]:
        """The group versions ("group/version") of which their servers do not tell what they serve, sorted."""
        ...

    async def empty(self, namespace: str, user: User) -> Left:
        """Has everything deleted that other servers have in a namespace, in a user's name."""
        ...
