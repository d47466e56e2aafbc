"""Random quotas and writes on two replicas, one of which is killed at times: at the end `used` equals a recount.

At no time an accepted write exceeds a limit that was in force.
"""

from __future__ import annotations

import os
import signal
import uuid
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.examples import examples
from tests.forked import api_server
from tests.integration.quotas.conftest import FLAGS
from tests.integration.server.client import Answer, ask
from tests.until import until

NAMES = ("a", "b", "c", "d", "e", "f")
CPU = (100, 250, 600)  # thousandths
ELECTED = 120.0  # seconds: after a leader's death it takes a while until another server runs the controller
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/apiserver-gateway-controllers"
MERGE = {"Content-Type": "application/merge-patch+json"}

STEP = st.one_of(
    st.tuples(st.just("pod"), st.sampled_from(NAMES), st.sampled_from(CPU), st.booleans()),
    st.tuples(st.just("secret"), st.sampled_from(NAMES), st.booleans()),
    st.tuples(st.just("gone"), st.sampled_from(("pods", "secrets")), st.sampled_from(NAMES)),
    st.tuples(st.just("ended"), st.sampled_from(NAMES)),
    st.tuples(st.just("raised"), st.integers(0, 5)),
)
# steps of a batch are sent at once; the flag tells whether the second replica is killed meanwhile
PLAN = st.lists(st.tuples(st.lists(STEP, min_size=1, max_size=8), st.integers(0, 5)), min_size=1, max_size=4)


class Replicas:
    """Two servers on one etcd; the second may be killed."""

    def __init__(self, etcd: EmbeddedEtcd, one: ApiServer) -> None:
        self.etcd, self.one = etcd, one
        self._other = api_server(*FLAGS, etcd_servers=etcd.endpoint)
        self.other = self._other.__enter__()

    def kill(self) -> None:
        """Kills the second server, and starts another one."""
        os.kill(self.other.pid, signal.SIGKILL)
        self.close()
        self._other = api_server(*FLAGS, etcd_servers=self.etcd.endpoint)
        self.other = self._other.__enter__()

    def close(self) -> None:
        self._other.__exit__(None, None, None)


