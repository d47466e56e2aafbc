"""Rules that take long: an event loop begins with them, and has them done in a thread when they turn out to."""

from __future__ import annotations

import asyncio


class TakesLong(Exception):
    """Raised on an event loop by work that would hold it up, and may be begun anew in a thread."""


def on_loop() -> bool:
    """Whether an event loop waits for what is done here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
