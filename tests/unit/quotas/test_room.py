"""A write that passes a limit of its control plane is refused; what frees room is not."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.quotas.room import Room
from storage.usage import Usage


def room(objects: int, size: int, *, used: tuple[int, int] = (9, 90)) -> Room:
    usage = Usage()
    usage.objects, usage.bytes = used
    made = Room(lambda: usage)
    made.limit(objects, size)
    return made


@pytest.mark.parametrize(
    ("limits", "asked", "refused"),
    [
        ((10, 0), (1, 50), ""),
        ((10, 0), (2, 50), "requested: objects=2, used: objects=9, limited: objects=10"),
        ((0, 100), (1, 10), ""),
        ((0, 100), (1, 11), "requested: bytes=11, used: bytes=90, limited: bytes=100"),
        ((9, 100), (0, 10), ""),  # an update adds no object, so the limit of objects is not passed
        ((5, 50), (1, 0), ""),  # and what does not grow passes none, above the limits too
        ((5, 50), (0, -10), ""),
    ],
)
def test_what_passes_a_limit_is_refused(limits: tuple[int, int], asked: tuple[int, int], refused: str) -> None:
    said = room(*limits).refusal(*asked)
    assert said == (f"exceeded limit of the control plane, {refused}" if refused else "")


def test_without_a_limit_nothing_is_counted_nor_refused() -> None:
    begun = list[Any]()

    def begin() -> Usage:
        begun.append("")
        return Usage()

    made = Room(begin)
    assert made.refusal(1000, 1000) == ""
    made.limit(0, 0)
    assert not begun and made.usage is None
    made.limit(1, 0)
    made.limit(0, 5)
    assert len(begun) == 1 and made.refusal(7, 5) == "" and made.refusal(7, 6)
