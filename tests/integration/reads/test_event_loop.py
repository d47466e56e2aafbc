"""No request holds up the others."""

from __future__ import annotations

import pytest

from tests.benchmarks.loop_lag import LIMIT, measure

ATTEMPTS = 3  # a busy machine takes its time out of a process's as well; what a request needs it needs each time


@pytest.mark.filterwarnings("ignore")
def test_the_event_loop_is_never_busy_with_one_request_for_long() -> None:
    """Of a collection of thousands, in whatever form it is asked for; counted in CPU time."""
    import uvloop

    slow: dict[str, float] = {}
    for attempt in range(ATTEMPTS):
        lags = uvloop.run(measure(2000))
        assert [lag.name for lag in lags if lag.status != 200] == []
        slow = {lag.name: lag.cpu for lag in lags if lag.cpu > LIMIT and (not attempt or lag.name in slow)}
        if not slow:
            break
    assert slow == {}
