"""A plug-in of pytest: files in random order, and the tests in each, by the seed in APISERVER_GATEWAY_SEED.

With APISERVER_GATEWAY_TIMES=FILE each test's time is a line of that file.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

TIMES = os.environ.get("APISERVER_GATEWAY_TIMES", "")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file stay together: they share servers."""
    seed = os.environ["APISERVER_GATEWAY_SEED"]

    def place(item: pytest.Item) -> tuple[float, float]:
        file = item.nodeid.partition("::")[0]
        return random.Random(seed + file).random(), random.Random(seed + item.nodeid).random()

    items.sort(key=place)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Notes the time of each phase of each test."""
    if TIMES and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(TIMES).open("a", encoding="utf-8") as file:
            file.write(json.dumps([report.nodeid, report.when, report.outcome, round(report.duration, 3)]) + "\n")
