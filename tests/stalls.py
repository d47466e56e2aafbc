"""Fails tests during which a server's event loop was held (gateway/observability/watchdog.py).

A test that has to hold it says so: `@pytest.mark.holds_the_loop("why")`. What is measured is CPU time, which a busy
machine stretches: tests/limits.py says how much more is allowed then.
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
_allowed = 0.0  # when a test ended last during which a loop might be held, in seconds since 1970
_read: dict[Path, int] = {}  # bytes of the logs of all servers that tests started which were looked at


def follow_servers() -> None:
    """Has the log of each server that is started looked at from then on."""
    start = ApiServer.start

    def noted(self: ApiServer, *given: Any, **named: Any) -> Any:
        _read.setdefault(self.log_file, self.log_file.stat().st_size if self.log_file.exists() else 0)
        return start(self, *given, **named)

    ApiServer.start = noted  # type: ignore[method-assign]  # servers of all sorts of fixtures are followed


def told() -> Iterator[str]:
    """What logs say of held loops that was not told before."""
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
        text = text[: text.rfind(b"\n") + 1]  # half a line does not say for how long
        _read[path] = at + len(text)
        yield from (line.decode("utf-8", "replace") for line in text.splitlines() if _LINE in line)


def seconds(line: str) -> float:
    """How long a line of a log says that the loop was held."""
    found = re.search(r"seconds\"?[=:] ?([0-9.]+)", line)
    return float(found[1]) if found else math.inf


def began(line: str) -> float:
    """When that began, in seconds since 1970."""
    found, took = re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line), seconds(line)
    return datetime.fromisoformat(found[0]).timestamp() - took if found and took < math.inf else math.inf


@pytest.fixture(autouse=True)
def loop_is_not_held(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test during which a loop was held, unless it is marked: what began in one that is may end in the next."""
    global _allowed
    yield
    held = list(told())
    if request.node.get_closest_marker(MARK) is not None:
        _allowed = time.time()
        return
    if held := [line for line in held if began(line) > _allowed]:
        told_of = "\n".join(held).replace("{", "{{").replace("}", "}}")
        at_most_cpu(max(map(seconds, held)), LIMIT, f"the event loop was blocked:\n{told_of}")
