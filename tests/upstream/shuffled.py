"""A plug-in of pytest: files in random order, and the tests in each, by the seed in APISERVER_GATEWAY_SEED."""

from __future__ import annotations

import os
import random

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file stay together: they share servers."""
    seed = os.environ["APISERVER_GATEWAY_SEED"]

    def place(item: pytest.Item) -> tuple[float, float]:
        file = item.nodeid.partition("::")[0]
        return random.Random(seed + file).random(), random.Random(seed + item.nodeid).random()

    items.sort(key=place)
