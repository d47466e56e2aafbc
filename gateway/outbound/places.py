"""Bounds the requests that are passed on to other servers at once, so that descriptors are left for all else.

Each of them has a connection of its own for as long as its client likes: sessions, logs, proxied requests, watches of
extension servers. One user gets a part of the places.
"""

from __future__ import annotations

import resource
from collections import Counter

from gateway.outbound.errors import NoPlace

SHARE = 4  # of the descriptors that the process may have, one in so many is for requests that are passed on
SHARE_OF_USER = 2  # of these, one in so many may be one user's
_UNBOUNDED = 1 << 30


class Place:
    """One of the places of a user."""

    __slots__ = ("_places", "_user")

    def __init__(self, places: Places, user: str) -> None:
        self._places: Places | None = places
        self._user = user

    def give_back(self) -> None:
        """The request is over. May be called several times."""
        places, self._places = self._places, None
        if places is not None:
            places.give_back(self._user)


class Places:
    """As many as there may be of `most`; without it, of what the descriptors of the process allow."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most_passed_on() if most is None else most
        self.most_of_user = max(1, self.most // SHARE_OF_USER)
        self._taken: Counter[str] = Counter()
        self.number = 0  # that are taken

    def take(self, user: str) -> Place:
        """A place for a request of a user. Raises NoPlace."""
        if self.number >= self.most:
            raise NoPlace(f"{self.number} requests are passed on to other servers, as many as there may be")
        if self._taken[user] >= self.most_of_user:
            raise NoPlace(f"{self.most_of_user} requests of yours are passed on to other servers, as many as may be")
        self._taken[user] += 1
        self.number += 1
        return Place(self, user)

    def give_back(self, user: str) -> None:
        """A request of a user is over."""
        self.number -= 1
        self._taken[user] -= 1
        if not self._taken[user]:
            del self._taken[user]


def most_passed_on() -> int:
    """How many requests may be passed on at once."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return descriptors // SHARE if descriptors > 0 else _UNBOUNDED
