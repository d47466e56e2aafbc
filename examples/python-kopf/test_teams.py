"""The operator against a real API server: what it does, what it does when things go wrong, and when time goes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from kopf.testing import KopfRunner
from lightkube import Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.types import PatchType

from apiserver_gateway.testing import Refused, ask, install, restored, wait_for
from apiserver_gateway.testing.faults import reset_before, server_timeout, timed_out_after_write, watch_gone

HERE = Path(__file__).parent
Team = create_namespaced_resource("example.org", "v1", "Team", "teams")


@pytest.fixture(scope="module")
def operator(kubernetes_api):
    """A server on which the operator runs."""
    install(kubernetes_api, HERE / "crd.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", str(kubernetes_api.kubeconfig))
        with KopfRunner(["run", "--all-namespaces", str(HERE / "teams.py")]):
            yield kubernetes_api


@pytest.fixture
def cluster(operator, kubernetes_namespace):
    return Cluster(operator, kubernetes_namespace)


class Cluster:
    """What the tests do and see, in one namespace."""

    def __init__(self, api, namespace):
        self.api, self.client = api, Client(KubeConfig.from_file(api.kubeconfig), namespace=namespace)
        self.teams = f"/apis/example.org/v1/namespaces/{namespace}/teams"
        self.maps = f"/api/v1/namespaces/{namespace}/configmaps"

    def found(self, name, *members):
        team = {
            "apiVersion": "example.org/v1",
            "kind": "Team",
            "metadata": {"name": name},
            "spec": {"members": members},
        }
        return ask(self.api, "POST", self.teams, team)

    def change(self, name, *members):
        return self.client.patch(Team, name, {"spec": {"members": members}}, patch_type=PatchType.MERGE)

    def wait_for_roster(self, name, *members):
        expected = "\n".join(sorted(members))
        return wait_for(self.api, f"{self.maps}/{name}-roster", lambda each: each["data"]["members"] == expected, 60)

    def wait_for_count(self, name, count):
        wait_for(self.api, f"{self.teams}/{name}", lambda each: each.get("status", {}).get("members") == count)


def test_a_team_has_a_roster(cluster):
    cluster.found("red", "bo", "al")
    roster = cluster.wait_for_roster("red", "al", "bo")
    assert [each["kind"] for each in roster["metadata"]["ownerReferences"]] == ["Team"]
    cluster.wait_for_count("red", 2)
    cluster.change("red", "cy")
    cluster.wait_for_roster("red", "cy")
    cluster.wait_for_count("red", 1)


def test_a_roster_that_is_deleted_comes_back(cluster):
    cluster.found("blue", "al")
    first = cluster.wait_for_roster("blue", "al")
    ask(cluster.api, "DELETE", f"{cluster.maps}/blue-roster")
    again = wait_for(
        cluster.api, f"{cluster.maps}/blue-roster", lambda each: each["metadata"]["uid"] != first["metadata"]["uid"]
    )
    assert again["data"] == first["data"]


def test_members_have_names(cluster):
    with pytest.raises(Refused, match=r"spec.members\[0\]"):
        cluster.found("nameless", "")


@pytest.mark.parametrize("answer", [server_timeout(1), timed_out_after_write(), reset_before()], ids=str)
def test_a_write_that_fails_is_made_again(cluster, kubernetes_faults, answer):
    """The first two attempts at the roster fail, each in the same way."""
    fault = kubernetes_faults.add(verb="patch", resource="configmaps", times=2, answer=answer)
    cluster.found("green", "al")
    cluster.wait_for_roster("green", "al")
    cluster.wait_for_count("green", 1)
    assert fault.hits == 2


def test_changes_that_a_watch_has_missed_are_seen(cluster, kubernetes_faults):
    cluster.found("grey", "al")
    cluster.wait_for_roster("grey", "al")
    fault = kubernetes_faults.add(verb="watch", resource="teams", times=1, answer=watch_gone())
    cluster.change("grey", "bo")
    cluster.wait_for_roster("grey", "bo")
    assert fault.hits == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_it_gets_there_whatever_goes_wrong(cluster, kubernetes_faults, seed):
    with kubernetes_faults.chaos(seed, intensity=0.3, resource=["teams", "configmaps"]) as chaos:
        for name in ("a", "b", "c"):
            cluster.found(name, "al", "bo")
            cluster.wait_for_roster(name, "al", "bo")
            cluster.wait_for_count(name, 2)
        assert chaos.hits


def test_what_a_test_has_changed_can_be_undone(cluster):
    """The operator sees the restored state as changes, and has nothing to do for it."""
    cluster.found("old", "al")
    before = cluster.wait_for_roster("old", "al")
    cluster.wait_for_count("old", 1)
    with restored(cluster.api):
        cluster.change("old", "bo", "cy")
        cluster.wait_for_roster("old", "bo", "cy")
        cluster.wait_for_count("old", 2)
    assert ask(cluster.api, "GET", f"{cluster.teams}/old")["spec"]["members"] == ["al"]
    after = cluster.wait_for_roster("old", "al")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
