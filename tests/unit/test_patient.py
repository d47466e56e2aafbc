"""A start that takes long says what it waits for."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.launch import patient

ROOT = Path(__file__).parents[2]

WORKERS = """
import logging, signal
from gateway.launch import workers
logging.basicConfig(format="%(message)s")
workers.PATIENCE = 0.05
never = workers.Supervisor(2, lambda ready: signal.sigwait([signal.SIGUSR1]))
raise SystemExit(never.run(lambda: None))
"""


async def test_it_names_what_is_missing_and_where_tasks_wait(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patient, "PATIENCE", 0.01)
    told, said = asyncio.Event(), asyncio.Event()

    async def stuck_somewhere() -> None:
        await told.wait()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.set()

    listening = Listening()
    patient.logger.addHandler(listening)
    stuck = asyncio.create_task(stuck_somewhere(), name="the one that hangs")
    try:
        async with patient.said("something that never comes"):
            await asyncio.wait_for(said.wait(), 30)
    finally:
        patient.logger.removeHandler(listening)
        told.set()
        await stuck
    record = caplog.records[0]
    assert record.message == "not ready yet, waiting for something that never comes"
    assert "the one that hangs: Event.wait" in vars(record)["awaits"]


def test_workers_that_are_not_ready_are_counted() -> None:
    command = [sys.executable, "-c", WORKERS]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as supervisor:
        assert supervisor.stderr is not None
        assert supervisor.stderr.readline() == "not ready yet, waiting for 2 of 2 workers\n"
        supervisor.terminate()
        assert supervisor.wait(30) == 0
