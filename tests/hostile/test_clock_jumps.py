"""The clock of a server jumps forward and backward: waits last as long as without the jump, and nothing is lost.

Waits, leases, the election, compaction and times to live are measured by clocks that do not jump, as in kube-apiserver.
Times in tokens, certificates and objects are compared with the present time. They are valid again when the clock is
right again.
"""

from __future__ import annotations

import asyncio
import json
import select
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.hostile.jumping import JumpingServer
from tests.hostile.probe import cpu_seconds
from tests.integration.lifecycle.api import Api
from tests.integration.server.client import ask, connect
from tests.limits import Withheld, at_most, at_most_cpu
from tests.logged import whole_lines
from tests.until import until

MINUTE, HOUR, YEAR = 60, 3600, 365 * 24 * 3600
JUMPS = (MINUTE, -MINUTE, HOUR, -HOUR, YEAR, -YEAR)
MAPS, EVENTS = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/events"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/apiserver-gateway-controllers"
INTERVAL = 2  # seconds between compactions
NEAR = 30  # seconds: much less than the smallest jump, much more than a busy machine needs
POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[JumpingServer, ApiServer]]:
    """Two replicas. The first one is the leader, and its clock jumps."""
    place = tmp_path_factory.mktemp("jumps")
    (place / "policy.json").write_text(json.dumps(POLICY))
    one, other = place / "one", place / "other"
    flags = (
        f"--audit-policy-file={place / 'policy.json'}",
        f"--audit-log-path={one / 'audit.log'}",
        f"--etcd-compaction-interval={INTERVAL}s",
        "--etcd-compaction-retention=1s",
        "--event-ttl=1h",
    )
    with EmbeddedEtcd() as etcd, ExitStack() as stack:
        jumping, steady = JumpingServer(one, flags, etcd.endpoint), ApiServer(other, (), etcd.endpoint)
        for server in (jumping, steady):
            server.directory.mkdir()
            server.start()
            stack.callback(server.stop)
            if server is jumping:
                until(lambda: holder(jumping))
        yield jumping, steady


@pytest.fixture(params=JUMPS, ids=lambda seconds: f"{seconds:+d} s")
def jumped(servers: tuple[JumpingServer, ApiServer], request: pytest.FixtureRequest) -> Iterator[JumpingServer]:
    """A server whose clock has jumped. It is set right after the test."""
    jumping, _ = servers
    jumping.jump(request.param)
    yield jumping
    jumping.jump(0)


def holder(server: ApiServer) -> str:
    return str(ask(server, "GET", LEASE).json.get("spec", {}).get("holderIdentity", ""))


def present(server: ApiServer) -> datetime:
    """The server's time, read from the creationTimestamp of a new object."""
    made = ask(server, "POST", f"{MAPS}?dryRun=All", {"metadata": {"generateName": "now-"}})
    return datetime.fromisoformat(made.json["metadata"]["creationTimestamp"])


def rounds(server: ApiServer) -> int:
    """How many compactions there were, by the counter that kube-apiservers share in etcd."""

    async def version() -> int:
        async with EtcdClient(EtcdSettings((server.etcd_endpoint,), timeout=60)) as client:
            found = (await client.range(b"compact_rev_key")).kvs
            return found[0].version if found else 0

    return asyncio.run(version())


class Watcher:
    """A watch that stays open for the whole test; a thread reads it."""

    def __init__(self, server: ApiServer, path: str) -> None:
        version = ask(server, "GET", path).json["metadata"]["resourceVersion"]
        self._connection = connect(server, timeout=60)
        query = f"?watch=true&allowWatchBookmarks=true&resourceVersion={version}"
        self._connection.request("GET", path + query, headers={"Authorization": f"Bearer {server.token}"})
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        self.seen: list[str] = []
        self.ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._answer:
            event = json.loads(line)
            self.seen.append(f"{event['type']} {event['object']['metadata'].get('name', '')}")
        self.ended = True


def test_the_clock_is_the_one_that_jumps(jumped: JumpingServer, request: pytest.FixtureRequest) -> None:
    jump, second = timedelta(seconds=request.node.callspec.params["jumped"]), timedelta(seconds=1)
    earliest, found, latest = datetime.now(UTC), present(jumped), datetime.now(UTC)
    assert earliest + jump - second <= found <= latest + jump


def test_watches_go_on_and_miss_nothing(servers: tuple[JumpingServer, ApiServer]) -> None:
    jumping, _ = servers
    watcher, wanted = Watcher(jumping, MAPS), []
    for number, seconds in enumerate((*JUMPS, 0)):
        jumping.jump(seconds)
        assert ask(jumping, "POST", MAPS, {"metadata": {"name": f"jump-{number}"}}).status == 201
        wanted.append(f"ADDED jump-{number}")
        until(lambda: [each for each in watcher.seen if each.startswith("ADDED jump-")] == wanted)
    assert not watcher.ended


