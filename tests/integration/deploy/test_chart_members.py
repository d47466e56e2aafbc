"""The chart's etcd after the loss of volumes and members: a member joins again, Jobs continue, a snapshot is
restored.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import binary_version, find_binary
from tests.clients.binaries import binary
from tests.integration.deploy.members import LATER, Members, members
from tests.integration.deploy.pods import Pods, running_jobs
from tests.integration.deploy.test_chart_pods import CHART, NAME, answers, pod_of
from tests.processes import run
from tests.until import until

ETCD = f"{NAME}-etcd"
VALUES = ("--set", "etcd.snapshots.enabled=true")


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """The server on which the chart is installed."""
    with api_server() as started:
        yield started


@pytest.fixture
def etcd(server: ApiServer, tmp_path: Path) -> Iterator[Members]:
    """The members of a release, not started yet."""
    found = find_binary()
    programs = {f"/usr/local/bin/{name}": str(found.parent / name) for name in ("etcd", "etcdctl", "etcdutl")}
    if binary_version(found) < (3, 6, 0) or not all(Path(each).is_file() for each in programs.values()):
        pytest.skip("the chart is for etcd 3.6, with etcdctl and etcdutl")
    helm = [str(binary("helm")), "--kubeconfig", str(server.kubeconfig)]
    with running_jobs(server, tmp_path):
        subprocess.run([*helm, "upgrade", "--install", "api", CHART, *VALUES], check=True, capture_output=True)
        words = [str(binary("kubectl")), f"--kubeconfig={server.kubeconfig}", "wait", "--for=condition=complete"]
        subprocess.run([*words, "job", "--all", "--timeout=180s"], check=True, capture_output=True)
    programs["/opt/gateway/bin/python"] = sys.executable
    with members(Pods(server, "default", tmp_path, programs), ETCD) as made:
        yield made


def started(etcd: Members) -> None:
    """Starts all members, and waits until they are ready."""
    for member in range(etcd.count):
        etcd.start(member)
    for member in range(etcd.count):
        etcd.await_ready(member, answers)
    etcd.patience = LATER


def all_named(etcd: Members) -> dict[str, int]:
    """The members by name, once each of them has published its name."""
    names = {f"{ETCD}-{member}" for member in range(etcd.count)}
    until(lambda: set(listed(etcd)) == names, told=lambda: f"{listed(etcd)}")
    return listed(etcd)


def listed(etcd: Members, member: int = 1) -> dict[str, int]:
    """The members that one of them lists: maps name to ID."""
    found = json.loads(etcd.ctl(member, "member", "list", "--write-out=json"))["members"]
    return {each.get("name", ""): each["ID"] for each in found}


def state_of(etcd: Members, member: int) -> str:
    """The initial-cluster-state of a member's last start."""
    config = json.loads((etcd.cluster.directory / f"{ETCD}-{member}" / "start" / "etcd.json").read_text())
    state: str = config["initial-cluster-state"]
    return state


def job(etcd: Members, name: str) -> str:
    """The output of the containers of a CronJob's pod."""
    pod = pod_of(etcd.cluster.read("batch/v1/cronjobs", f"{ETCD}-{name}"))
    containers = (*pod.get("initContainers", ()), *pod["containers"])
    return "".join(run(*etcd.cluster.process(pod, each, name), etcd.cluster.directory) for each in containers)


def restore(etcd: Members, snapshot: str) -> list[subprocess.CompletedProcess[str]]:
    """Runs the containers of the Job that restores a snapshot into the first member, until one fails."""
    words = [str(binary("helm")), "template", "api", str(CHART), *VALUES, "--set", f"etcd.restore.snapshot={snapshot}"]
    text = run([*words, "--show-only", "templates/etcd-restore.yaml"], {}, etcd.cluster.directory)
    pod: dict[str, Any] = yaml.safe_load(text)["spec"]["template"]["spec"]
    claim = etcd.cluster.directory / f"data-{ETCD}-0"
    if not claim.exists():
        claim.symlink_to(etcd.data(0))
    done = []
    for container in (*pod["initContainers"], *pod["containers"]):
        command, environment = etcd.cluster.process(pod, container, "restore-x")
        done.append(subprocess.run(command, env=environment, capture_output=True, text=True))
        if done[-1].returncode:
            break
    return done


