"""Labels and fields for selectors; objects with equal ones share one dict.

Pods of one template have the same labels, and the same fields except their name. A dict for each pod would take a
kilobyte.
"""

from __future__ import annotations

MOST = 2048  # shared dicts
LONGEST = 16  # members of a shared dict; longer ones rarely come again
LENGTH = 2048  # characters of its values: fields of custom kinds may be of any length, and shared dicts stay in memory


class FieldSet:
    """The selectable fields of an object: its name, and the fields that it may share with other objects."""

    __slots__ = ("_name", "_others")

    def __init__(self, name: str, others: dict[str, str]) -> None:
        self._name, self._others = name, others

    def get(self, field: str, default: str, /) -> str:
        """The value of a field, else the default."""
        return self._name if field == "metadata.name" else self._others.get(field, default)


_known: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}


def alike(texts: dict[str, str]) -> dict[str, str]:
    """A shared dict that is equal, in the same order; else `texts`, which is shared from now on. Not to be changed."""
    if len(texts) > LONGEST or sum(map(len, texts.values())) > LENGTH:
        return texts
    members = tuple(texts.items())
    found = _known.get(members)
    if found is None:
        if len(_known) >= MOST:
            _known.clear()
        found = _known[members] = texts
    return found
