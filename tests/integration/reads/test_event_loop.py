"""No single request blocks the event loop for long."""

from __future__ import annotations

import pytest

from tests.benchmarks.loop_lag import LIMIT, measure

ATTEMPTS = 3  # a busy machine adds to a process's CPU time; what a request needs, it needs in each attempt


@pytest.mark.filterwarnings("ignore")
def test_the_event_loop_is_never_busy_with_one_request_for_long() -> None:
    """For a collection of thousands of objects, in every representation; measured in CPU time."""
    import uvloop

    slow: dict[str, float] = {}
    for attempt in range(ATTEMPTS):
        lags = uvloop.run(measure(2000))
        assert [lag.name for lag in lags if lag.status != 200] == []
        slow = {lag.name: lag.cpu for lag in lags if lag.cpu > LIMIT and (not attempt or lag.name in slow)}
        if not slow:
            break
    assert slow == {}
