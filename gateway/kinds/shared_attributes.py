"""Labels and fields for selectors, with one shared dict for all objects that have equal ones.

Pods of one template have the same labels, and the same fields except their name. A dict for each object would take a
kilobyte.
"""

from __future__ import annotations

MOST = 2048  # dicts that are known at once
LONGEST = 16  # members of one that is looked for; longer ones hardly come again
LENGTH = 2048  # characters of its values: fields of custom kinds may be of any length, and what is known stays


class FieldSet:
    """An object's selectable fields: its name, and what others have too."""

    __slots__ = ("_name", "_others")

    def __init__(self, name: str, others: dict[str, str]) -> None:
        self._name, self._others = name, others

    def get(self, field: str, default: str, /) -> str:
        """The value of a field, else the default."""
        return self._name if field == "metadata.name" else self._others.get(field, default)


_known: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}


def alike(texts: dict[str, str]) -> dict[str, str]:
    """The first of late that was equal, in the same order, else this one; not to be changed."""
    if len(texts) > LONGEST or sum(map(len, texts.values())) > LENGTH:
        return texts
    members = tuple(texts.items())
    found = _known.get(members)
    if found is None:
        if len(_known) >= MOST:
            _known.clear()
        found = _known[members] = texts
    return found
