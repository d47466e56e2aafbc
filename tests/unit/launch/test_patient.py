"""A start that takes long logs what it waits for."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.launch import etcd_check, patient
from tests.logged import of, will_log

ROOT = Path(__file__).parents[3]

WORKERS = """
import logging, signal
from gateway.launch import workers
logging.basicConfig(format="%(message)s")
workers.LOG_INTERVAL = 0.05
never = workers.Supervisor(2, lambda ready: signal.sigwait([signal.SIGUSR1]))
raise SystemExit(never.run(lambda: None))
"""


async def test_it_names_what_is_missing_and_where_tasks_wait(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patient, "LOG_INTERVAL", 0.01)
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
    record = of(caplog, patient.logger.name)[0]
    assert record.message == "not ready yet, waiting for something that never comes"
    assert "the one that hangs: Event.wait" in vars(record)["awaits"]


def test_workers_that_are_not_ready_are_counted() -> None:
    command = [sys.executable, "-c", WORKERS]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as supervisor:
        assert supervisor.stderr is not None
        assert supervisor.stderr.readline() == "not ready yet, waiting for 2 of 2 workers\n"
        supervisor.terminate()
        assert supervisor.wait(60) == 0


async def test_a_start_says_how_many_objects_it_has_loaded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(etcd_check, "LOG_INTERVAL", 0.0)
    monkeypatch.setattr(etcd_check, "LOOK", 0.0)
    monkeypatch.setattr(etcd_check, "LOOKS", 1 << 30)
    feed = SimpleNamespace(ready=asyncio.Event(), error=None, loaded=400_000)
    database: Any = SimpleNamespace(servers=("http://etcd:2379",), feed=feed)
    settings: Any = None
    waiting = asyncio.create_task(etcd_check.loaded(settings, database, asyncio.Event()))
    async with will_log("loading from etcd: 400,000 objects so far"):
        pass
    feed.ready.set()
    await waiting