class Run:
    """A namespace with quotas, and the steps in it."""

    def __init__(self, replicas: Replicas) -> None:
        self._replicas, self.namespace = replicas, f"m-{uuid.uuid4().hex[:8]}"
        made = ask(replicas.one, "POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        assert made.status == 201, made.body
        self._limit("all", {"hard": {"secrets": "3", "requests.cpu": "1", "count/pods": "5", "pods": "4"}})
        self._limit("short", {"hard": {"pods": "2", "requests.cpu": "700m"}, "scopes": ["Terminating"]})

    def _limit(self, name: str, spec: dict[str, Any]) -> None:
        assert self.ask("POST", "resourcequotas", {"metadata": {"name": name}, "spec": spec}).status == 201
        for other in (False, True):
            until(lambda other=other: self._is_told(name, other))

    def _is_told(self, name: str, other: bool) -> bool:
        """Whether a server knows a quota, so that its admission uses it."""
        answer = self.ask("GET", f"resourcequotas/{name}?resourceVersion=0", other=other)
        return answer.status == 200 and "used" in answer.json["status"]

    def ask(self, method: str, path: str, body: Any = None, *, other: bool = False, **more: Any) -> Answer:
        server = self._replicas.other if other else self._replicas.one
        return ask(server, method, f"/api/v1/namespaces/{self.namespace}/{path}", body, **more)

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"resourcequotas/{name}").json["status"]
        return found

    def do(self, index: int, step: tuple[Any, ...]) -> None:
        """Does one step, on either replica, which may be killed meanwhile."""
        try:
            self._do(step, other=index % 2 == 1)
        except (OSError, HTTPException):
            assert index % 2 == 1

    def _do(self, step: tuple[Any, ...], *, other: bool) -> None:
        match step:
            case ("pod", name, cpu, short):
                resources = {"requests": {"cpu": f"{cpu}m"}}
                spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
                if short:
                    spec["activeDeadlineSeconds"] = 600
                self.ask("POST", "pods", {"metadata": {"name": name}, "spec": spec}, other=other)
            case ("secret", name, dry_run):
                query = "?dryRun=All" if dry_run else ""
                self.ask("POST", f"secrets{query}", {"metadata": {"name": name}}, other=other)
            case ("gone", resource, name):
                self.ask("DELETE", f"{resource}/{name}", other=other)
            case ("ended", name):
                ended = {"status": {"phase": "Succeeded"}}
                self.ask("PATCH", f"pods/{name}/status", ended, other=other, headers=MERGE)
            case ("raised", more):
                hard = {"spec": {"hard": {"secrets": str(3 + more)}}}
                self.ask("PATCH", "resourcequotas/all", hard, other=other, headers=MERGE)

    def recount(self) -> dict[str, dict[str, int]]:
        """The usage of the existing objects; CPU in thousandths.

        A pod that a server has marked as deleted, and was killed before it removed it, counts for `count/pods` only.
        """
        pods = self.ask("GET", "pods").json["items"]
        running = [pod for pod in pods if not _has_ended(pod)]
        short = [pod for pod in running if "activeDeadlineSeconds" in pod["spec"]]
        return {
            "all": {
                "secrets": len(self.ask("GET", "secrets").json["items"]),
                "requests.cpu": sum(map(_cpu, running)),
                "count/pods": len(pods),
                "pods": len(running),
            },
            "short": {"pods": len(short), "requests.cpu": sum(map(_cpu, short))},
        }

    def told(self) -> str:
        """What the quotas say and what there is, who runs the controllers, and the ends of both servers' logs."""
        lease = ask(self._replicas.one, "GET", LEASE).json
        logs = [server.log_file.read_text()[-3000:] for server in (self._replicas.one, self._replicas.other)]
        pods = [
            {name: pod.get(name) for name in ("metadata", "status")} for pod in self.ask("GET", "pods").json["items"]
        ]
        return "\n".join([f"{self.used()} is not {self.recount()}", str(lease.get("spec")), str(pods), *logs])

    def used(self) -> dict[str, dict[str, int]]:
        """The usage in the quotas' status."""
        found = {name: self.status(name)["used"] for name in ("all", "short")}
        return {name: {each: _amount(each, text) for each, text in used.items()} for name, used in found.items()}

    def end(self) -> None:
        ask(self._replicas.one, "DELETE", f"/api/v1/namespaces/{self.namespace}")


def _has_ended(pod: dict[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") == "Succeeded" or "deletionTimestamp" in pod["metadata"]


def _cpu(pod: dict[str, Any]) -> int:
    return _amount("requests.cpu", pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _amount(name: str, text: str) -> int:
    if not name.endswith("cpu"):
        return int(text)
    return int(text.removesuffix("m")) if text.endswith("m") else 1000 * int(text)


LIMITS = {"all": {"requests.cpu": 1000, "count/pods": 5, "pods": 4}, "short": {"pods": 2, "requests.cpu": 700}}


def test_what_is_used_is_what_there_is() -> None:
    with EmbeddedEtcd() as etcd, api_server(*FLAGS, etcd_servers=etcd.endpoint) as one:
        replicas = Replicas(etcd, one)
        try:
            _play(replicas)
        finally:
            replicas.close()


def _play(replicas: Replicas) -> None:
    @settings(
        max_examples=examples(12, costs=20), deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(PLAN)
    def play(plan: list[tuple[list[tuple[Any, ...]], int]]) -> None:
        run = Run(replicas)
        with ThreadPoolExecutor(8) as pool:
            for steps, chance in plan:
                jobs = [pool.submit(run.do, index, step) for index, step in enumerate(steps)]
                if chance == 0:
                    replicas.kill()
                for job in jobs:
                    job.result()
                for name, limits in LIMITS.items():
                    found = run.recount()[name]
                    assert all(found[each] <= limit for each, limit in limits.items()), found
        until(lambda: run.used() == run.recount(), ELECTED, run.told)
        run.end()

    play()
