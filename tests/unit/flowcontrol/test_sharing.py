"""How seats are divided among priority levels, lent and taken back, and how hands of queues are dealt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.flowcontrol.configuration import FlowConfiguration
from gateway.flowcontrol.demand import Demand
from gateway.flowcontrol.limiter import FlowControl
from gateway.flowcontrol.objects import LEVELS, default_levels
from gateway.flowcontrol.retry_after import MOST, Retrying
from gateway.flowcontrol.sharing import SeatClaim, SeatLimits, divided, nominal_limits
from gateway.flowcontrol.shuffle_shards import flow_hash, hand


@st.composite
def claims(draw: st.DrawFn) -> SeatClaim:
    least = draw(st.integers(0, 100))
    return SeatClaim(least, least + draw(st.integers(0, 200)), least + draw(st.integers(0, 500)))


@given(st.integers(0, 2000), st.lists(claims(), min_size=1, max_size=8))
def test_division_keeps_the_bounds_and_gives_all_where_it_can(seats: int, wanted: list[SeatClaim]) -> None:
    found = divided(seats, wanted)
    for claim, given_ in zip(wanted, found, strict=True):
        assert claim.least <= given_ <= claim.most
    possible = min(max(seats, sum(each.least for each in wanted)), sum(each.most for each in wanted))
    assert sum(found) == pytest.approx(possible, abs=1e-3)


def test_shares_percentages_and_rounding() -> None:
    assert nominal_limits(600, 40, 245, 50, None) == SeatLimits(98, 49, 698)
    assert nominal_limits(600, 10, 245, 0, 20) == SeatLimits(25, 25, 30)
    assert nominal_limits(600, 0, 245, 0, 0) == SeatLimits(0, 0, 0)


def test_the_default_levels_get_the_seats_that_kube_apiserver_gives_them() -> None:
    configuration = FlowConfiguration(600)
    for name, spec in default_levels():
        configuration.put(LEVELS, {"metadata": {"name": name}, "spec": spec})
    assert {name: level.limits.nominal for name, level in configuration.levels.items()} == {
        "exempt": 0, "catch-all": 13, "global-default": 49, "leader-election": 25, "node-high": 98, "system": 74,
        "workload-high": 98, "workload-low": 245,
    }  # fmt: skip


async def test_a_level_that_needs_seats_borrows_those_that_nobody_uses() -> None:
    configuration = FlowConfiguration(600)
    for name, spec in default_levels():
        configuration.put(LEVELS, {"metadata": {"name": name}, "spec": spec})
    level = configuration.levels["global-default"]
    for _ in range(40):
        await level.take("s", 1, (0,), 1)
    FlowControl(configuration, lambda info: (0, 0), lambda info: 0).lend()
    assert level.limit > level.limits.nominal
    assert all(each.limit >= each.limits.least for each in configuration.levels.values())


def test_demand_is_the_peak_and_forgets_slowly() -> None:
    demand = Demand(0.0)
    demand.note(10, 0.0)
    assert demand.sample(10.0) == 10
    assert demand.smoothed == 10
    demand.note(0, 10.0)
    assert demand.sample(20.0) == 10
    assert demand.sample(30.0) == 0
    assert 9 < demand.smoothed < 10


@given(st.integers(0, 2**64 - 1), st.integers(1, 512), st.integers(1, 12))
def test_a_hand_is_of_different_queues(number: int, queues: int, size: int) -> None:
    dealt = hand(number, queues, size)
    assert len(set(dealt)) == len(dealt) == min(size, queues)
    assert all(0 <= card < queues for card in dealt)


def test_hands_are_spread_evenly() -> None:
    counts = [0] * 8
    for number in range(4000):
        for card in hand(flow_hash("s", str(number)), 8, 2):
            counts[card] += 1
    assert max(counts) < 1.2 * min(counts)


def test_clients_are_asked_to_wait_longer_while_many_are_refused() -> None:
    retrying = Retrying()
    told = [retrying.refused(second) for second in range(100, 130) for _ in range(100)]
    assert (told[0], told[-1]) == (1, MOST)
    assert [retrying.refused(second) for second in range(200, 240, 10)][-1] < MOST