def test_events_live_as_long_as_before(jumped: JumpingServer) -> None:
    name = f"event-{time.monotonic_ns()}"
    about = {"kind": "Pod", "namespace": "default", "name": "p"}
    assert ask(jumped, "POST", EVENTS, {"metadata": {"name": name}, "involvedObject": about}).status == 201
    jumped.jump(0)
    assert ask(jumped, "GET", f"{EVENTS}/{name}").status == 200
    jumped.jump(YEAR)
    assert ask(jumped, "GET", f"{EVENTS}/{name}").status == 200


def test_the_leader_stays_the_leader(servers: tuple[JumpingServer, ApiServer]) -> None:
    jumping, steady = servers
    before = ask(steady, "GET", LEASE).json["spec"]
    for seconds in (*JUMPS, 0):
        jumping.jump(seconds)
        renewed = ask(steady, "GET", LEASE).json["spec"]["renewTime"]
        until(lambda renewed=renewed: ask(steady, "GET", LEASE).json["spec"]["renewTime"] != renewed)
    after = ask(steady, "GET", LEASE).json["spec"]
    for member in ("holderIdentity", "leaseTransitions", "acquireTime"):
        assert after[member] == before[member]


def test_controllers_go_on(jumped: JumpingServer) -> None:
    api = Api(jumped, f"n-{time.monotonic_ns()}").begin()
    until(lambda: api.get("kube-root-ca.crt"))
    api.create("child", [api.create("owner")])
    api.delete("owner", "Background")
    until(lambda: not api.names())
    assert ask(jumped, "DELETE", f"/api/v1/namespaces/{api.namespace}").status == 200
    until(lambda: ask(jumped, "GET", f"/api/v1/namespaces/{api.namespace}").status == 404)


def test_old_revisions_are_compacted_as_often_as_before(jumped: JumpingServer) -> None:
    began, before = time.monotonic(), rounds(jumped)
    until(lambda: ask(jumped, "POST", MAPS, {"metadata": {"generateName": "x-"}}) and rounds(jumped) >= before + 2)
    assert time.monotonic() - began > INTERVAL * 0.9, "the first one may come at once, the second one after a while"


def test_a_token_is_good_when_the_clock_is(servers: tuple[JumpingServer, ApiServer]) -> None:
    jumping, _ = servers
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    token = ask(jumping, "POST", path, {"spec": {"expirationSeconds": 600}}).json["status"]["token"]
    assert ask(jumping, "GET", "/version", token=token).status == 200
    for seconds, status in ((HOUR, 401), (0, 200), (YEAR, 401), (-HOUR, 401), (-YEAR, 401), (5, 200), (0, 200)):
        jumping.jump(seconds)
        assert ask(jumping, "GET", "/version", token=token).status == status, seconds
        assert ask(jumping, "GET", "/version").status == 200


def test_requests_wait_no_longer_and_no_shorter(jumped: JumpingServer, request: pytest.FixtureRequest) -> None:
    withheld, began = Withheld(), time.monotonic()
    path = f"{MAPS}?watch=true&timeoutSeconds=2"
    seconds = request.node.callspec.params["jumped"]
    timer = threading.Timer(0.5, lambda: jumped.jump(-seconds))
    timer.start()
    assert ask(jumped, "GET", path).status == 200
    took = time.monotonic() - began
    assert took > 1.9
    at_most(took, NEAR + withheld.until_now())
    timer.join()


def test_each_request_is_recorded_with_the_time_of_the_clock(jumped: JumpingServer) -> None:
    identity = f"jump-{time.monotonic_ns()}"
    ask(jumped, "GET", "/api/v1/namespaces/default", headers={"Audit-ID": identity})
    lines = whole_lines(jumped.directory / "audit.log")
    (event,) = (
        each for line in lines if identity in line and (each := json.loads(line))["stage"] == "ResponseComplete"
    )
    took = datetime.fromisoformat(event["stageTimestamp"]) - datetime.fromisoformat(event["requestReceivedTimestamp"])
    assert timedelta() <= took < timedelta(seconds=NEAR)
    assert abs(datetime.fromisoformat(event["stageTimestamp"]) - present(jumped)) < timedelta(seconds=NEAR)


def test_a_jump_costs_nothing(jumped: JumpingServer) -> None:
    """No timer fires again and again after the jump: an idle server uses no CPU."""
    used = cpu_seconds(jumped.pid)
    select.select([], [], [], 2.0)
    at_most_cpu(cpu_seconds(jumped.pid) - used, 1.0)
