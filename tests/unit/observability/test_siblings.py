"""The metrics of all workers: those of a worker that does not answer are missing, and no scrape waits for ever."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.observability import siblings
from gateway.observability.siblings import SiblingProcesses
from tests.logged import of


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with two sockets: of a worker that does not answer, and of a killed worker."""
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as silent, socket.socket(socket.AF_UNIX) as dead:
        silent.bind("12")
        silent.listen()
        dead.bind("13")
        yield Path()
        assert Path("12").exists() and not Path("13").exists()


async def test_a_worker_that_does_not_answer_is_left_out(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(siblings, "_ANSWER_TIMEOUT", 1.0)
    assert await asyncio.wait_for(SiblingProcesses(directory).all(), 30)
    assert [(record.getMessage(), vars(record)["pid"]) for record in of(caplog, siblings.__name__)] == [
        ("another worker did not send its metrics", "12")
    ]
