"""How a list's items are split into chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from gateway.encodings.rendering_budget import JoinedItems, Renderings
from gateway.reading.lists import LARGE, _join, _steps


@dataclass(frozen=True)
class Item:
    """What is looked at of an entry."""

    key: bytes
    size: int


class Plain:
    """An encoder that writes as many bytes of an item as it has."""

    step = 1 << 20
    apart = lasting = None

    def items(self, entries: Sequence[Item], first: bool) -> bytes:
        return b"".join([b"%d" % (len(each.key) % 10) * each.size for each in entries])


def items(sizes: list[int]) -> list[Item]:
    return [Item(b"/registry/pods/n/p%05d" % number, size) for number, size in enumerate(sizes)]


def cuts(entries: list[Item], step: int) -> list[int]:
    return [end for _, end in _steps(entries, step)]  # type: ignore[arg-type]  # keys and sizes are all it looks at


@given(st.lists(st.integers(1, 20_000), max_size=200), st.sampled_from([1, 1000, 20_000, LARGE]))
def test_pieces_are_all_there_is_and_bounded(sizes: list[int], step: int) -> None:
    entries = items(sizes)
    pieces = list(_steps(entries, step))  # type: ignore[arg-type]  # as above
    assert [number for start, end in pieces for number in range(start, end)] == list(range(len(sizes)))
    for start, end in pieces:
        assert sum(sizes[start : end - 1]) < step


def test_a_change_moves_few_cuts_of_large_pieces() -> None:
    before = cuts(items([2500] * 5000), LARGE)
    for size in (1, 1500, 7000, 50_000):
        after = cuts(items([2500] * 5 + [size] + [2500] * 4994), LARGE)
        assert len(set(before) & set(after)) >= len(before) / 2, size


async def test_what_is_not_kept_is_made_in_pieces_for_most_of_which_nothing_is_mapped() -> None:
    """For more than 256 kB the C library would map memory page by page, and unmap it after the answer."""
    entries, renderings, encoder = cast(Any, items([2500] * 400)), Renderings(), cast(Any, Plain())
    made = await _join(renderings, encoder, entries)
    kept = await _join(renderings, encoder, entries, JoinedItems(renderings, 1_000_000, 400))
    assert b"".join(made) == b"".join(kept)
    assert max(map(len, made)) < LARGE + 2500 and len(kept) < len(made)
