"""Checks that the CPU time of a function grows in proportion to the size of its input."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

Work = Callable[[], object]

SIZE = 3000
GROWTH, LARGEST = 4, 64 * SIZE  # sizes that take too little time to be judged
FACTOR = 3.2
ROUNDS = 5
ENOUGH = 0.004  # seconds; less than this is too little to be judged


def cpu(work: Work) -> float:
    """The CPU time of one run in seconds, without the garbage collection of objects that earlier tests left behind."""
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.enable()


def calls(work: Work) -> int:
    """How many functions one run calls. Unlike its time, this number is the same in each run."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def is_in_proportion(case: Callable[[int], Work], size: int = SIZE) -> None:
    """Fails if double the input takes far more than double the time, as quadratic work does, in each of several rounds.

    If a size takes too little time to be judged, a larger one is tried, up to `LARGEST`.
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
