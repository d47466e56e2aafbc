"""Work on one piece after the other, by a thread or task that serves many: it survives each of them.

A piece that fails is told of and counted by who asked for it, and the next one is done. Only the end of the process
ends the work early: CancelledError, and what is no Exception.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

logger = logging.getLogger(__name__)

P = TypeVar("P")
T = TypeVar("T")

Failed = Callable[[P, Exception], object]
"""Is told of a piece that has failed, and how."""


def survive(work: Callable[[P], T], piece: P, failed: Failed[P], otherwise: T) -> T:
    """What `work` returns for a piece; `otherwise` for one that fails, of which `failed` is told. Raises nothing."""
    try:
        return work(piece)
    except Exception as error:
        _tell(failed, piece, error)
        return otherwise


async def survive_async(work: Callable[[P], Awaitable[T]], piece: P, failed: Failed[P], otherwise: T) -> T:
    """As `survive`, of work that waits."""
    try:
        return await work(piece)
    except Exception as error:
        _tell(failed, piece, error)
        return otherwise


def each(next_piece: Callable[[], P | None], work: Callable[[P], object], failed: Failed[P]) -> None:
    """Does `work` for one piece after the other until there is none, for a thread."""
    while (piece := next_piece()) is not None:
        survive(work, piece, failed, None)


async def each_async(
    next_piece: Callable[[], Awaitable[P | None]], work: Callable[[P], Awaitable[object]], failed: Failed[P]
) -> None:
    """As `each`, for a task."""
    while (piece := await next_piece()) is not None:
        await survive_async(work, piece, failed, None)


def _tell(failed: Failed[P], piece: P, error: Exception) -> None:
    try:
        failed(piece, error)
    except Exception:
        logger.exception("a piece of work has failed, and so has what was to tell of it")
