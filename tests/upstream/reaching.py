"""A plug-in of pytest: tells this process and its servers which test runs, and records how long each took."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.upstream import reached

TIMES = f"{reached.FILE}.times"


def pytest_configure(config: pytest.Config) -> None:
    """Each worker of pytest-xdist has its own file."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    os.environ[reached.NOW] = f"{reached.FILE}.{worker}"
    Path(os.environ[reached.NOW]).write_text("", encoding="utf-8")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """The test and its fixtures."""
    reached.test, began = item.nodeid, time.monotonic()
    Path(os.environ[reached.NOW]).write_text(item.nodeid, encoding="utf-8")
    yield
    with Path(TIMES).open("a", encoding="utf-8") as file:
        file.write(json.dumps([item.nodeid, time.monotonic() - began]) + "\n")
