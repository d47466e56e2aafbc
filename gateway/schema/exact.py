"""JSON with repeated members, and with numbers as texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class PairsObject(dict[str, Any]):
    """An object with all its members in the order written, repeated keys too; as a dict it has the last of each."""

    __slots__ = ("pairs",)

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, Any]] = []

    def __deepcopy__(self, memo: object) -> PairsObject:
        return self  # nobody changes one that has been read

    def append(self, key: str, value: Any) -> None:
        self.pairs.append((key, value))
        self[key] = value


def pairs(value: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """All members of an object in the order written, with those that come again where that is known."""
    return value.pairs if isinstance(value, PairsObject) else value.items()


class Number:
    """A number that is not a plain integer, as it was written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __float__(self) -> float:
        return float(self.text)
