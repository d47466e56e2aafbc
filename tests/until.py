"""Waiting for what another process, a controller or a watch brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 90.0  # seconds: a busy machine may take them


def until(
    found: Callable[[], Any], patience: float = PATIENCE, told: Callable[[], str] = lambda: "it never came to hold"
) -> Any:
    """Asks again and again until what is found is true, and returns it.

    Raises AssertionError after `patience` seconds, with what is `told` then.
    """
    deadline = time.monotonic() + patience
    while not (value := found()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.02)
    return value
