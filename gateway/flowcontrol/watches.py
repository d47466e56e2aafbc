"""Counts open watches: of each user, because each takes memory, and of each resource, because a write sends each of
them an event (KEP-1040, "Width of requests").
"""

from __future__ import annotations

from collections import Counter

from gateway.flowcontrol.level import Cause, Refused
from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo
from gateway.http.user import MASTERS_GROUP
from gateway.selectors.fields import parse_terms
from gateway.selectors.labels import SelectorError

RETRY_AFTER = 5  # seconds
_LONGEST = 4096  # characters of a selector that names a node; a kubelet's is short

_Watched = tuple[str, str, str, str]  # group, resource, namespace and name; "" for any


class CountedWatch:
    """One open watch."""

    __slots__ = ("_by_user", "_by_watched", "_name", "_watched")

    def __init__(
        self, by_user: Counter[str], by_watched: Counter[_Watched], name: str, watched: _Watched | None
    ) -> None:
        self._by_user, self._by_watched, self._name, self._watched = by_user, by_watched, name, watched
        by_user[name] += 1
        if watched is not None:
            by_watched[watched] += 1

    def give_back(self) -> None:
        """Counts the watch no more. Call it once, when the watch has ended."""
        self._by_user[self._name] -= 1
        if not self._by_user[self._name]:
            del self._by_user[self._name]
        if self._watched is not None:
            self._by_watched[self._watched] -= 1
            if not self._by_watched[self._watched]:
                del self._by_watched[self._watched]


class OpenWatches:
    """Counts open watches. A user may have `most` of them, 0 is no limit; system:masters are not limited. All users
    together may have `altogether`, 0 is no limit.
    """

    def __init__(self, most: int) -> None:
        self._most, self.altogether = most, 0
        self._open: Counter[str] = Counter()
        self._watched: Counter[_Watched] = Counter()

    @property
    def any(self) -> bool:
        """Whether a watch is open."""
        return bool(self._open)

    def open(self, request: Request) -> CountedWatch:
        """Counts a watch, until it is given back. Raises Refused if the user has too many."""
        user, info = request.user, request.info
        if self.altogether and self._open.total() >= self.altogether:
            raise Refused(Cause.CONCURRENCY_LIMIT, RETRY_AFTER)
        if self._most and self._open[user.name] >= self._most and MASTERS_GROUP not in user.groups:
            raise Refused(Cause.CONCURRENCY_LIMIT, RETRY_AFTER)
        watched = (info.group, info.resource, info.namespace, info.name)
        return CountedWatch(self._open, self._watched, user.name, None if _of_one_node(request) else watched)

    def interested(self, info: RequestInfo) -> int:
        """The number of open watches that a write may have to notify."""
        found, group, resource = self._watched, info.group, info.resource
        count = found.get((group, resource, "", ""), 0)
        if info.namespace:
            count += found.get((group, resource, info.namespace, ""), 0)
        if info.name:
            count += found.get((group, resource, info.namespace, info.name), 0)
        return count

    def total(self) -> int:
        """The number of all open watches."""
        return self._open.total()


def _of_one_node(request: Request) -> bool:
    """Whether a watch is of the pods of one node: most writes of pods do not concern it, so it counts for none."""
    if request.info.resource != "pods":
        return False
    text = request.parameter("fieldSelector")
    if len(text) > _LONGEST:
        return False
    try:
        terms = parse_terms(text)
    except SelectorError:
        return False
    return any(term.field == "spec.nodeName" and term.equal and term.value for term in terms)
