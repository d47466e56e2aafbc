"""The testing API of a control plane: snapshots, users, faults and the recorder are of it alone; the clock is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, Refused, ask, install
from apiserver_gateway.testing.faults import conflict
from apiserver_gateway.testing.state import advance_clock, load, restore, restored, save, snapshot, user
from tests.forked import api_server
from tests.integration.clusters.test_templates import WIDGETS, definition, widget
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@pytest.fixture(scope="module")
def tested() -> Iterator[ApiServer]:
    with api_server("--control-planes", "--testing-api") as running:
        yield running


@pytest.fixture
def two(tested: ApiServer) -> Iterator[tuple[Cluster, Cluster]]:
    with ExitStack() as stack:
        yield stack.enter_context(tested.cluster()), stack.enter_context(tested.cluster())


def names(server: ApiServer | Cluster, path: str = MAPS) -> set[str]:
    return {each["metadata"]["name"] for each in ask(server, "GET", path)["items"]}


def fresh(server: ApiServer | Cluster, path: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(server, "GET", path)
    return found


def test_a_snapshot_is_of_one_control_plane(tested: ApiServer, two: tuple[Cluster, Cluster]) -> None:
    one, other = two
    ask(one, "POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    view, edit = fresh(one, f"{ROLES}/view"), fresh(one, f"{ROLES}/edit")
    kept = snapshot(one)
    ask(one, "PUT", f"{MAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "2"}})
    ask(one, "DELETE", f"{ROLES}/view")
    ask(one, "PUT", f"{ROLES}/edit", {"metadata": {"name": "edit", "labels": {"mine": "yes"}}, "rules": []})
    install(one, definition("integer"))
    ask(one, "POST", WIDGETS, widget(1))
    for server in (tested, one, other):
        ask(server, "POST", MAPS, {"metadata": {"name": "later"}})
    restore(one, kept)
    assert fresh(one, f"{MAPS}/a")["data"] == {"k": "1"} and "later" not in names(one)
    assert fresh(one, f"{ROLES}/view")["metadata"]["uid"] == view["metadata"]["uid"]
    assert fresh(one, f"{ROLES}/edit")["metadata"]["labels"] == edit["metadata"]["labels"]
    until(lambda: _status(one, WIDGETS) == 404)
    assert "later" in names(tested) and "later" in names(other)
    for server in (tested, other):
        with pytest.raises(Refused, match="there is no snapshot"):
            restore(server, kept)
    ask(tested, "DELETE", f"{MAPS}/later")


def _status(server: Cluster, path: str) -> int:
    try:
        ask(server, "GET", path)
    except Refused as refused:
        return refused.status
    return 200


def test_one_in_which_nobody_has_written_is_restored(two: tuple[Cluster, Cluster]) -> None:
    one, _ = two
    before = names(one, ROLES)
    with restored(one):
        ask(one, "DELETE", f"{ROLES}/view")
        ask(one, "POST", MAPS, {"metadata": {"name": "a"}})
        ask(one, "POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    assert names(one, ROLES) == before and "a" not in names(one)
    assert "n" not in names(one, "/api/v1/namespaces")


def test_a_user_is_of_one_control_plane(tested: ApiServer, two: tuple[Cluster, Cluster]) -> None:
    one, other = two
    alice = user(one, "alice", roles=["view"])
    assert ask(one, "GET", MAPS, token=alice.token)["items"]
    for server in (tested, other):
        with pytest.raises(Refused) as refused:
            ask(server, "GET", MAPS, token=alice.token)
        assert refused.value.status == 401
    with pytest.raises(Refused) as refused:
        ask(one, "POST", "/testing/snapshots", token=alice.token)
    assert refused.value.status == 403


def test_a_fault_is_of_one_control_plane(tested: ApiServer, two: tuple[Cluster, Cluster]) -> None:
    one, other = two
    with one.faults.add(verb="create", resource="configmaps", answer=conflict()) as fault:
        with pytest.raises(Refused) as refused:
            ask(one, "POST", MAPS, {"metadata": {"name": "a"}})
        assert refused.value.status == 409
        for server in (tested, other):
            ask(server, "POST", MAPS, {"metadata": {"name": "a"}})
            assert list(server.faults) == []
    assert fault.hits == 1
    ask(one, "POST", MAPS, {"metadata": {"name": "a"}})
    with tested.faults.add(verb="create", resource="configmaps", answer=conflict()) as fault:
        ask(one, "POST", MAPS, {"metadata": {"name": "b"}})
    assert fault.hits == 0
    ask(tested, "DELETE", f"{MAPS}/a")


def test_a_recorder_is_of_one_control_plane(tested: ApiServer, two: tuple[Cluster, Cluster]) -> None:
    one, other = two
    one.recorder.start()
    for server, name in ((one, "mine"), (other, "of-another"), (tested, "of-the-root")):
        ask(server, "POST", MAPS, {"metadata": {"name": name}})
    keys = {each.get("key") for each in one.recorder.events()}
    assert "configmaps/default/mine" in keys
    assert not keys & {"configmaps/default/of-another", "configmaps/default/of-the-root"}
    assert other.recorder.events() == tested.recorder.events() == []
    ask(tested, "DELETE", f"{MAPS}/of-the-root")


def test_the_clock_is_that_of_the_server(two: tuple[Cluster, Cluster]) -> None:
    one, _ = two
    about = {"involvedObject": {"namespace": "default"}, "reason": "R", "type": "Normal", "message": "m"}
    ask(one, "POST", "/api/v1/namespaces/default/events", {"metadata": {"name": "e"}, **about})
    with pytest.raises(Refused, match="the clock of the server") as refused:
        advance_clock(one, 7200)
    assert refused.value.status == 400
    assert "e" in names(one, "/api/v1/namespaces/default/events")


def test_the_clock_of_the_server_lets_events_of_control_planes_expire() -> None:
    with api_server("--control-planes", "--testing-api") as running, running.cluster() as one:
        about = {"involvedObject": {"namespace": "default"}, "reason": "R", "type": "Normal", "message": "m"}
        ask(one, "POST", "/api/v1/namespaces/default/events", {"metadata": {"name": "e"}, **about})
        advance_clock(running, 7200)
        assert "e" not in names(one, "/api/v1/namespaces/default/events")


def test_objects_go_to_files_and_into_another_control_plane(two: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    one, other = two
    install(one, definition("integer"))
    ask(one, "POST", WIDGETS, widget(1))
    ask(one, "POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "1"}})
    save(one, tmp_path)
    load(other, tmp_path)
    assert fresh(other, f"{MAPS}/a")["data"] == {"k": "1"}
    assert fresh(other, f"{WIDGETS}/w")["spec"] == {"size": 1}
    assert fresh(other, f"{MAPS}/a")["metadata"]["uid"] != fresh(one, f"{MAPS}/a")["metadata"]["uid"]
