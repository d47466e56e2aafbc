"""Log records of the test's own process: waits for one, and selects those of one logger. Also files that grow."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60.0  # seconds


@asynccontextmanager
async def will_log(words: str) -> AsyncIterator[None]:
    """The block ends only when a record with these words has come."""
    loop, said = asyncio.get_running_loop(), asyncio.Event()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if words in record.getMessage():
                loop.call_soon_threadsafe(said.set)

    listening = Listening()
    logging.getLogger().addHandler(listening)
    try:
        yield
        async with asyncio.timeout(PATIENCE):
            await said.wait()
    finally:
        logging.getLogger().removeHandler(listening)


def of(caplog: pytest.LogCaptureFixture, logger: str) -> list[logging.LogRecord]:
    """The records of a logger and of its children. Other loggers may report what earlier tests have left in this
    process.
    """
    return [record for record in caplog.records if f"{record.name}.".startswith(f"{logger}.")]


def whole_lines(log: Path) -> list[str]:
    """The lines of a file that a process still writes, without a last one that is not complete; [] without a file."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def documents(log: Path) -> list[Any]:
    """The JSON documents of such a file, one a line, as of an audit log."""
    return [json.loads(line) for line in whole_lines(log)]
