"""Limits of the number and the bytes of all objects of a control plane. A create or update beyond a limit is refused.

Deletions, marks of deletion, and updates that make an object smaller are never refused. Controllers are not limited,
because they write for objects that are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.http.status import StatusError
from storage.change import Changed, Charge, Swapping
from storage.usage import Usage


@dataclass(slots=True)
class Room:
    """The limits, which may be changed at any time; 0 is no limit. The first limit makes `usage`."""

    begin: Callable[[], Usage]
    objects: int = 0
    bytes: int = 0
    usage: Usage | None = None

    def limit(self, objects: int, size: int) -> None:
        """Replaces the limits."""
        self.objects, self.bytes = objects, size
        if (objects or size) and self.usage is None:
            self.usage = self.begin()

    def refusal(self, objects: int, growth: int) -> str:
        """The reason that a write has no room; "" if it has room."""
        used = self.usage
        if used is None or growth <= 0:
            return ""
        for name, more, now, most in (
            ("objects", objects, used.objects, self.objects),
            ("bytes", growth, used.bytes, self.bytes),
        ):
            if most and more and now + more > most:
                asked = f"requested: {name}={more}, used: {name}={now}, limited: {name}={most}"
                return f"exceeded limit of the control plane, {asked}"
        return ""


class Roomy:
    """The `Charge` (storage/change.py) of a write that needs room. `inner` charges it to quotas."""

    def __init__(
        self, room: Room, key: bytes, new: bool, growth: int, refuse: Callable[[str], StatusError], inner: Charge | None
    ) -> None:
        """`growth` is in bytes; `refuse` makes the error of a reason."""
        self._room, self._key, self._objects, self._growth = room, key, int(new), growth
        self._refuse, self._inner = refuse, inner

    async def carried(self, write: Swapping) -> Changed:
        reason = self._room.refusal(self._objects, self._growth)
        if reason:
            raise self._refuse(reason)
        usage = self._room.usage
        if usage is None:
            return await (write(()) if self._inner is None else self._inner.carried(write))
        reserved = usage.reserve(self._key, self._objects, max(0, self._growth))
        try:
            return await (write(()) if self._inner is None else self._inner.carried(write))
        finally:
            usage.release(reserved)