def test_a_member_that_lost_its_volume_joins_again_by_itself(etcd: Members) -> None:
    started(etcd)
    first = all_named(etcd)  # the first start forms one cluster
    assert [state_of(etcd, member) for member in range(3)] == ["new"] * 3
    for number in range(20):
        etcd.ctl(1, "put", f"/key/{number}", "value")
    etcd.stop(0)
    etcd.lose(0)
    etcd.await_ready(1, answers)
    etcd.ctl(1, "put", "/while-it-is-away", "value")
    etcd.start(0)
    etcd.await_ready(0, answers)
    assert state_of(etcd, 0) == "existing"
    now = all_named(etcd)
    assert now[f"{ETCD}-0"] != first[f"{ETCD}-0"], "it is another member of the same name"
    keys = etcd.ctl(0, "get", "", "--prefix", "--keys-only", "--consistency=s").split()
    assert len(keys) == 21 and "/while-it-is-away" in keys
    etcd.stop(0)
    etcd.start(0)
    etcd.await_ready(0, answers)
    assert listed(etcd) == now, "with its data it stays who it is"


def test_a_member_without_data_waits_for_a_quorum_and_changes_nothing(etcd: Members) -> None:
    started(etcd)
    first = all_named(etcd)
    etcd.stop(0, 2)
    etcd.lose(0)
    (container,) = [each for each in etcd.pod["initContainers"] if each["name"] == "member"]
    words, environment = etcd._process(container, 0)
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(words, env=environment, text=True, **both) as waiting:
        assert waiting.stdout is not None
        said = waiting.stdout.readline()
        assert "is waiting to join the etcd cluster: 2 of 3 members must be healthy, but only " in said
        etcd.start(2)
        assert f"{ETCD}-0 can start: initial-cluster-state is existing" in waiting.stdout.read()
    assert waiting.returncode == 0
    assert {name for name in listed(etcd) if name} == set(first) - {f"{ETCD}-0"}, "it was removed and added"
    etcd.start(0)
    etcd.await_ready(0, answers)
    all_named(etcd)


def test_jobs_take_the_members_that_are_there(etcd: Members) -> None:
    started(etcd)
    etcd.ctl(1, "put", "/key", "value")
    etcd.stop(0)
    for member in (1, 2):
        etcd.await_ready(member, answers)  # with another leader, if that was the first one
    said = job(etcd, "defrag")
    assert f"{etcd.address(0, 0)} is not healthy and was skipped" in said and said.count(": defragmented") == 2
    said = job(etcd, "snapshot")
    assert f"bytes from https://{etcd.address(1, 0)}" in said
    (saved,) = (etcd.cluster.directory / f"{ETCD}-snapshots").iterdir()
    status = [etcd.cluster.here["/usr/local/bin/etcdutl"], "snapshot", "status", "--write-out=json", str(saved)]
    assert json.loads(run(status, {}, saved.parent))["totalKey"] > 0


def test_a_snapshot_is_restored_into_one_member_and_the_others_join_it(etcd: Members) -> None:
    started(etcd)
    etcd.ctl(0, "put", "/before", "value")
    revision = json.loads(etcd.ctl(0, "get", "/before", "--write-out=json"))["header"]["revision"]
    job(etcd, "snapshot")
    etcd.ctl(0, "put", "/after", "value")
    refused = restore(etcd, "snapshot")[-1]
    assert refused.returncode == 1 and "etcd runs, and nothing was changed" in refused.stderr
    assert sorted(path.name for path in etcd.data(0).iterdir()) == ["data"]
    etcd.stop()
    for member in (1, 2):
        etcd.lose(member)
    assert [each.returncode for each in restore(etcd, "snapshot")] == [0, 0]
    assert sorted(path.name for path in etcd.data(0).iterdir()) == ["data", "data.restore-x"], "the old data stay"
    started(etcd)
    assert [state_of(etcd, member) for member in (1, 2)] == ["existing"] * 2
    all_named(etcd)
    for member in range(3):
        assert etcd.ctl(member, "get", "", "--prefix", "--keys-only", "--consistency=s").split() == ["/before"]
    found = json.loads(etcd.ctl(2, "get", "/before", "--write-out=json"))["header"]["revision"]
    assert found > revision + 10**12, "revisions are above all that clients have seen"
    shutil.rmtree(etcd.data(0) / "data.restore-x")
