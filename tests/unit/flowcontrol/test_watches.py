"""Which watches get a write's event, and how many seats the write takes for that."""

from __future__ import annotations

import pytest

from gateway.flowcontrol.fair_queuing import Queuing
from gateway.flowcontrol.level import PriorityLevel
from gateway.flowcontrol.sharing import SeatLimits
from gateway.flowcontrol.watches import OpenWatches
from gateway.flowcontrol.work import after_write
from gateway.http.exchange import Request
from gateway.http.request_info import request_info
from gateway.http.user import User


def watching(path: str, query: str = "watch=1") -> Request:
    async def receive() -> dict[str, object]:
        return {}

    request = Request("GET", path, query.encode(), {}, receive)
    request.info, request.user = request_info("GET", path, request.query), User("ada")
    return request


def interested(watches: OpenWatches, path: str, method: str = "PUT") -> int:
    return watches.interested(request_info(method, path, {}))


def test_a_write_has_work_for_watches_of_its_object_its_namespace_and_its_kind() -> None:
    watches = OpenWatches(0)
    pods, pod = "/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods/p"
    named = "watch=1&fieldSelector=metadata.name%3Dp"
    opened = [watches.open(watching(path)) for path in ("/api/v1/pods", pods, "/api/v1/namespaces/b/pods")]
    opened.append(watches.open(watching(pods, named)))
    opened.append(watches.open(watching("/api/v1/configmaps")))
    assert (interested(watches, pod), interested(watches, pods, "POST")) == (3, 2)
    assert interested(watches, "/api/v1/namespaces/c/pods/p") == 1
    for each in opened:
        each.give_back()
    assert (watches.total(), interested(watches, pod)) == (0, 0)


@pytest.mark.parametrize(
    ("selector", "counts"),
    [("spec.nodeName%3Dn", 0), ("spec.nodeName!%3Dn", 1), ("spec.nodeName%3D", 1), ("%3D%3D%5C", 1)],
)
def test_watches_of_one_node_have_hardly_any_work(selector: str, counts: int) -> None:
    watches = OpenWatches(0)
    opened = watches.open(watching("/api/v1/pods", f"watch=1&fieldSelector={selector}"))
    assert (watches.total(), interested(watches, "/api/v1/namespaces/a/pods/p")) == (1, counts)
    opened.give_back()
    assert interested(watches, "/api/v1/namespaces/a/pods/p") == 0


@pytest.mark.parametrize(
    ("watches", "widest", "seats", "seconds"),
    [(9, 0, 1, 0.0), (10, 0, 1, 0.005), (45, 0, 5, 0.005), (200, 0, 10, 0.010), (200, 4, 4, 0.025)],
)
def test_what_a_write_lacks_in_seats_it_takes_in_time(watches: int, widest: int, seats: int, seconds: float) -> None:
    info = request_info("PUT", "/api/v1/namespaces/a/pods/p", {})
    given, kept = after_write(info, watches, widest)
    assert given == seats
    assert kept == pytest.approx(seconds)


def test_nobody_is_told_of_a_token() -> None:
    info = request_info("POST", "/api/v1/namespaces/a/serviceaccounts/s/token", {})
    assert after_write(info, 1000, 0) == (1, 0.0)


async def test_seats_are_kept_for_a_while() -> None:
    level = PriorityLevel("l")
    level.limits, level.limit = SeatLimits(9, 9, 9), 9
    level.queue_up(Queuing(1, 1, 5))
    held = await level.take("s", 4, (0,), 1, kept=0.01)
    held.give_back()
    held.give_back()
    assert level.in_use == 4
    whole = await level.take("s", 9, (0,), 60)  # once there are as many
    assert (level.in_use, level.executing) == (9, 1)
    whole.give_back()
    assert (level.in_use, level.executing) == (0, 0)
