"""Bounds the proxied requests, so that file descriptors are left for the rest of the process.

A proxied request is passed on to another server: exec and attach sessions, logs, pod and service proxies, requests to
extension API servers. Each has a connection of its own for as long as its client wants. Each takes a place; one user
gets only a part of the places.
"""

from __future__ import annotations

import resource
from collections import Counter

from gateway.outbound.errors import NoPlace

SHARE = 4  # proxied requests may use 1/SHARE of the process's file descriptors
SHARE_OF_USER = 2  # one user may use 1/SHARE_OF_USER of the places
_UNBOUNDED = 1 << 30


class Place:
    """A place that a user's request has taken."""

    __slots__ = ("_places", "_user")

    def __init__(self, places: Places, user: str) -> None:
        self._places: Places | None = places
        self._user = user

    def give_back(self) -> None:
        """Frees the place at the end of the request. May be called several times."""
        places, self._places = self._places, None
        if places is not None:
            places.give_back(self._user)


class Places:
    """Limits proxied requests to `most`; the default is a share of the process's file descriptors."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most_passed_on() if most is None else most
        self.most_of_user = max(1, self.most // SHARE_OF_USER)
        self._taken: Counter[str] = Counter()
        self.number = 0  # of taken places

    def take(self, user: str) -> Place:
        """Takes a place for a request of a user. Raises NoPlace."""
        if self.number >= self.most:
            raise NoPlace(f"{self.number} requests are passed on to other servers, as many as there may be")
        if self._taken[user] >= self.most_of_user:
            raise NoPlace(f"{self.most_of_user} requests of yours are passed on to other servers, as many as may be")
        self._taken[user] += 1
        self.number += 1
        return Place(self, user)

    def give_back(self, user: str) -> None:
        """Frees a place of a user."""
        self.number -= 1
        self._taken[user] -= 1
        if not self._taken[user]:
            del self._taken[user]


def most_passed_on() -> int:
    """The default limit of concurrent proxied requests."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return descriptors // SHARE if descriptors > 0 else _UNBOUNDED
