"""The simulation for docs on large clusters adds up measured costs correctly."""

from __future__ import annotations

import json
from dataclasses import replace

from hack.simulate import CLUSTERS, COSTS, demand

KUBERNETES = CLUSTERS[2]
MEASURED = json.loads(COSTS.read_text(encoding="ascii"))


def test_twice_the_cost_of_an_event_is_twice_what_telling_takes() -> None:
    once = demand(KUBERNETES, MEASURED)
    twice = demand(KUBERNETES, MEASURED | {"event told, us": 2 * MEASURED["event told, us"]})
    assert twice.of_events == 2 * once.of_events
    assert round(twice.cpu - once.cpu, 9) == round(once.of_events, 9)


def test_an_event_is_told_to_each_who_watches() -> None:
    one = replace(KUBERNETES, nodes=0, changes=1.0, controllers=1)
    assert demand(one, MEASURED).told == 5 + 2, "one controller for each of five kinds, and two kinds have a node more"
    assert demand(replace(one, nodes=100), MEASURED).told == 7 + 100 + 10 + 100 / 300, "slices, leases, statuses"


def test_a_replica_more_takes_in_all_changes_and_holds_all_objects() -> None:
    three, four = demand(KUBERNETES, MEASURED), demand(replace(KUBERNETES, replicas=4), MEASURED)
    assert round(four.of_changes / three.of_changes, 9) == 3 / 2
    watches = three.watches * MEASURED["watch, bytes"]
    assert round(three.memory - four.memory) == round(watches / 3 - watches / 4)
