"""The keys that the seeds of several parts share, and the results that were derived from their values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Contents:
    """The keys below the root of a part, in order, and the results that were derived from the values there.

    The values of two parts differ in uids and times. A result may be derived once for all parts if it depends on no uid
    and no time. No part may change shared results.
    """

    def __init__(self, keys: Sequence[bytes], is_equal: Callable[[int], bool] = lambda place: True) -> None:
        """`is_equal` says whether the values at a place differ only in members with these names: uid,
        creationTimestamp, time, lastTransitionTime.
        """
        self.keys = keys
        self._settled = set[str]()  # the minors whose controllers have looked at such a part, and found nothing to do
        self.looked_anew = 0  # how often controllers had to look again
        self._is_equal = is_equal
        self._derived: dict[tuple[int, Hashable], object] = {}

    def look_anew(self) -> None:
        """Makes controllers check each part again, because another input of theirs, such as a file, has changed."""
        self._settled.clear()
        self.looked_anew += 1

    def settle(self, minor: str) -> None:
        """Notes that the controllers of a minor of Kubernetes have looked at such a part, and found nothing to do."""
        self._settled.add(minor)

    def needs_nobody(self, minor: str) -> bool:
        """Whether the controllers of a minor have nothing to do in such a part."""
        return minor in self._settled

    def derived(self, place: int, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, which is called once for the seeds at a place, and for each of them if their values
        differ elsewhere. It must not depend on members of these names, and not on the resourceVersion. `key` names the
        kind of result.
        """
        at = place, key
        if at in self._derived:
            found: T = self._derived[at]  # type: ignore[assignment]  # it was made for this key
            return found
        made = make()
        if self._is_equal(place):
            self._derived[at] = made
        return made
