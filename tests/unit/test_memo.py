"""The cache of derived values is bounded by bytes."""

from __future__ import annotations

import pytest

from gateway.memo import LONGEST, Memory, Recent, memo, memory_of


def counting(size: int = 1 << 20) -> tuple[list[str], object]:
    calls: list[str] = []

    @memo(size)
    def upper(text: str) -> str:
        calls.append(text)
        if text == "bad":
            raise ValueError
        return text.upper()

    return calls, upper


def test_a_text_is_worked_on_once() -> None:
    calls, upper = counting()
    assert [upper("a"), upper("a"), upper("b")] == ["A", "A", "B"]  # type: ignore[operator]
    assert calls == ["a", "b"]


def test_long_texts_and_failures_are_not_remembered() -> None:
    calls, upper = counting()
    for text in ["x" * (LONGEST + 1)] * 2:
        upper(text)  # type: ignore[operator]
    for _ in range(2):
        with pytest.raises(ValueError):
            upper("bad")  # type: ignore[operator]
    assert len(calls) == 4
    assert len(upper.__self__) == 0  # type: ignore[attr-defined]


def test_it_never_holds_more_than_its_size() -> None:
    _, upper = counting(100_000)
    for number in range(10_000):
        upper(f"{number:0200d}")  # type: ignore[operator]
        assert sum(map(len, upper.__self__)) < 100_000  # type: ignore[attr-defined]


def test_a_memory_never_holds_more_than_its_size() -> None:
    memory: Memory[int, int] = Memory(size=100_000)
    for number in range(5000):
        memory.keep(number, number, 800)
        assert 0 < len(memory) <= 100
    memory.clear()
    memory.keep(0, 0, 800)
    assert memory.get(0) == 0


def test_what_is_too_large_is_not_kept() -> None:
    memory: Memory[str, int] = Memory(size=100_000, largest=1000)
    memory.keep("small", 1, 10)
    memory.keep("large", 1, 1001)
    assert list(memory) == ["small"]


def test_what_was_used_last_stays() -> None:
    recent: Recent[int, int] = Recent(most=3, size=1 << 20)
    for number in range(3):
        recent.keep(number, number, 10)
    assert recent.find(0) == 0
    recent.keep(3, 3, 10)
    assert [recent.find(number) for number in range(4)] == [0, None, 2, 3]
    recent.clear()
    assert len(recent) == 0 and recent.find(0) is None


def test_recent_values_are_bounded_by_bytes() -> None:
    recent: Recent[int, int] = Recent(most=10_000, size=100_000)
    for number in range(5000):
        recent.keep(number, number, 800)
        recent.keep(number, number, 800)  # counts once
        assert 0 < len(recent) <= 100
    assert len(recent) == 100 and recent.find(4999) == 4999
    recent.keep(4999, 0, 64 << 10)
    assert recent.find(4999) is None  # neither the large value nor the one before


def test_the_memory_of_a_value_is_that_of_all_its_parts() -> None:
    many = [{} for _ in range(1000)]
    assert memory_of(many) > 64_000 and memory_of({"a": "x" * 1000, "b": ["y" * 1000]}) > 2000
