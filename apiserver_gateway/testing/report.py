"""`pytest --api-report[=DIR]`: for each failed test, the events on its servers, as a page and in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing.requests import Refused
from apiserver_gateway.testing.server import ApiServer

TITLE = "what happened on the API server"
LONGEST_NAME = 150  # characters of a page's name


class Report:
    """A pytest plugin: records on all servers that tests get from fixtures, and reports the events of failed tests."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._servers: dict[str, ApiServer] = {}  # the servers that record, by URL
        self._marks: dict[str, int] = {}  # by URL: the number of the last event before the test

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Marks the last events before a test."""
        self._marks.clear()
        for url, server in list(self._servers.items()):
            self._mark(url, server)

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Starts to record on servers that are new, once the fixtures of a test are made."""
        for server in _servers_of(item):
            if server.url not in self._marks:
                self._servers[server.url] = server
                self._mark(server.url, server, first=True)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Adds the events on the servers to the report of a failed test."""
        outcome: Any = yield
        report: pytest.TestReport = outcome.get_result()
        if report.when == "call" and report.failed:
            for number, server in enumerate(_servers_of(item)):
                if server.url in self._marks:
                    told = self._tell(item, server, report, f"-{number + 1}" if number else "")
                    report.sections.append((TITLE, told))

    def _mark(self, url: str, server: ApiServer, *, first: bool = False) -> None:
        try:
            last = server.recorder.start()
        except (Refused, ConnectionError, TimeoutError):  # the server has ended, or has no testing API
            self._servers.pop(url, None)
            return
        self._marks[url] = 0 if first else last

    def _tell(self, item: pytest.Item, server: ApiServer, report: pytest.TestReport, suffix: str) -> str:
        """Writes the page; returns the text for the terminal."""
        since = self._marks[server.url]
        name = re.sub(r"[^\w.\[\]-]+", "-", item.nodeid)[-LONGEST_NAME:]
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            page = server.recorder.write(self._directory / f"{name}{suffix}.html", since)
            text = server.recorder.story_of(report.longreprtext, since)
        except (Refused, OSError) as error:
            return f"the history cannot be read: {error}"
        return f"{text or 'nothing that the failure names has changed'}\nall of it: {page}"


def _servers_of(item: pytest.Item) -> list[ApiServer]:
    """The servers that a test got from fixtures."""
    given = getattr(item, "funcargs", {}).values()
    return list({each.url: each for each in given if isinstance(each, ApiServer) and each.url}.values())
