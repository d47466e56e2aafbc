"""Whether work takes time in proportion to what it is given."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

Work = Callable[[], object]

SIZE = 3000
GROWTH, LARGEST = 4, 64 * SIZE  # of sizes that take too little time to be judged
FACTOR = 3.2
ROUNDS = 5
ENOUGH = 0.004  # seconds below which nothing can be said


def cpu(work: Work) -> float:
    """CPU time that one run takes, in seconds, without collections of what tests before have left in this process."""
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.enable()


def is_in_proportion(case: Callable[[int], Work], size: int = SIZE) -> None:
    """Fails when twice as much takes far more than twice as long, as quadratic work does, in each of several rounds.

    A size of which nothing can be said makes way for a larger one, until work of `LARGEST` takes next to no time.
    """
    once, twice = case(size), case(2 * size)
    once()
    while cpu(twice) < ENOUGH:
        if size >= LARGEST:
            return
        size *= GROWTH
        once, twice = case(size), case(2 * size)
    ratios = []
    for _ in range(ROUNDS):
        short, long = cpu(once), cpu(twice)
        if long < FACTOR * short:
            return
        ratios.append(round(long / short, 1))
    raise AssertionError(f"twice as much took {ratios} times as long")
