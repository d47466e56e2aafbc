"""Waits for a change that another process, a controller or a watch makes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 90.0  # seconds, for a busy machine


def until(
    found: Callable[[], Any], patience: float = PATIENCE, told: Callable[[], str] = lambda: "it never came to hold"
) -> Any:
    """Calls a function until its result is true, and returns the result.

    Raises AssertionError after `patience` seconds, with the result of `told`.
    """
    deadline = time.monotonic() + patience
    while not (value := found()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.02)
    return value
