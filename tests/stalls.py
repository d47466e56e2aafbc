"""Fails tests during which a server's event loop was blocked (gateway/observability/watchdog.py).

A test that has to block it is marked with `@pytest.mark.holds_the_loop("why")`. CPU time is measured, which grows on a
busy machine: tests/limits.py computes how much more is allowed then.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.observability.watchdog import LIMIT
from tests.limits import at_most_cpu

MARK = "holds_the_loop"
_LINE = b"the event loop was blocked"
_allowed = 0.0  # the end of the last test that may block a loop, in seconds since 1970
_read: dict[Path, int] = {}  # how many bytes of each server's log were read


def follow_servers() -> None:
    """Reads the log of each server that is started from now on."""
    start = ApiServer.start

    def noted(self: ApiServer, *given: Any, **named: Any) -> Any:
        _read.setdefault(self.log_file, self.log_file.stat().st_size if self.log_file.exists() else 0)
        return start(self, *given, **named)

    ApiServer.start = noted  # type: ignore[method-assign]  # servers of all sorts of fixtures are followed


def told() -> Iterator[str]:
    """New log lines about a blocked loop."""
    for path, at in list(_read.items()):
        try:
            size = path.stat().st_size
        except OSError:
            del _read[path]
            continue
        if size <= at:
            continue
        with path.open("rb") as log:
            log.seek(at)
            text = log.read(size - at)
        text = text[: text.rfind(b"\n") + 1]  # an incomplete line lacks the duration
        _read[path] = at + len(text)
        yield from (line.decode("utf-8", "replace") for line in text.splitlines() if _LINE in line)


def seconds(line: str) -> float:
    """For how many seconds the loop was blocked, by a log line."""
    found = re.search(r"seconds\"?[=:] ?([0-9.]+)", line)
    return float(found[1]) if found else math.inf


def began(line: str) -> float:
    """When the block began, in seconds since 1970."""
    found, took = re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line), seconds(line)
    return datetime.fromisoformat(found[0]).timestamp() - took if found and took < math.inf else math.inf


@pytest.fixture(autouse=True)
def loop_is_not_held(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test during which a loop was blocked, unless it is marked. A block that began in a marked test may end
    later.
    """
    global _allowed
    yield
    held = list(told())
    if request.node.get_closest_marker(MARK) is not None:
        _allowed = time.time()
        return
    if held := [line for line in held if began(line) > _allowed]:
        told_of = "\n".join(held).replace("{", "{{").replace("}", "}}")
        at_most_cpu(max(map(seconds, held)), LIMIT, f"the event loop was blocked:\n{told_of}")
