"""Loops for a thread or task that works on one piece after the other, and goes on after a piece that fails.

The caller's `failed` logs and counts the failure. Only the task's own cancellation, and exceptions other than
CancelledError that are not `Exception`, end a loop early.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

P = TypeVar("P")
T = TypeVar("T")

Failed = Callable[[P, Exception], object]
"""Called with a piece that has failed, and its exception."""


def is_ending() -> bool:
    """Whether the current task was cancelled, also if the CancelledError was lost on its way.

    `asyncio.wait_for` loses it if its future is done at the same time, and a TaskGroup raises the errors of its tasks
    in its place (both in Python 3.11). A CancelledError in a task that is not ending comes from a future that other
    code has cancelled, such as a call on a closed channel.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def raise_own(error: BaseException) -> None:
    """Raises a CancelledError that ends the current task. To be called first by a loop that goes on after errors."""
    if isinstance(error, asyncio.CancelledError) and is_ending():
        raise error


def survive(work: Callable[[P], T], piece: P, failed: Failed[P], otherwise: T) -> T:
    """Returns `work(piece)`. If that raises an Exception, calls `failed` and returns `otherwise`."""
    try:
        return work(piece)
    except Exception as error:
        _tell(failed, piece, error)
        return otherwise


async def survive_async(work: Callable[[P], Awaitable[T]], piece: P, failed: Failed[P], otherwise: T) -> T:
    """As `survive`, for a coroutine function. A future that other code has cancelled is a failure, too."""
    try:
        return await work(piece)
    except asyncio.CancelledError as error:
        raise_own(error)
        _tell(failed, piece, RuntimeError("what it waited for was cancelled"))
    except Exception as error:
        _tell(failed, piece, error)
    return otherwise


def each(next_piece: Callable[[], P | None], work: Callable[[P], object], failed: Failed[P]) -> None:
    """Calls `work` for each piece until `next_piece` returns None; for a thread."""
    while (piece := next_piece()) is not None:
        survive(work, piece, failed, None)


async def each_async(
    next_piece: Callable[[], Awaitable[P | None]], work: Callable[[P], Awaitable[object]], failed: Failed[P]
) -> None:
    """As `each`, for a task."""
    while not is_ending() and (piece := await next_piece()) is not None:
        await survive_async(work, piece, failed, None)


def _tell(failed: Failed[P], piece: P, error: Exception) -> None:
    try:
        failed(piece, error)
    except Exception:
        logger.exception("a task failed, and its error handler failed too")
