"""Fixtures for tests on an engine: a project of docker-compose.yml, and networks and containers that are removed at the
end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.engine.project import Project

MARK = "APISERVER_GATEWAY_TEST_ENGINE"


@pytest.fixture(autouse=True, scope="session")
def _engine() -> None:
    if not os.environ.get(MARK):
        pytest.skip("there is no Docker engine: `python -m tests.engine` starts one, as root, and runs these tests")


@pytest.fixture
def project(request: pytest.FixtureRequest) -> Iterator[Project]:
    """The project, not started yet. All of it is removed at the end of the test."""
    made = Project()
    try:
        yield made
    finally:
        made.remove()
