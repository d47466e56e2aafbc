"""Snapshots of docker-compose.yml's etcd: no typo, no running etcd and no restore can lose data."""

from __future__ import annotations

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask
from tests.engine.project import Failed, Project

MAPS = "/api/v1/namespaces/default/configmaps"


def names(server: ApiServer) -> set[str]:
    return {each["metadata"]["name"] for each in ask(server, "GET", MAPS)["items"]} - {"kube-root-ca.crt"}


def write(server: ApiServer, name: str) -> int:
    """Creates a ConfigMap. Returns its revision."""
    return int(ask(server, "POST", MAPS, {"metadata": {"name": name}})["metadata"]["resourceVersion"])


def test_a_snapshot_is_restored_by_what_cannot_lose_anything(project: Project) -> None:
    """Several steps in one test, because each start of the project takes seconds."""
    server = project.up()
    write(server, "saved")
    project.compose("run", "--rm", "backup", SNAPSHOT="one")
    last = write(server, "later")
    with pytest.raises(Failed, match="etcd runs, and nothing was changed"):
        project.compose("run", "--rm", "restore", SNAPSHOT="one")
    write(server, "acknowledged")
    assert names(server) == {"saved", "later", "acknowledged"}

    project.compose("stop", "gateway", "etcd")
    with pytest.raises(Failed, match="there is no snapshot oen, and nothing was changed; there are: one"):
        project.compose("run", "--rm", "restore", SNAPSHOT="oen")
    with pytest.raises(Failed, match="etcd does not answer at http://etcd:2379"):
        project.compose("run", "--rm", "backup", SNAPSHOT="two")
    server = project.up()
    assert names(server) == {"saved", "later", "acknowledged"}, "it goes on with what it had"

    for _ in range(2):  # the second restore must also begin at a revision higher than any that clients have seen
        project.compose("stop", "gateway", "etcd")
        project.compose("run", "--rm", "restore", SNAPSHOT="one")
        server = project.up()
        assert names(server) == {"saved"}
        revision = write(server, "new")
        assert revision > last
        last = revision

    project.compose("down", "--volumes")
    assert project.volumes() == {"snapshots"}, "etcd's data go with the CA, and the snapshots stay"


def test_three_members_are_restored_together(project: Project) -> None:
    gateways = ("gateway-0", "gateway-1")
    members = ("etcd-0", "etcd-1", "etcd-2")
    server = project.up("gateway-0")
    write(server, "saved")
    project.compose("run", "--rm", "backup", SNAPSHOT="one", BACKUP_FROM="http://etcd-1:2379")
    last = write(server, "later")
    project.compose("--profile", "ha", "stop", *gateways, "etcd-0", "etcd-2")
    with pytest.raises(Failed, match="member etcd-1 runs, and nothing was changed"):
        project.compose("run", "--rm", "restore-members", SNAPSHOT="one")
    project.compose("--profile", "ha", "stop", *members)
    project.compose("run", "--rm", "restore-members", SNAPSHOT="one")
    server = project.up("gateway-0")
    assert names(server) == {"saved"}
    assert write(server, "new") > last
    for member in members:
        patience = "--dial-timeout=60s", "--command-timeout=60s"
        words = "etcdctl", *patience, "endpoint", "status", "--cluster", "--write-out=json"
        said = project.compose("exec", member, *words)
        assert said.count('"raftAppliedIndex"') == len(members), said
    with pytest.raises(Refused, match="already exists"):
        write(server, "new")
