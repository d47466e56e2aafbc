"""Progress bars on a terminal; none where standard error is piped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PAUSE = 0.05  # the least seconds between two updates of a bar: an update costs more than most steps

Told = Callable[[str, int, int], None]  # the name of the work, the amount done, and the whole amount


@contextmanager
def progress() -> Iterator[Told]:
    """A context with a function that reports progress; `of` 0 means that the whole amount is unknown."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda what, done, of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as shown:
        tasks: dict[str, int] = {}

        told: dict[str, float] = {}  # when each bar was last updated

        def tell(what: str, done: int, of: int) -> None:
            now = time.monotonic()
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=of or None)
            elif done != of and now < told[what] + _PAUSE:
                return
            told[what] = now
            shown.update(tasks[what], completed=done, total=of or None)  # type: ignore[arg-type]  # TaskID is an int

        yield tell
