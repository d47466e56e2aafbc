"""A loop that serves many continues after each piece of work."""

from __future__ import annotations

import asyncio

import pytest

from gateway import pieces


def halved(piece: int) -> int:
    if piece % 2:
        raise ValueError(piece)
    return piece // 2


async def halved_later(piece: int) -> int:
    await asyncio.sleep(0)
    return halved(piece)


def test_a_piece_that_fails_is_told_of_and_the_next_one_is_done() -> None:
    waiting, done, failed = iter(range(1, 6)), list[int](), list[tuple[int, str]]()
    pieces.each(
        lambda: next(waiting, None),
        lambda piece: done.append(halved(piece)),
        lambda piece, error: failed.append((piece, repr(error))),
    )
    assert done == [1, 2] and failed == [(each, f"ValueError({each})") for each in (1, 3, 5)]


def test_a_task_does_the_same() -> None:
    waiting, failed = iter(range(1, 6)), list[int]()
    done = list[int]()

    async def next_piece() -> int | None:
        return next(waiting, None)

    async def work(piece: int) -> None:
        done.append(await halved_later(piece))

    asyncio.run(pieces.each_async(next_piece, work, lambda piece, _: failed.append(piece)))
    assert (done, failed) == ([1, 2], [1, 3, 5])


def test_what_tells_of_a_failure_may_fail_too(caplog: pytest.LogCaptureFixture) -> None:
    assert pieces.survive(halved, 3, lambda piece, _: [][piece], 7) == 7
    assert "and its error handler failed too" in caplog.text


async def test_the_end_of_a_task_ends_its_work() -> None:
    begun = asyncio.Event()

    async def work(piece: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(pieces.survive_async(work, 1, lambda *_: None, None))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_future_that_somebody_else_has_cancelled_ends_one_piece() -> None:
    failed = list[str]()

    async def work(piece: int) -> None:
        raise asyncio.CancelledError

    await pieces.survive_async(work, 1, lambda _, error: failed.append(str(error)), None)
    assert failed == ["what it waited for was cancelled"]
