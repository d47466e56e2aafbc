"""JSON values that keep repeated members of objects, and the texts of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class PairsObject(dict[str, Any]):
    """An object whose `pairs` are all members in the order written, also repeated ones. As a dict it has the last.

    The pairs are kept apart only if a member is repeated: millions of small objects would take twice the memory.
    """

    __slots__ = ("_all",)

    def __init__(self) -> None:
        super().__init__()
        self._all: list[tuple[str, Any]] | None = None

    def __deepcopy__(self, memo: object) -> PairsObject:
        return self  # no code changes it after parsing

    @property
    def pairs(self) -> Iterable[tuple[str, Any]]:
        return self.items() if self._all is None else self._all

    def append(self, key: str, value: Any) -> None:
        if self._all is not None:
            self._all.append((key, value))
        elif key in self:
            self._all = [*self.items(), (key, value)]
        self[key] = value

    def spent(self) -> dict[str, Any]:
        """Returns its members as a plain dict, and becomes empty, so that both need not be in memory."""
        made = dict(self)
        self.clear()
        self._all = None
        return made


def pairs(value: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """All members of an object in the order written; those of a PairsObject with the repeated ones."""
    return value.pairs if isinstance(value, PairsObject) else value.items()


class Number:
    """A number that is not a plain integer; `text` is how it was written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __float__(self) -> float:
        return float(self.text)
