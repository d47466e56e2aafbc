"""The cache of derived values is bounded by bytes."""

from __future__ import annotations

import pytest

from gateway.memo import LONGEST, Memory, memo


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
